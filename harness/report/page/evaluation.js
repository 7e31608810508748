// SPDX-License-Identifier: Apache-2.0
// An evaluation: estimates against trials, distribution of the trials, forecasts.
import {axisText, plain, unitOf, wantsLog} from './numbers.js';
import {byId, el, labelled, select, show} from './elements.js';
import {data, metricLabel} from './data.js';
import {lineStyle, palette, styleOf} from './styles.js';
import {chosen, listeners, rebuilders, visible} from './choices.js';
import {axis, baseOptions, columnPoints, dropChart, logTicks, makeChart, nearestTooltip} from './charts.js';

const evaluation = data.evaluation || {estimates: []};
const evaluationCharts = [];
chosen.evaluated = evaluation.estimates.length ? evaluation.estimates[0].metric : null;

function evaluatedFigure(e, value) {
  return unitOf([{unit: e.unit, mean: value === undefined ? e.value : value}]);
}

// The two edges of an interval as datasets, over which comes the estimate `line`. The ground between
// them is filled where one interval is shown: of several the colours would mix to grey.
function intervalEdges(line, low, high, several) {
  const edge = {...line, borderWidth: several ? 1.25 : 0.75, borderDash: [], silent: true, pointHoverRadius: 0};
  return [{...edge, data: low, fill: several ? false : '+1', backgroundColor: line.borderColor + '26'}, {...edge, data: high}];
}

// A share of the axis's height between `low` and `high`, behind the curves.
const marginBand = (low, high) => ({
  id: 'marginBand',
  beforeDatasetsDraw(chart) {
    const {ctx, chartArea: area, scales} = chart;
    const pixel = (v) => Math.min(Math.max(scales.y.getPixelForValue(v), area.top), area.bottom);
    ctx.save();
    ctx.globalAlpha = 0.14;
    ctx.fillStyle = palette.accent;
    ctx.fillRect(area.left, pixel(high), area.right - area.left, pixel(low) - pixel(high));
    ctx.globalAlpha = 1;
    ctx.strokeStyle = palette.accent;
    ctx.setLineDash([4, 4]);
    ctx.lineWidth = 1;
    for (const v of [low, high]) {
      ctx.beginPath();
      ctx.moveTo(area.left, pixel(v));
      ctx.lineTo(area.right, pixel(v));
      ctx.stroke();
    }
    ctx.restore();
  },
});

// The trials that each evaluation really took, as level lines.
const takenLines = (taken) => ({
  id: 'takenLines',
  beforeDatasetsDraw(chart) {
    const {ctx, chartArea: area, scales} = chart;
    ctx.save();
    ctx.setLineDash([2, 3]);
    ctx.lineWidth = 1.5;
    for (const {trials, colour} of taken) {
      const y = scales.y.getPixelForValue(trials);
      if (!(y >= area.top && y <= area.bottom)) continue;
      ctx.strokeStyle = colour;
      ctx.beginPath();
      ctx.moveTo(area.left, y);
      ctx.lineTo(area.right, y);
      ctx.stroke();
    }
    ctx.restore();
  },
});

function trialsAxis(estimates) {
  const most = Math.max(2, ...estimates.map((e) => Math.max(e.trials, ...e.history.trials)));
  const log = most > 200;
  return {
    ...axis('trials', {callback: axisText}), type: log ? 'logarithmic' : 'linear', min: log ? 2 : 0, max: most,
    ...(log ? {afterBuildTicks: logTicks} : {}),
  };
}

function evaluationFigure(title, detail, height, label, config) {
  const box = el('div', {class: 'chart'});
  byId('evaluation-charts').append(el('figure', {}, el('figcaption', {}, title + ' ', el('span', {}, detail)), box));
  evaluationCharts.push(makeChart(box, height, label, config));
}

