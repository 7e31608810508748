// SPDX-License-Identifier: Apache-2.0
// The report page's modules that need no page: node --test tests/report/page_modules.mjs
import assert from 'node:assert/strict';
import test from 'node:test';

import * as numbers from '../../harness/report/page/numbers.js';
import * as samples from '../../harness/report/page/samples.js';

const figure = (mean, ci95, more = {}) => ({mean, ci95, n: 9, unit: 'us', ...more});

test('a number has four significant digits, and whole numbers stay whole', () => {
  assert.equal(numbers.plain(0), '0');
  assert.equal(numbers.plain(1234567), '1,234,567');
  assert.equal(numbers.plain(25.125), '25.13');
  assert.equal(numbers.plain(0.0123456), '0.01235');
  assert.equal(numbers.plain(-3.5e-7), '-3.50e-7');
});

test('a mean ends at the decimal of its interval, which has two significant digits', () => {
  const of12 = (mean, ci95) => figure(mean, ci95, {n: 12});
  assert.deepEqual(numbers.meanAndInterval(of12(25.1234, 0.612), 1), ['25.12', '0.61']);
  assert.deepEqual(numbers.meanAndInterval(of12(25123.4, 612), 1000), ['25.12', '0.61']);
  assert.deepEqual(numbers.meanAndInterval(of12(25.1234, 0), 1), ['25.12', '0']);
  assert.deepEqual(numbers.meanAndInterval(of12(123456.7, 0.0001), 1), ['123,457', '<1']);
  assert.deepEqual(numbers.meanAndInterval(of12(25.1234, null), 1), ['25.12', '']);
});

test('fewer than ten trials support one digit of the half-width, and no mean has more than five', () => {
  assert.deepEqual(numbers.meanAndInterval(figure(25.1234, 0.612, {n: 2}), 1), ['25.1', '0.6']);
  assert.deepEqual(numbers.meanAndInterval(figure(0.991662, 0.000034, {n: 2}), 1), ['0.99166', '0.00003']);
  assert.deepEqual(numbers.meanAndInterval(figure(12.233, 0.00002, {n: 12}), 1), ['12.233', '<0.001']);
});

test('the range of the trials has the decimals of their mean', () => {
  assert.equal(numbers.rangeText(figure(21.25, 0.59, {n: 12, min: 21, max: 21.7}), 1), '21.00 to 21.70');
  assert.equal(numbers.rangeText(figure(1001.8, 0.9, {min: 1001.5, max: 1002.3}), 1), '1,001.5 to 1,002.3');
  assert.equal(numbers.rangeText(figure(1000, null, {min: 999, max: 1001}), 1), '999 to 1,001');
  assert.equal(numbers.rangeText(figure(5, 0, {min: 5, max: 5}), 1), '');
});

test('a figure is a share of another, a multiple, or near it', () => {
  const unit = {text: '\u00b5s', divisor: 1};
  const said = (mean, other, more) => numbers.distanceText(figure(mean, 0), figure(other, 0, more), unit).join(' ');
  assert.equal(said(132, 1000), '0.13 of');
  assert.equal(said(1000, 132), '7.6 times');
  assert.equal(said(1000, 2), '500 times');
  assert.equal(said(95.6, 94.1), '1.6 % higher than');
  assert.equal(said(0, 3.5), '3.500 \u00b5s lower than');
  assert.equal(said(132, 1000, {missed: 1}), '\u2264 0.13 of');
  assert.equal(said(98, 100, {missed: 1}), '\u2265 2 % lower than');
});

test('a shade lies between two colours', () => {
  assert.equal(numbers.mixed('#000000', '#ff8000', 0), '#000000');
  assert.equal(numbers.mixed('#000000', '#ff8000', 0.5), '#804000');
});

test('bytes are shown in thousands from 1000 on', () => {
  assert.deepEqual(numbers.unitOf([{unit: 'bytes', mean: 999}]), {text: 'bytes', divisor: 1});
  assert.deepEqual(numbers.unitOf([{unit: 'bytes', mean: 10}, {unit: 'bytes', mean: -1000}]), {text: 'KB', divisor: 1000});
  assert.deepEqual(numbers.unitOf([]), {text: '', divisor: 1});
});

test('a lower bound is said to be one', () => {
  assert.equal(numbers.figureText(figure(25, 1, {n: 12, missed: 2}), {text: 'us', divisor: 1}), '\u2265 25.0 \u00b1 1.0 us');
});

