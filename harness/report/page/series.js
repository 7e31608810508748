// SPDX-License-Identifier: Apache-2.0
// Curves over time: the series of the data, and the flows that rate curves are of.
import {el, svg} from './elements.js';
import {data, names} from './data.js';
import {DASHES, palette, styleOf} from './styles.js';
import {mixed} from './numbers.js';

export const series = [];  // {name, kind: 'queue' | 'rate', label, main, t, v}

for (const name of names) {
  const curve = (data.curves || {})[name];
  if (!curve) continue;
  if (curve.t_us) series.push({name, kind: 'queue', label: name, main: true, t: curve.t_us, v: curve.queue_bytes});
  const rates = curve.rates || [];
  for (const r of rates) {
    series.push({name, kind: 'rate', label: r.label, main: r.main || rates.length === 1, t: r.t_us, v: r.gbps});
  }
}

// What the rate curves are of, in the order of the data: flows, or groups of flows.
export const flowLabels = [...new Set(series.filter((s) => s.kind === 'rate').map((s) => s.label))];

export const mainLabels = [...new Set(series.filter((s) => s.kind === 'rate' && s.main).map((s) => s.label))];

// More flows than that cannot be told apart by colour and dashes: all but the main one are grey.
export const FLOWS_TOLD = 20;

function flowDash(i) {
  return DASHES[(i + 5 * Math.floor(i / DASHES.length)) % DASHES.length];
}

// A colour is an algorithm's: its flows and groups are shades of it, from near the text's colour to near
// the ground's, and their legend has the shades of the text's.
const DARKEST = 0.5;
const LIGHTEST = 0.55;
function shade(colour, label) {
  const i = flowLabels.indexOf(label);
  const at = flowLabels.length < 2 ? 0 : 2 * i / (flowLabels.length - 1) - 1;
  return at < 0 ? mixed(colour, palette.text, -at * DARKEST) : mixed(colour, palette.ground, at * LIGHTEST);
}

export function flowStyle(s) {
  const i = flowLabels.indexOf(s.label);
  const {colour} = styleOf(s.name);
  if (flowLabels.length > FLOWS_TOLD) return s.main ? {colour, dash: [], width: 2.5, order: 0} : {colour: palette.strong, dash: [], width: 0.75, order: 2};
  return {colour: shade(colour, s.label), dash: flowDash(i), width: s.main && flowLabels.length > 1 ? 2.5 : 1.5, order: s.main ? 0 : 1};
}

function lineSwatch(colour, dash, width) {
  const icon = svg('svg', {class: 'swatch', width: 30, height: 12, viewBox: '0 0 30 12', 'aria-hidden': 'true'});
  icon.append(svg('line', {x1: 0, y1: 6, x2: 30, y2: 6, style: 'stroke:' + colour, 'stroke-width': width, 'stroke-dasharray': dash.join(' ') || 'none'}));
  return icon;
}

export function flowSwatch(label) {
  if (flowLabels.length > FLOWS_TOLD) return mainLabels.includes(label) ? lineSwatch('var(--text-soft)', [], 2.5) : lineSwatch('var(--line-strong)', [], 1);
  return lineSwatch(shade(palette.soft, label), flowDash(flowLabels.indexOf(label)), 2);
}

// Which line is which flow, for charts of every flow of one algorithm; null where there is one only.
export function flowLegend() {
  if (flowLabels.length < 2) return null;
  const told = flowLabels.length > FLOWS_TOLD ? mainLabels : flowLabels;
  return el('ul', {class: 'legend', 'aria-label': 'Flows'}, told.map((label) => el('li', {}, flowSwatch(label), label)),
    told.length < flowLabels.length ? el('li', {}, lineSwatch('var(--line-strong)', [], 1), flowLabels.length - told.length + (told.length ? ' other' : '') + ' flows') : '');
}