function drawInterval(estimates) {
  const having = estimates.filter((e) => e.value !== 0);
  if (having.length === 0) return;
  const percent = (e) => (v) => 100 * (v / e.value - 1) * Math.sign(e.value);
  const margin = 100 * evaluation.margin;
  // All that the last three quarters of the trials gave is in view, and the margin; the intervals of
  // the first few trials, which would hide all else, go over the edge.
  const late = having.flatMap((e) => e.history.trials.map((n, i) => [n, e.history.low[i], e.history.high[i]])
    .filter(([n, low, high]) => n >= e.trials / 4 && low !== null && high !== null)
    .flatMap(([, low, high]) => [Math.abs(percent(e)(low)), Math.abs(percent(e)(high))]));
  const reach = 1.05 * Math.max(2 * margin, ...late);
  const sets = having.flatMap((e) => {
    const line = {...lineStyle(e.algorithm), label: e.algorithm};
    const h = e.history;
    return [
      ...intervalEdges(line, columnPoints(h.trials, h.low, percent(e)), columnPoints(h.trials, h.high, percent(e)), having.length > 1),
      {...line, data: columnPoints(h.trials, h.value, percent(e)), of: e},
    ];
  });
  const options = baseOptions();
  options.scales = {x: trialsAxis(having), y: {...axis('% from the last estimate', {callback: axisText, includeBounds: false}), min: -reach, max: reach}};
  options.interaction = {mode: 'nearest', intersect: false};
  options.plugins.tooltip = nearestTooltip((item) => item.raw.x + ' trials', (item) => {
    const e = item.dataset.of;
    const i = e.history.trials.indexOf(item.raw.x);
    const unit = evaluatedFigure(e);
    const at = (v) => (v === null ? '?' : plain(v / unit.divisor));
    return at(e.history.value[i]) + ' [' + at(e.history.low[i]) + ', ' + at(e.history.high[i]) + ']' + (unit.text && ' ' + unit.text);
  });
  evaluationFigure('Interval against trials', 'thin lines: the interval\u2019s ends; band: the margin asked for, \u00b1' + axisText(margin) + ' %', 320,
    'Estimate and interval against the number of trials: ' + having.map((e) => e.algorithm + ' ' + e.trials + ' trials').join('; '),
    {type: 'line', data: {datasets: sets}, options, plugins: [marginBand(-margin, margin)]});
}

function drawDistribution(estimates) {
  const having = estimates.filter((e) => e.distribution.value.length > 0);
  if (having.length === 0) return;
  const greatest = Math.max(...having.map((e) => Math.max(...e.distribution.value.map(Math.abs))));
  const unit = evaluatedFigure(having[0], greatest);
  const log = wantsLog(having.flatMap((e) => [e.distribution.value[0], e.distribution.value[e.distribution.value.length - 1]]));
  const sets = having.map((e) => {
    const {value, share} = e.distribution;
    const data_ = [{x: value[0] / unit.divisor, y: 0}, ...columnPoints(value.map((v) => v / unit.divisor), share)];
    return {...lineStyle(e.algorithm), label: e.algorithm, data: data_, stepped: 'before'};
  });
  const options = baseOptions();
  options.scales = {
    x: {...axis(metricLabel(chosen.evaluated) + (unit.text && ', ' + unit.text), {callback: axisText}), type: log ? 'logarithmic' : 'linear', ...(log ? {afterBuildTicks: logTicks} : {})},
    y: {...axis('share of the trials', {callback: axisText}), min: 0, max: 1},
  };
  options.interaction = {mode: 'nearest', intersect: false};
  options.plugins.tooltip = nearestTooltip((item) => plain(item.raw.x) + (unit.text && ' ' + unit.text), (item) => plain(100 * item.raw.y) + ' % of the trials are not above');
  evaluationFigure('The trials\u2019 values', ['cumulative', log ? 'logarithmic' : ''].filter((t) => t).join('; '), 280,
    'Cumulative distribution of the trials\u2019 values of ' + metricLabel(chosen.evaluated), {type: 'line', data: {datasets: sets}, options});
}

