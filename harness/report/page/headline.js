// SPDX-License-Identifier: Apache-2.0
// The headline: the main metric, who is ahead, how many expectations are met.
import {atLeast, distanceText, figureText, hasInterval, isWorse, meanAndInterval, missedText, ofFlows, pairedDifference, unitOf} from './numbers.js';
import {byId, el} from './elements.js';
import {data, metricLabel, metricOf, names, ranking} from './data.js';

export function fillHeadline() {
  const tiles = byId('tiles');
  const metric = data.main_metric;
  const rank = metric && ranking(metric, data.algorithms);
  const subject = data.subject || (rank && [...rank.best][0]) || names.find((n) => data.algorithms[n][metric]);
  const figure = subject && data.algorithms[subject] && data.algorithms[subject][metric];
  if (figure) {
    const unit = unitOf([figure]);
    const [mean, ci95] = meanAndInterval(figure, unit.divisor);
    tiles.append(el('div', {class: 'tile subject'}, el('p', {class: 'what'}, subject + ': ' + metricLabel(metric).toLowerCase()),
      el('p', {class: 'figure'}, atLeast(figure) + mean + ' ', el('small', {}, (ci95 ? '\u00b1 ' + ci95 + ' ' : '') + unit.text)),
      el('p', {class: 'what'}, (ci95 ? 'mean, 95 % confidence interval, n = ' + figure.n : figure.n > 1 ? 'mean, n = ' + figure.n : 'one trial: no interval')),
      figure.missed > 0 && el('p', {}, el('span', {class: 'verdict missed'}, ofFlows(metric) ? 'flows not complete' : missedText(figure)), ' the mean is a lower bound')));
  } else if (metric && data.subject) {
    tiles.append(el('div', {class: 'tile subject'}, el('p', {class: 'what'}, data.subject + ': ' + metricLabel(metric).toLowerCase()),
      el('p', {class: 'figure'}, 'not measured')));
  }
  const others = names.filter((n) => n !== subject && data.algorithms[n][metric]);
  const better = metric && metricOf.get(metric).better;
  if (figure && others.length && better !== 'neither') {
    const sign = better === 'lower' ? 1 : -1;
    const value = (n) => data.algorithms[n][metric];
    const rival = others.slice().sort((a, b) => sign * (value(a).mean - value(b).mean))[0];
    const other = value(rival);
    const unit = unitOf([other]);
    const text = figureText(other, unit);
    const ahead = sign * (other.mean - figure.mean) > 0;
    const lone = [[subject, figure], [rival, other]].filter(([, f]) => !hasInterval(f)).map(([n]) => n);
    // A lower bound cannot be shown to be ahead.
    const first = ahead ? [subject, figure] : [rival, other];
    const second = ahead ? [rival, other] : [subject, figure];
    const unsure = better === 'lower' && first[1].missed > 0;
    const difference = pairedDifference(second, first);
    const apart = isWorse(sign, second, first);
    const pairs = difference && 'in the same trials ' + second[0] + ' is ' +
      figureText({mean: sign * difference.mean, ci95: difference.ci95, n: difference.n, missed: second[1].missed}, unit) + ' ' + (better === 'lower' ? 'above ' : 'below ') + first[0];
    const which = ahead ? 'the next best of ' + (others.length + 1) : 'the best of ' + (others.length + 1);
    if (lone.length || unsure || !apart) {
      const why = lone.length ? 'one trial of ' + lone.join(' and of ') + ': no interval'
        : unsure ? first[0] + ' has a lower bound only' : pairs || 'the intervals overlap';
      tiles.append(el('div', {class: 'tile'}, el('p', {class: 'what'}, 'Not told apart from'), el('p', {class: 'figure'}, rival),
        el('p', {class: 'what'}, rival + (lone.length ? '' : ', ' + which) + ': ' + text + '; ' + why)));
    } else {
      const [distance, words] = distanceText(figure, other, unit);
      tiles.append(el('div', {class: 'tile'}, el('p', {class: 'what'}, ahead ? 'Ahead of' : 'Behind'),
        el('p', {class: 'figure'}, distance + ' ', el('small', {}, words + ' ' + rival)),
        el('p', {class: 'what'}, rival + ', ' + which + ': ' + text + (pairs ? '; ' + pairs : ''))));
    }
  }
  const list = data.expectations || [];
  const untested = (data.untested || []).length;
  if (list.length || untested) {
    const met = list.filter((e) => e.met).length;
    const missed = list.length - met;
    tiles.append(el('div', {class: 'tile'}, el('p', {class: 'what'}, 'Expectations'),
      el('p', {class: 'figure'}, met + ' ', el('small', {}, 'of ' + list.length + ' met')),
      el('p', {class: 'what'}, !list.length ? '' : missed ? el('span', {class: 'verdict missed'}, missed + ' not met') : el('span', {class: 'verdict met'}, 'all met'),
        ' ', untested ? untested + ' of the whole sweep not tested ' : '', el('a', {href: '#expectations'}, 'the list'))));
  }
  for (const note of data.notes || []) byId('notes').append(el('li', {}, note));
  for (const [name, note] of Object.entries(data.algorithm_notes || {})) byId('notes').append(el('li', {}, name + ': ' + note));
  byId('notes').hidden = byId('notes').children.length === 0;
  byId('headline').hidden = tiles.children.length === 0 && byId('notes').hidden;
}