test('the best are those with the best mean, and level with them those whose interval reaches theirs', () => {
  const figures = [['a', figure(10, 1)], ['b', figure(11.5, 1)], ['c', figure(20, 1)], ['d', figure(5, 1, {missed: 1})]];
  const lower = numbers.rankFigures('lower', figures);
  assert.deepEqual([[...lower.best], [...lower.level]], [['a'], ['b']]);
  assert.deepEqual([...numbers.rankFigures('higher', figures).best], ['c']);
});

test('who is level with the best is decided by the paired difference where there is one', () => {
  const from = (mean, ci95) => ({difference: {from: 'a', mean, ci95, n: 20}});
  // The intervals overlap; of pairs one is 32.6 longer.
  const wide = [['a', figure(202, 44)], ['b', figure(235, 45, from(32.6, 3.8))], ['c', figure(204, 44, from(2, 3.8))]];
  const rank = numbers.rankFigures('lower', wide);
  assert.deepEqual([[...rank.best], [...rank.level]], [['a'], ['c']]);
  assert.equal(numbers.isWorse(1, wide[1], wide[0]), true);
  assert.equal(numbers.isWorse(1, wide[0], wide[1]), false);
  assert.deepEqual(numbers.pairedDifference(wide[0], wide[1]), {from: 'a', mean: -32.6, ci95: 3.8, n: 20});
  assert.equal(numbers.pairedDifference(wide[1], wide[2]), null);
  // The intervals are apart; of pairs nothing is known.
  const apart = [['a', figure(10, 1)], ['b', figure(20, 1, from(10, 12))], ['c', figure(30, 1, from(20, 1))]];
  assert.deepEqual([...numbers.rankFigures('lower', apart).level], ['b']);
  // Higher is better.
  const higher = [['a', figure(9, 4)], ['b', figure(8, 4, from(-1, 0.1))]];
  assert.deepEqual([...numbers.rankFigures('higher', higher).best], ['a']);
  assert.equal(numbers.isWorse(-1, higher[1], higher[0]), true);
});

test('nothing is marked where nothing is best', () => {
  const two = [['a', figure(10, 1)], ['b', figure(20, 1)]];
  assert.equal(numbers.rankFigures('neither', two), null);
  assert.equal(numbers.rankFigures('lower', two.slice(1)), null);
  assert.equal(numbers.rankFigures('lower', [...two, ['c', figure(30, null)]]), null, 'one without an interval');
  assert.equal(numbers.rankFigures('lower', [['a', figure(10, 9)], ['b', figure(11, 9)]]), null, 'all alike');
});

test('a value between two samples lies on the line between them', () => {
  const s = {t: [0, 10, 10, 20, 30], v: [0, 100, 50, null, 7]};
  assert.equal(samples.valueAt(s, -1), null);
  assert.equal(samples.valueAt(s, 5), 50);
  assert.equal(samples.valueAt(s, 10), 50, 'behind a step');
  assert.equal(samples.valueAt(s, 25), null, 'in a gap');
  assert.equal(samples.valueAt(s, 30), 7);
  assert.equal(samples.valueAt(s, 31), null);
});

test('a view of many samples keeps every spike and every gap', () => {
  const t = Array.from({length: 10001}, (_, i) => i);
  const v = t.map((i) => (i === 5003 ? 1000 : i === 7007 ? null : i % 2));
  const points = samples.pointsInView({t, v}, 100, 9900, 200, 0);
  assert.ok(points.length <= 5 * 201 + 2);
  assert.equal(Math.max(...points.map((p) => p.y).filter((y) => !Number.isNaN(y))), 1000);
  assert.equal(points.filter((p) => Number.isNaN(p.y)).length, 1);
  assert.deepEqual([points[0].x, points[points.length - 1].x], [100, 9900]);
  assert.ok(points.every((p, i) => i === 0 || p.x >= points[i - 1].x));
});

test('traffic ends where the last curve comes to zero for good', () => {
  const queue = {t: [0, 10, 20, 30, 100], v: [5, 0, 3, 0, 0]};
  const rate = {t: [0, 10, 40, 100], v: [null, 2, 0, null]};
  assert.equal(samples.trafficEnd([queue]), 30);
  assert.equal(samples.trafficEnd([queue, rate]), 40);
  assert.equal(samples.trafficEnd([{t: [0, 7], v: [0, 1]}]), 7, 'at the end of a curve that does not');
  assert.equal(samples.trafficEnd([{t: [0, 7], v: [0, null]}]), -Infinity);
  assert.equal(samples.trafficEnd([]), -Infinity);
});
