// SPDX-License-Identifier: Apache-2.0
// One metric of all algorithms, with intervals.
import {axisText, figureText, rangeText, spread, unitOf, wantsLog} from './numbers.js';
import {byId, el, labelled, select, show} from './elements.js';
import {comparable, data, figuresOf, metricLabel, metricOf, names} from './data.js';
import {palette, pointStyle} from './styles.js';
import {chosen, rebuilders} from './choices.js';
import {axis, axisEnds, baseOptions, dropChart, makeChart, whiskers} from './charts.js';

let dotsChart = null;

function buildDots() {
  dropChart(dotsChart);
  dotsChart = null;
  const metric = chosen.metric;
  const having = names.filter((n) => data.algorithms[n][metric]);
  const unit = unitOf(figuresOf(metric, data.algorithms));
  const box = el('div', {class: 'chart'});
  const {better} = metricOf.get(metric);
  const log = wantsLog(having.map((n) => data.algorithms[n][metric].mean));
  const ranges = having.some((n) => rangeText(data.algorithms[n][metric], 1));
  byId('dots').replaceChildren(el('figure', {}, el('figcaption', {}, metricLabel(metric) + ' ',
    el('span', {}, ['mean and 95 % confidence interval', ranges && 'thin line: range of the trials', better === 'neither' ? '' : better + ' is better', log ? 'logarithmic' : '']
      .filter((t) => t).join('; '))), box));
  const sets = having.map((name, i) => {
    const f = data.algorithms[name][metric];
    return {
      label: name, ...pointStyle(name),
      data: [{x: f.mean / unit.divisor, y: i, ...spread(f, unit.divisor), text: figureText(f, unit), range: rangeText(f, unit.divisor)}],
    };
  });
  const options = baseOptions();
  options.events = [];
  options.scales = {
    x: {...axis(unit.text, {callback: axisText}), type: log ? 'logarithmic' : 'linear'},
    y: {
      ...axis('', {color: palette.text, font: {size: 14}, stepSize: 1, autoSkip: false, callback: (v) => having[v] || ''}),
      min: -0.6, max: having.length - 0.4, reverse: true,
      afterBuildTicks: (scale) => {
        scale.ticks = having.map((_, i) => ({value: i}));
      },
    },
  };
  Object.assign(options.scales.x, axisEnds(sets.flatMap((s) => s.data), 'x', log));
  options.scales.y.grid = {display: false, borderColor: palette.strong};
  dotsChart = makeChart(box, 70 + 36 * having.length,
    metricLabel(metric) + ': ' + having.map((n) => n + ' ' + figureText(data.algorithms[n][metric], unit)).join('; '),
    {type: 'scatter', data: {datasets: sets}, options, plugins: [whiskers('x', true)]});
}

export function fillDots() {
  const metrics = comparable();
  if (metrics.length === 0) return;
  if (!metrics.some((m) => m.key === chosen.metric)) chosen.metric = metrics[0].key;
  show('compared');
  byId('dots-tools').append(labelled('Metric', select(metrics.map((m) => [m.key, metricLabel(m.key)]), chosen.metric, (key) => {
    chosen.metric = key;
    buildDots();
  })));
  buildDots();
  rebuilders.push(buildDots);
}
