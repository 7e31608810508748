// SPDX-License-Identifier: Apache-2.0
// The flows of a workload: completion times, and slowdown by size.
import {axisBytes, axisText, bytesText, plain, wantsLog} from './numbers.js';
import {byId, el, labelled, select, show} from './elements.js';
import {data, names} from './data.js';
import {lineStyle, pointStyle} from './styles.js';
import {chosen, listeners, rebuilders, visible} from './choices.js';
import {axis, baseOptions, columnPoints, dropChart, logTicks, makeChart, nearestTooltip} from './charts.js';

// Responses of incasts are all of one size and come all at once: never in one curve with others.
const GROUPS = [['flows', data.responses ? 'background' : ''], ['responses', 'responses of incasts']].filter(([key]) => data[key]);
let flowsOf = GROUPS.length ? data[GROUPS[0][0]] : {};
const flowCharts = [];
const SLOWDOWNS = [['p99', '99th percentile'], ['p50', 'median'], ['mean', 'mean']];
chosen.flows = GROUPS.length ? GROUPS[0][0] : '';
chosen.slowdown = (SLOWDOWNS.find(([key]) => Object.values(flowsOf).some((f) => f.slowdown[key].filter((v) => v !== null).length > 1)) || SLOWDOWNS[0])[0];

function flowFigure(title, detail, label, config) {
  const box = el('div', {class: 'chart'});
  byId('flows-charts').append(el('figure', {}, el('figcaption', {}, title + ' ', el('span', {}, detail)), box));
  flowCharts.push(makeChart(box, 320, label, config));
}

function groupText() {
  const having = names.filter((n) => flowsOf[n]);
  const incomplete = having.filter((n) => flowsOf[n].incomplete > 0);
  return 'Measured flows of all trials of the main case. Slowdown: completion time over that of the flow alone.'
    + (incomplete.length ? ' Not complete at the end, so that their curve ends below 1: ' + incomplete.map((n) => n + ' ' + axisText(flowsOf[n].incomplete) + ' of ' + axisText(flowsOf[n].complete + flowsOf[n].incomplete)).join(', ') + '.' : '');
}

function buildFlows() {
  for (const chart of flowCharts.splice(0)) dropChart(chart);
  byId('flows-charts').replaceChildren();
  flowsOf = data[chosen.flows];
  byId('flows-text').textContent = groupText();
  const [, group] = GROUPS.find(([k]) => k === chosen.flows);
  const shown = names.filter((n) => visible.has(n) && flowsOf[n]);
  const percent = (v) => plain(100 * v) + ' %';
  const ends = shown.filter((n) => flowsOf[n].fct.value.length > 0);
  if (ends.length) {
    const all = ends.flatMap((n) => [flowsOf[n].fct.value[0], flowsOf[n].fct.value[flowsOf[n].fct.value.length - 1]]);
    const options = baseOptions();
    options.scales = {
      x: {...axis('completion time, \u00b5s', {callback: axisText}), type: 'logarithmic', afterBuildTicks: logTicks, min: Math.min(...all) / 1.1, max: Math.max(...all) * 1.1},
      y: {...axis('share of the flows', {callback: axisText}), min: 0, max: 1},
    };
    options.interaction = {mode: 'nearest', intersect: false};
    options.plugins.tooltip = nearestTooltip((item) => plain(item.raw.x) + ' \u00b5s', (item) => percent(item.raw.y) + ' of the flows took no longer');
    const sets = ends.map((n) => {
      const {value, share} = flowsOf[n].fct;
      return {...lineStyle(n), label: n, data: [{x: value[0], y: 0}, ...columnPoints(value, share)], stepped: 'before'};
    });
    flowFigure('Completion times', [group, 'cumulative, all trials of the main case', 'logarithmic'].filter((t) => t).join('; '), 'Cumulative distribution of flow completion times: '
      + ends.map((n) => n + ' ' + (flowsOf[n].complete + flowsOf[n].incomplete) + ' flows').join('; '), {type: 'line', data: {datasets: sets}, options});
  }
  const [key, text] = SLOWDOWNS.find(([k]) => k === chosen.slowdown);
  const points = new Map(shown.map((n) => {
    const {size_bytes: sizes, count} = flowsOf[n].slowdown;
    return [n, sizes.map((x, i) => ({x, y: flowsOf[n].slowdown[key][i], count: count[i]})).filter((p) => p.y !== null)];
  }));
  const having = shown.filter((n) => points.get(n).length > 0);
  if (having.length === 0) return;
  const all = having.flatMap((n) => points.get(n));
  const log = wantsLog(all.map((p) => p.y));
  const greatest = Math.max(...all.map((p) => p.y));
  const options = baseOptions();
  options.scales = {
    x: {...axis('flow size', {callback: axisBytes}), type: 'logarithmic', afterBuildTicks: logTicks, min: Math.min(...all.map((p) => p.x)) / 1.3, max: Math.max(...all.map((p) => p.x)) * 1.3},
    y: {...axis('slowdown', {callback: axisText}), ...(log ? {type: 'logarithmic', afterBuildTicks: logTicks, min: 0.9, max: greatest * 1.2} : {min: 0, suggestedMax: greatest * 1.05})},
  };
  options.interaction = {mode: 'nearest', intersect: false};
  options.plugins.tooltip = nearestTooltip((item) => 'flows around ' + bytesText(item.raw.x), (item) => plain(item.raw.y) + ' (' + text + ' of ' + axisText(item.raw.count) + ' flows)');
  const sets = having.map((n) => ({...lineStyle(n), ...pointStyle(n), pointRadius: 3.5, pointHoverRadius: 6, label: n, data: points.get(n)}));
  flowFigure('Slowdown by flow size', [group, text + ' of the flows of about a size', 'lower is better', log ? 'logarithmic' : ''].filter((t) => t).join('; '),
    'Slowdown by flow size, ' + text + ': ' + having.map((n) => n + ' at most ' + plain(Math.max(...points.get(n).map((p) => p.y)))).join('; '),
    {type: 'line', data: {datasets: sets}, options});
}

export function fillFlows() {
  if (!names.some((n) => flowsOf[n])) return;
  show('flows');
  if (GROUPS.length > 1) {
    byId('flows-tools').append(labelled('flows', select(GROUPS, chosen.flows, (key) => {
      chosen.flows = key;
      buildFlows();
    })));
  }
  byId('flows-tools').append(labelled('slowdown', select(SLOWDOWNS, chosen.slowdown, (key) => {
    chosen.slowdown = key;
    buildFlows();
  })));
  buildFlows();
  listeners.push(buildFlows);
  rebuilders.push(buildFlows);
}
