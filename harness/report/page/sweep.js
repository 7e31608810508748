// SPDX-License-Identifier: Apache-2.0
// The cases of a sweep.
import {axisText, figureText, spread, unitOf, wantsLog} from './numbers.js';
import {byId, el, labelled, select, show} from './elements.js';
import {data, figuresOf, metricLabel, metricOf, names, parameterText, ranking, trialCount} from './data.js';
import {palette, pointStyle, styleOf} from './styles.js';
import {chosen, listeners, rebuilders, visible} from './choices.js';
import {axis, axisEnds, baseOptions, dropChart, makeChart, whiskers} from './charts.js';
import {figureCell, nameHeader} from './tables.js';

const cases = data.cases || [];
const keyOf = (v) => JSON.stringify(v === undefined ? null : v);
let sweepChart = null;

// Parameters that differ between cases, each with its values in order.
function sweptParameters() {
  const keys = [...new Set(cases.flatMap((c) => Object.keys(c.parameters)))];
  return keys.map((key) => {
    const values = [...new Map(cases.map((c) => [keyOf(c.parameters[key]), c.parameters[key]])).values()];
    const numeric = values.every((v) => typeof v === 'number');
    if (numeric) values.sort((a, b) => a - b);
    return {key, values, numeric};
  }).filter((p) => p.values.length > 1);
}

function buildSweep(swept) {
  dropChart(sweepChart);
  sweepChart = null;
  const metric = chosen.sweepMetric;
  const along = swept.find((p) => p.key === chosen.x);
  const shownCases = cases.filter((c) => swept.every((p) => p === along || keyOf(c.parameters[p.key]) === chosen.fixed[p.key]))
    .sort((a, b) => along.values.findIndex((v) => keyOf(v) === keyOf(a.parameters[along.key])) - along.values.findIndex((v) => keyOf(v) === keyOf(b.parameters[along.key])));
  const unit = unitOf(shownCases.flatMap((c) => figuresOf(metric, c.algorithms)));
  const shown = names.filter((n) => visible.has(n) && shownCases.some((c) => c.algorithms[n] && c.algorithms[n][metric]));
  const place = (c) => (along.numeric ? c.parameters[along.key] : along.values.findIndex((v) => keyOf(v) === keyOf(c.parameters[along.key])));
  const sets = shown.map((name) => {
    const style = styleOf(name);
    return {
      label: name, ...pointStyle(name), borderDash: style.dash, borderWidth: style.strong ? 2.5 : 1.75, order: style.strong ? 0 : 1, pointRadius: 5, pointHoverRadius: 7,
      data: shownCases.filter((c) => c.algorithms[name] && c.algorithms[name][metric]).map((c) => {
        const f = c.algorithms[name][metric];
        return {x: place(c), y: f.mean / unit.divisor, ...spread(f, unit.divisor), text: figureText(f, unit)};
      }),
    };
  });
  const values = sets.flatMap((s) => s.data.map((p) => p.y));
  const log = wantsLog(values);
  const {better} = metricOf.get(metric);
  const box = el('div', {class: 'chart'});
  byId('sweep-chart').replaceChildren(el('figure', {}, el('figcaption', {}, metricLabel(metric) + ' over ' + along.key + ' ',
    el('span', {}, ['mean and 95 % confidence interval', better === 'neither' ? '' : better + ' is better', log ? 'logarithmic' : '']
      .filter((t) => t).join('; '))), box));
  const options = baseOptions();
  const places = shownCases.map(place);
  options.scales = {
    x: {...axis(along.key, {autoSkip: true, callback: (v) => (along.numeric ? axisText(v) : parameterText(along.values[v]))}),
      offset: false,
      afterBuildTicks: (scale) => {
        // The values that were run, not round numbers between them.
        scale.ticks = [...new Set(places)].sort((a, b) => a - b).map((value) => ({value}));
      }},
    y: {...axis(unit.text, {callback: axisText}), type: log ? 'logarithmic' : 'linear'},
  };
  if (places.length) {
    const margin = (Math.max(...places) - Math.min(...places)) * 0.04 || 0.5;
    options.scales.x.min = Math.min(...places) - margin;
    options.scales.x.max = Math.max(...places) + margin;
  }
  if (sets.length) Object.assign(options.scales.y, axisEnds(sets.flatMap((s) => s.data), 'y', log));
  options.interaction = {mode: 'nearest', intersect: false};
  options.plugins.tooltip = {
    enabled: true, animation: false, usePointStyle: true, backgroundColor: palette.ground, titleColor: palette.text, bodyColor: palette.text,
    borderColor: palette.strong, borderWidth: 1,
    callbacks: {
      title: (items) => items.length ? along.key + ' = ' + (along.numeric ? axisText(items[0].raw.x) : parameterText(along.values[items[0].raw.x])) : '',
      label: (item) => ' ' + item.dataset.label + ': ' + item.raw.text,
    },
  };
  if (sets.length) {
    sweepChart = makeChart(box, 340, metricLabel(metric) + ' over ' + along.key + '; the table below has the figures',
      {type: 'line', data: {datasets: sets}, options, plugins: [whiskers('y', false)]});
  } else {
    box.append(el('p', {class: 'hint'}, 'No figures to show.'));
  }
  const trials = trialCount(cases.map((d) => d.algorithms)).most;
  byId('sweep-table').replaceChildren(el('table', {class: 'data pinned'}, el('caption', {}, metricLabel(metric) + ' of every case'),
    el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, along.key), names.map(nameHeader))),
    el('tbody', {}, shownCases.map((c) => {
      const rank = ranking(metric, c.algorithms);
      return el('tr', {}, el('th', {scope: 'row'}, parameterText(c.parameters[along.key])), names.map((n) => figureCell((c.algorithms[n] || {})[metric], unit, rank, n, trials, metric)));
    }))));
}

export function fillSweep() {
  const swept = sweptParameters();
  const metrics = data.metrics.filter((m) => cases.some((c) => names.some((n) => c.algorithms[n] && c.algorithms[n][m.key])));
  if (swept.length === 0 || metrics.length === 0) return;
  show('sweep');
  chosen.sweepMetric = (metrics.find((m) => m.key === data.main_metric) || metrics[0]).key;
  // Along the axis: the numeric parameter with most values.
  chosen.x = swept.slice().sort((a, b) => b.numeric - a.numeric || b.values.length - a.values.length)[0].key;
  for (const p of swept) {
    const main = keyOf((data.parameters || {})[p.key]);
    chosen.fixed[p.key] = p.values.some((v) => keyOf(v) === main) ? main : keyOf(p.values[0]);
  }
  const tools = byId('sweep-tools');
  const again = () => {
    const controls = [labelled('Metric', select(metrics.map((m) => [m.key, metricLabel(m.key)]), chosen.sweepMetric, (key) => {
      chosen.sweepMetric = key;
      buildSweep(swept);
    }))];
    if (swept.length > 1) {
      controls.push(labelled('over', select(swept.map((p) => [p.key, p.key]), chosen.x, (key) => {
        chosen.x = key;
        again();
      })));
      for (const p of swept.filter((q) => q.key !== chosen.x)) {
        controls.push(labelled(p.key, select(p.values.map((v) => [keyOf(v), parameterText(v)]), chosen.fixed[p.key], (key) => {
          chosen.fixed[p.key] = key;
          buildSweep(swept);
        })));
      }
    }
    tools.replaceChildren(...controls);
    buildSweep(swept);
  };
  again();
  listeners.push(() => buildSweep(swept));
  rebuilders.push(() => buildSweep(swept));
}
