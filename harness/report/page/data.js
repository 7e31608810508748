// SPDX-License-Identifier: Apache-2.0
// The data of the page: JSON in #data (schema: harness/report/report.h; render_report() has completed
// "metrics", "order", "main_metric" and "title").
import {rankFigures} from './numbers.js';

// Objects without a prototype: a metric named "constructor" is one of the data or none at all.
function bare(value) {
  if (Array.isArray(value)) return typeof value[0] === 'object' ? value.map(bare) : value;
  if (value === null || typeof value !== 'object') return value;
  const out = Object.create(null);
  for (const key of Object.keys(value)) out[key] = bare(value[key]);
  return out;
}

export const data = bare(JSON.parse(document.getElementById('data').textContent));
export const names = data.order;
export const metricOf = new Map(data.metrics.map((m) => [m.key, m]));

export function metricLabel(key) {
  return (metricOf.get(key) || {label: key}).label || key;
}

export function figuresOf(metric, algorithms) {
  return names.map((n) => algorithms[n] && algorithms[n][metric]).filter((f) => f);
}

// Who is best by `metric`, as rankFigures() says.
export function ranking(metric, algorithms) {
  const having = names.filter((n) => algorithms[n] && algorithms[n][metric]);
  return rankFigures((metricOf.get(metric) || {}).better, having.map((n) => [n, algorithms[n][metric]]));
}

export function comparable() {
  return data.metrics.filter((m) => names.some((n) => data.algorithms[n][m.key]));
}

// Which flows a metric is of: "small" of "small.fct_p99_us", '' for all.
export const classOf = (key) => key.slice(0, Math.max(0, key.indexOf('.')));

// The number of trials that most figures have, and whether all have it.
export function trialCount(list) {
  const counts = new Map();
  for (const algorithms of list) {
    for (const metrics of Object.values(algorithms)) for (const f of Object.values(metrics)) counts.set(f.n, (counts.get(f.n) || 0) + 1);
  }
  const [most] = [...counts].sort((a, b) => b[1] - a[1] || b[0] - a[0])[0] || [0];
  return {most, all: counts.size < 2};
}

export const parameterText = (v) => (Array.isArray(v) ? v.map(parameterText).join(', ') : typeof v === 'number' ? String(v) : v === undefined ? '\u2013' : String(v));