function drawForecast(estimates) {
  const having = estimates.filter((e) => e.history.forecast.some((f) => f !== null));
  if (having.length === 0) return;
  const sets = having.flatMap((e) => {
    const line = {...lineStyle(e.algorithm), label: e.algorithm};
    const h = e.history;
    return [
      ...intervalEdges(line, columnPoints(h.trials, h.forecast_low), columnPoints(h.trials, h.forecast_high), having.length > 1),
      {...line, data: columnPoints(h.trials, h.forecast)},
    ];
  });
  const options = baseOptions();
  const all = having.flatMap((e) => [e.trials, ...e.history.forecast.filter((f, i) => f > 0 && e.history.trials[i] >= Math.min(10, e.trials))]).filter((v) => v > 0);
  options.scales = {
    x: trialsAxis(having),
    y: {...axis('trials in all', {callback: axisText}), type: 'logarithmic', afterBuildTicks: logTicks, min: Math.max(1, Math.min(...all) / 2), max: Math.max(...all) * 2},
  };
  options.interaction = {mode: 'nearest', intersect: false};
  options.plugins.tooltip = nearestTooltip((item) => 'after ' + item.raw.x + ' trials', (item) => axisText(item.raw.y) + ' in all');
  evaluationFigure('Forecast against actual', 'thin lines: the forecast\u2019s interval; dotted: the trials it took', 280,
    'Trials forecast against trials done: ' + having.map((e) => e.algorithm + ' took ' + e.trials).join('; '),
    {type: 'line', data: {datasets: sets}, options, plugins: [takenLines(having.map((e) => ({trials: e.trials, colour: styleOf(e.algorithm).colour})))]});
}

function buildEvaluation() {
  for (const chart of evaluationCharts.splice(0)) dropChart(chart);
  byId('evaluation-charts').replaceChildren();
  const asked = evaluation.estimates.filter((e) => e.metric === chosen.evaluated);
  const shown = asked.filter((e) => visible.has(e.algorithm));
  drawInterval(shown);
  drawDistribution(shown);
  drawForecast(shown);
  const text = (e, v) => (v === null ? '?' : plain(v / evaluatedFigure(e).divisor));
  byId('evaluation-table').replaceChildren(el('table', {class: 'data wrapped'}, el('caption', {}, 'Estimates of ' + metricLabel(chosen.evaluated)),
    el('thead', {}, el('tr', {}, ['Algorithm', 'Estimate', 'Interval', 'Trials', 'Converged'].map((t) => el('th', {scope: 'col'}, t)))),
    el('tbody', {}, asked.map((e) => {
      const unit = evaluatedFigure(e);
      return el('tr', {}, el('th', {scope: 'row'}, e.algorithm), el('td', {}, text(e, e.value) + (unit.text && ' ' + unit.text)),
        el('td', {}, text(e, e.low) + ' to ' + text(e, e.high)), el('td', {}, axisText(e.trials)),
        el('td', {}, el('span', {class: 'verdict ' + (e.converged ? 'met' : 'missed')}, e.converged ? 'yes' : 'no')));
    }))));
}

export function fillEvaluation() {
  if (evaluation.estimates.length === 0) return;
  show('evaluation');
  byId('evaluation-goal').textContent = evaluation.estimates[0].metric + ': ' + evaluation.goal;
  for (const line of evaluation.text || []) byId('evaluation-text').append(el('li', {}, line));
  byId('evaluation-text').hidden = byId('evaluation-text').children.length === 0;
  const metrics = [...new Set(evaluation.estimates.map((e) => e.metric))];
  if (metrics.length > 1) {
    byId('evaluation-tools').append(labelled('Metric', select(metrics.map((m) => [m, metricLabel(m)]), chosen.evaluated, (key) => {
      chosen.evaluated = key;
      byId('evaluation-goal').textContent = key + ': ' + evaluation.goal;
      buildEvaluation();
    })));
  }
  buildEvaluation();
  listeners.push(buildEvaluation);
  rebuilders.push(buildEvaluation);
}
