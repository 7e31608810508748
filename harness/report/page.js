// SPDX-License-Identifier: Apache-2.0
/*
 * Fills the page from the JSON in #data (schema: harness/report/report.h; render_report() has completed
 * "metrics", "order", "main_metric" and "title"). All text goes in as text nodes, never as markup.
 */
(() => {
'use strict';

// Objects without a prototype: a metric named "constructor" is one of the data or none at all.
function bare(value) {
  if (Array.isArray(value)) return typeof value[0] === 'object' ? value.map(bare) : value;
  if (value === null || typeof value !== 'object') return value;
  const out = Object.create(null);
  for (const key of Object.keys(value)) out[key] = bare(value[key]);
  return out;
}

const data = bare(JSON.parse(document.getElementById('data').textContent));
const names = data.order;
const metricOf = new Map(data.metrics.map((m) => [m.key, m]));
const byId = (id) => document.getElementById(id);

/* ---- elements ---- */

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false || value === '') continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((c) => c || c === 0));
  return node;
}

function svg(tag, attributes) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

function show(id) {
  byId(id).hidden = false;
}

function labelled(text, control) {
  return el('label', {}, el('span', {}, text), control);
}

function select(options, value, onchange) {
  const node = el('select', {onchange: () => onchange(node.value)},
    options.map(([key, text]) => el('option', {value: key, selected: key === value}, text)));
  return node;
}

/* ---- numbers ---- */

function unitText(unit) {
  return {us: '\u00b5s', gbps: 'Gbit/s', mbps: 'Mbit/s'}[unit] || unit || '';
}

// The unit as shown, and what a figure in the data's unit is divided by. Bytes are shown in
// thousands; 1 KB = 1000 bytes.
function unitOf(figures) {
  const unit = figures.map((f) => f.unit).find((u) => u) || '';
  const greatest = Math.max(0, ...figures.map((f) => Math.abs(f.mean)));
  if (unit === 'bytes' && greatest >= 1000) return {text: 'KB', divisor: 1000};
  return {text: unitText(unit), divisor: 1};
}

function digitsBefore(value) {
  return value === 0 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1;
}

function fixed(value, decimals) {
  if (Math.abs(value) >= 1e15) return value.toExponential(3);
  return value.toLocaleString('en-US', {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
}

// Four significant digits, whole numbers whole.
function plain(value) {
  if (value === 0) return '0';
  if (Math.abs(value) < 1e-6) return value.toExponential(2);
  if (Number.isInteger(value)) return fixed(value, 0);
  return fixed(value, Math.min(9, Math.max(0, 4 - digitsBefore(value))));
}

// Trials in which what was waited for never came count with the time waited: a lower bound.
const atLeast = (figure) => (figure.missed ? '\u2265 ' : '');
const missedText = (figure) => figure.missed + ' of ' + figure.n + ' missed';

// Of completion times a mean is a lower bound as soon as one flow of a trial was not complete: most
// trials of most workloads. The row of incomplete flows tells how many; "missed" in every cell would
// tell nothing.
const ofFlows = (key) => /(^|\.)(fct|slowdown)_/.test(key);

// Least and greatest of the trials, '' where not given or alike.
function rangeText(figure, divisor) {
  if (!(figure.min < figure.max)) return '';
  const [low, high] = [figure.min, figure.max].map((v) => plain(v / divisor));
  return low + ' to ' + high;
}

// [mean, half-width]: the half-width with two significant digits, the mean to the same decimal, but
// no finer than six significant digits of the mean. Half-width '' where there is none.
function meanAndInterval(figure, divisor) {
  const mean = figure.mean / divisor;
  if (typeof figure.ci95 !== 'number') return [plain(mean), ''];
  const ci95 = figure.ci95 / divisor;
  if (ci95 === 0) return [plain(mean), '0'];
  const finest = mean === 0 ? 6 : Math.max(0, 6 - digitsBefore(mean));
  const decimals = Math.min(9, finest, Math.max(0, 2 - digitsBefore(ci95)));
  const rounded = fixed(ci95, decimals);
  return [fixed(mean, decimals), Number(rounded) === 0 ? '<' + fixed(10 ** -decimals, decimals) : rounded];
}

function figureText(figure, unit) {
  const [mean, ci95] = meanAndInterval(figure, unit.divisor);
  return atLeast(figure) + mean + (ci95 && ' \u00b1 ' + ci95) + (unit.text && ' ' + unit.text);
}

// Bytes on an axis: "1.5 MB", where plain() would say "1.500 MB".
function axisBytes(value) {
  const [size, unit] = Math.abs(value) >= 1e6 ? [1e6, ' MB'] : Math.abs(value) >= 1e3 ? [1e3, ' KB'] : [1, ' B'];
  return axisText(value / size) + unit;
}

function bytesText(value) {
  if (Math.abs(value) >= 1e6) return plain(value / 1e6) + ' MB';
  if (Math.abs(value) >= 1e3) return plain(value / 1e3) + ' KB';
  return plain(value) + ' B';
}

const bound = (figure, sign) => figure.mean + sign * (figure.ci95 || 0);

// One trial has no interval, and without one nothing is said of who is ahead.
const hasInterval = (figure) => figure.n > 1 && typeof figure.ci95 === 'number';

// Who is best by `metric`: {best: Set of names with the best mean, level: Set of the others whose
// interval reaches a best one's}; not those whose mean is a lower bound only. null where nothing is
// to be marked: fewer than two figures, one without an interval, no good end of the scale, or all
// alike.
function ranking(metric, algorithms) {
  const better = (metricOf.get(metric) || {}).better;
  const having = names.filter((n) => algorithms[n] && algorithms[n][metric]);
  if (having.length < 2 || (better !== 'lower' && better !== 'higher')) return null;
  if (!having.every((n) => hasInterval(algorithms[n][metric]))) return null;
  const sign = better === 'lower' ? 1 : -1;
  const order = having.filter((n) => !algorithms[n][metric].missed)
    .sort((a, b) => sign * (algorithms[a][metric].mean - algorithms[b][metric].mean));
  if (order.length === 0) return null;
  const first = algorithms[order[0]][metric];
  const best = new Set(order.filter((n) => algorithms[n][metric].mean === first.mean));
  const level = new Set(order.filter((n) => !best.has(n) && sign * bound(algorithms[n][metric], -sign) <= sign * bound(first, sign)));
  return best.size + level.size === having.length ? null : {best, level};
}

function metricLabel(key) {
  return (metricOf.get(key) || {label: key}).label || key;
}

function figuresOf(metric, algorithms) {
  return names.map((n) => algorithms[n] && algorithms[n][metric]).filter((f) => f);
}

/* ---- styles: colour, dash and point shape of an algorithm, all three its own ---- */

const DASHES = [[], [7, 3], [2, 2.5], [9, 3, 2, 3], [5, 2], [1.5, 1.5], [12, 4], [6, 2, 1.5, 2], [3, 3], [10, 2, 3, 2]];
const SHAPES = ['circle', 'rect', 'triangle', 'rectRot', 'circle', 'rect', 'triangle', 'rectRot', 'crossRot', 'star'];
let palette = {};

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue('--' + name).trim();
  palette = {
    ground: get('ground'), line: get('line'), strong: get('line-strong'), text: get('text'), soft: get('text-soft'),
    accent: get('accent'), series: DASHES.map((_, i) => get('series-' + i)),
  };
}

function styleOf(name) {
  const i = Math.max(0, names.indexOf(name)) % DASHES.length;
  return {
    colour: palette.series[i], dash: DASHES[i], shape: SHAPES[i], hollow: i >= 4 && i < 8,
    strong: name === data.subject,
  };
}

function swatch(name) {
  const i = Math.max(0, names.indexOf(name)) % DASHES.length;
  const colour = 'var(--series-' + i + ')';
  const icon = svg('svg', {class: 'swatch', width: 30, height: 12, viewBox: '0 0 30 12', 'aria-hidden': 'true'});
  icon.append(svg('line', {
    x1: 0, y1: 6, x2: 30, y2: 6, style: 'stroke:' + colour, 'stroke-width': name === data.subject ? 3 : 2,
    'stroke-dasharray': DASHES[i].join(' ') || 'none',
  }));
  const shape = {
    circle: 'M11 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z', rect: 'M11.5 2.5h7v7h-7z', triangle: 'M15 1.5l4.5 8h-9z',
    rectRot: 'M15 1.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z', crossRot: 'M11 2l8 8m0 -8l-8 8', star: 'M15 1.5v9m-4 -7l8 5m0 -5l-8 5',
  }[SHAPES[i]];
  const open = i >= 8;
  icon.append(svg('path', {
    d: shape, 'stroke-width': 1.75,
    style: 'stroke:' + colour + ';fill:' + (open ? 'none' : i >= 4 ? 'var(--ground)' : colour),
  }));
  return icon;
}

/* ---- what the reader has chosen ---- */

const visible = new Set(names);
const listeners = [];

function changed() {
  for (const chip of document.querySelectorAll('.chip')) chip.setAttribute('aria-pressed', visible.has(chip.dataset.name));
  for (const listener of listeners) listener();
}

function fillChips() {
  for (const box of document.querySelectorAll('[data-chips]')) {
    if (names.length < 2) {
      box.hidden = true;
      continue;
    }
    box.setAttribute('role', 'group');
    box.setAttribute('aria-label', 'Algorithms shown');
    for (const name of names) {
      box.append(el('button', {
        type: 'button', class: 'chip', 'data-name': name, 'aria-pressed': 'true',
        title: (data.algorithm_notes || {})[name],
        onclick: () => {
          if (!visible.delete(name)) visible.add(name);
          changed();
        },
      }, swatch(name), name));
    }
    box.append(el('button', {
      type: 'button',
      onclick: () => {
        for (const name of names) visible.add(name);
        changed();
      },
    }, 'Show all'));
    if (data.subject) {
      box.append(el('button', {
        type: 'button',
        onclick: () => {
          visible.clear();
          visible.add(data.subject);
          changed();
        },
      }, 'Only ' + data.subject));
    }
  }
}

/* ---- charts ---- */

const charts = new Set();

function baseOptions() {
  return {
    animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: true,
    layout: {padding: {top: 6, right: 8}},
    plugins: {legend: {display: false}, tooltip: {enabled: false}},
  };
}

function axis(title, ticks) {
  return {
    type: 'linear', grid: {color: palette.line, borderColor: palette.strong, tickColor: palette.line},
    ticks: {color: palette.soft, maxRotation: 0, autoSkipPadding: 12, ...ticks},
    title: {display: !!title, text: title, color: palette.soft},
  };
}

// Ticks of a logarithmic axis: powers of ten, with their double and fivefold where these are few.
function logTicks(scale) {
  const decades = Math.log10(scale.max / scale.min);
  const leads = decades > 3 ? [1] : decades > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  scale.ticks = [];
  for (let e = Math.floor(Math.log10(scale.min)); 10 ** e <= scale.max; ++e) {
    for (const lead of leads) {
      const value = Number((lead + 'e' + e));
      if (value >= scale.min && value <= scale.max) scale.ticks.push({value, major: lead === 1});
    }
  }
}

// A number on an axis.
function axisText(value) {
  return String(+value.toPrecision(6)).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
}

function makeChart(box, height, label, config) {
  const canvas = el('canvas', {role: 'img', 'aria-label': label});
  box.style.height = height + 'px';
  box.replaceChildren(canvas);
  const chart = new Chart(canvas, config);
  charts.add(chart);
  return chart;
}

function dropChart(chart) {
  if (!chart) return;
  charts.delete(chart);
  chart.destroy();
}

// Text beside a point, on a plate of the ground's colour, kept inside [left, right].
function plate(context, text, x, y, colour, left, right, align) {
  const width = context.measureText(text).width;
  let at = align === 'right' ? x - width : x;
  at = Math.max(left, Math.min(at, right - width));
  context.globalAlpha = 0.85;
  context.fillStyle = palette.ground;
  context.fillRect(at - 2, y - 8, width + 4, 16);
  context.globalAlpha = 1;
  context.fillStyle = colour;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  context.fillText(text, at, y);
}

/* ---- curves over time ---- */

const series = [];  // {name, kind: 'queue' | 'rate', label, main, t, v}
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
const flowLabels = [...new Set(series.filter((s) => s.kind === 'rate').map((s) => s.label))];
const mainLabels = [...new Set(series.filter((s) => s.kind === 'rate' && s.main).map((s) => s.label))];
// More flows than that cannot be told apart by colour and dashes: all but the main one are grey.
const FLOWS_TOLD = 20;

function flowDash(i) {
  return DASHES[(i + 5 * Math.floor(i / DASHES.length)) % DASHES.length];
}

function flowStyle(s) {
  const i = flowLabels.indexOf(s.label);
  if (flowLabels.length > FLOWS_TOLD && !s.main) return {colour: palette.strong, dash: [], width: 0.75, order: 2};
  return {colour: palette.series[i % DASHES.length], dash: flowDash(i), width: s.main && flowLabels.length > 1 ? 2.5 : 1.5, order: s.main ? 0 : 1};
}

function lineSwatch(colour, dash, width) {
  const icon = svg('svg', {class: 'swatch', width: 30, height: 12, viewBox: '0 0 30 12', 'aria-hidden': 'true'});
  icon.append(svg('line', {x1: 0, y1: 6, x2: 30, y2: 6, style: 'stroke:' + colour, 'stroke-width': width, 'stroke-dasharray': dash.join(' ') || 'none'}));
  return icon;
}

function flowSwatch(label) {
  const i = flowLabels.indexOf(label);
  return flowLabels.length > FLOWS_TOLD && !mainLabels.includes(label) ? lineSwatch('var(--line-strong)', [], 1)
    : lineSwatch('var(--series-' + i % DASHES.length + ')', flowDash(i), 2);
}

// Which line is which flow, for charts of every flow of one algorithm; null where there is one only.
function flowLegend() {
  if (flowLabels.length < 2) return null;
  const told = flowLabels.length > FLOWS_TOLD ? mainLabels : flowLabels;
  return el('ul', {class: 'legend', 'aria-label': 'Flows'}, told.map((label) => el('li', {}, flowSwatch(label), label)),
    told.length < flowLabels.length ? el('li', {}, lineSwatch('var(--line-strong)', [], 1), flowLabels.length - told.length + (told.length ? ' other' : '') + ' flows') : '');
}

const span = series.length === 0 ? [0, 1] : [
  Math.min(...series.map((s) => s.t[0])), Math.max(...series.map((s) => s.t[s.t.length - 1])),
];
if (!(span[0] < span[1])) span[1] = span[0] + 1;
// `flow`: whose rates are laid over each other, 'main', a label, or 'each': every flow, in a chart for
// each algorithm.
const view = {
  from: span[0], to: span[1], cursor: null, drag: null, log: false, same: true, sides: false,
  flow: mainLabels.length ? 'main' : 'each',
};
const timeCharts = [];

// Queues that differ much are legible together on a logarithmic axis only.
view.log = wantsLog(series.filter((s) => s.kind === 'queue').map((s) => s.v.reduce((a, b) => a + (b || 0), 0) / s.v.length));

function setView(from, to) {
  const least = Math.min(1, (span[1] - span[0]) / 4);
  from = Math.max(span[0], from);
  to = Math.min(span[1], to);
  if (to - from < least) {
    const middle = Math.min(Math.max((from + to) / 2, span[0] + least / 2), span[1] - least / 2);
    from = middle - least / 2;
    to = middle + least / 2;
  }
  view.from = from;
  view.to = to;
  refreshTime();
}

// Index of the last sample at or before `time`, -1 when there is none.
function indexAt(t, time) {
  let low = -1;
  let high = t.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (t[middle] <= time) low = middle;
    else high = middle;
  }
  return low;
}

function valueAt(s, time) {
  const i = indexAt(s.t, time);
  if (i < 0 || (i === s.t.length - 1 && time > s.t[i])) return null;
  if (i === s.t.length - 1 || s.v[i] === null || s.v[i + 1] === null || s.t[i + 1] === s.t[i]) return s.v[i];
  return s.v[i] + (s.v[i + 1] - s.v[i]) * (time - s.t[i]) / (s.t[i + 1] - s.t[i]);
}

// The part of a series in view: first, least, greatest and last value of each pixel's time, in their
// order, and the values at the edges.  Without the last, a line to a far next point would slope.
function pointsInView(s, pixels, floor) {
  const out = [];
  const put = (x, y) => out.push({x, y: y === null ? NaN : Math.max(y, floor)});
  const edge = (time) => {
    const y = valueAt(s, time);
    if (y !== null) put(time, y);
  };
  edge(view.from);
  const width = (view.to - view.from) / Math.max(pixels, 50);
  let i = indexAt(s.t, view.from) + 1;
  while (i < s.t.length && s.t[i] <= view.to) {
    const first = i;
    const end = s.t[i] + width;
    let low = -1;
    let high = -1;
    let gap = -1;
    for (; i < s.t.length && s.t[i] <= view.to && s.t[i] < end; ++i) {
      if (s.v[i] === null) gap = i;
      else {
        if (low < 0 || s.v[i] < s.v[low]) low = i;
        if (high < 0 || s.v[i] > s.v[high]) high = i;
      }
      if (width <= 0) {
        ++i;
        break;
      }
    }
    for (const j of [first, low, high, gap, i - 1].filter((k, at, all) => k >= 0 && all.indexOf(k) === at).sort((a, b) => a - b)) {
      put(s.t[j], s.v[j]);
    }
  }
  edge(view.to);
  return out;
}

const LOG_FLOOR_BYTES = 100;

// Draws over and under a chart of time: event, levels, reading line, dragged range.
const timeMarks = (references) => ({
  id: 'timeMarks',
  beforeDatasetsDraw(chart) {
    const {ctx, chartArea: area, scales} = chart;
    if (view.drag) {
      const [a, b] = view.drag.map((t) => Math.min(Math.max(scales.x.getPixelForValue(t), area.left), area.right));
      ctx.save();
      ctx.globalAlpha = 0.15;
      ctx.fillStyle = palette.accent;
      ctx.fillRect(Math.min(a, b), area.top, Math.abs(b - a), area.bottom - area.top);
      ctx.restore();
    }
  },
  afterDatasetsDraw(chart) {
    const {ctx, chartArea: area, scales} = chart;
    const small = area.bottom - area.top < 160;
    ctx.save();
    ctx.font = '12px ' + Chart.defaults.font.family;
    const vertical = (time, colour, dash) => {
      const x = scales.x.getPixelForValue(time);
      if (!(x >= area.left - 0.5 && x <= area.right + 0.5)) return null;
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1;
      ctx.setLineDash(dash);
      ctx.beginPath();
      ctx.moveTo(x, area.top);
      ctx.lineTo(x, area.bottom);
      ctx.stroke();
      return x;
    };
    let lowest = -Infinity;
    for (const reference of references) {
      const y = scales.y.getPixelForValue(reference.value);
      if (!(y >= area.top && y <= area.bottom)) continue;
      ctx.strokeStyle = palette.strong;
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(area.left, y);
      ctx.lineTo(area.right, y);
      ctx.stroke();
      const at = Math.max(y - 9, area.top + 8);
      if (small || at < lowest + 16) continue;
      lowest = at;
      plate(ctx, reference.label, area.right - 4, at, palette.soft, area.left, area.right - 2, 'right');
    }
    if (typeof data.event_us === 'number') {
      const x = vertical(data.event_us, palette.text, [2, 3]);
      if (x !== null && !small) plate(ctx, data.event_label || 'event', x + 6, area.top + 9, palette.text, area.left, area.right, 'left');
    }
    if (view.cursor !== null) vertical(view.cursor, palette.strong, []);
    ctx.restore();
  },
});

function timeText(time) {
  const step = (view.to - view.from) / 1000;
  return fixed(time, step >= 1 ? 0 : step >= 0.1 ? 1 : 2) + ' \u00b5s';
}

const kindText = {queue: bytesText, rate: (v) => plain(v) + ' Gbit/s'};

// A chart of time in `box` over the series pick() gives; {refresh, draw, read, drop}. With `each` they
// are flows of one algorithm, else one of each algorithm.
function timeChart(box, height, kind, label, pick, scaleOf, each = false) {
  // From the top down: a label that would lie on the one above is left out.
  const references = (data.references || []).filter((r) => r.chart === kind).sort((a, b) => b.value - a.value);
  const options = baseOptions();
  options.events = [];
  options.scales = {
    x: axis(height > 200 ? 'time, \u00b5s' : '', {callback: (v) => v.toLocaleString('en-US'), includeBounds: false}),
    y: axis('', {callback: kind === 'rate' ? axisText
      : (v) => (view.log && v === LOG_FLOOR_BYTES ? '\u2264 ' : '') + axisBytes(v)}),
  };
  options.scales.y.title = {display: kind === 'rate' && height > 200, text: 'Gbit/s', color: palette.soft};
  // The same width of the labels in all charts keeps their time axes in line.
  options.scales.y.afterFit = (scale) => {
    scale.width = view.sides ? 62 : 76;
  };
  const reading = el('div', {class: 'reading', hidden: true});
  const chart = makeChart(box, height, label, {type: 'line', data: {datasets: []}, options, plugins: [timeMarks(references)]});
  box.append(reading);

  function refresh() {
    const shown = pick();
    const log = view.log && kind === 'queue';
    const pixels = chart.chartArea ? chart.chartArea.right - chart.chartArea.left : box.clientWidth;
    const alone = new Set(shown.map((s) => s.name)).size === 1;
    chart.data.datasets = shown.map((s) => {
      const own = styleOf(s.name);
      const style = each ? flowStyle(s)
        : {colour: own.colour, dash: alone ? [] : own.dash, width: own.strong ? 2.5 : 1.5, order: own.strong ? 0 : 1};
      return {
        label: each ? s.label : s.name, data: pointsInView(s, pixels, log ? LOG_FLOOR_BYTES : -Infinity), pointRadius: 0,
        borderColor: style.colour, borderWidth: style.width, borderDash: style.dash, borderJoinStyle: 'round', order: style.order,
      };
    });
    const y = chart.options.scales.y;
    const greatest = scaleOf(shown);
    y.type = log ? 'logarithmic' : 'linear';
    y.afterBuildTicks = log ? logTicks : undefined;
    y.min = log ? LOG_FLOOR_BYTES : 0;
    const reached = references.map((r) => r.value).filter((v) => v > greatest && v <= greatest * 1.3);
    // Room for the event's name above the curves.
    y.suggestedMax = Math.max(greatest * (log ? 3 : 1.04), ...reached, log ? 1000 : 1e-3);
    chart.options.scales.x.min = view.from;
    chart.options.scales.x.max = view.to;
    chart.update('none');
    read();
  }

  // The values at the reading line.
  function read() {
    const here = view.cursor !== null && view.cursor >= view.from && view.cursor <= view.to && !view.drag;
    reading.hidden = !here;
    if (!here || !chart.chartArea) return;
    const rows = pick().map((s) => [s, valueAt(s, view.cursor)]).filter(([, v]) => v !== null);
    rows.sort((a, b) => b[1] - a[1]);
    const many = rows.length > 12 ? rows.length - 12 : 0;
    reading.replaceChildren(el('div', {}, timeText(view.cursor)), el('table', {}, rows.slice(0, 12).map(([s, v]) =>
      el('tr', {}, el('td', {}, each ? flowSwatch(s.label) : swatch(s.name)), el('td', {}, each ? s.label : s.name),
        el('td', {}, kindText[kind](v))))), many ? el('div', {}, many + ' more') : '');
    const x = chart.scales.x.getPixelForValue(view.cursor);
    const width = reading.offsetWidth;
    const left = x + 14 + width <= box.clientWidth ? x + 14 : Math.max(0, x - 14 - width);
    reading.style.left = left + 'px';
  }

  const timeOf = (event) => {
    const time = chart.scales.x.getValueForPixel(event.clientX - box.getBoundingClientRect().left);
    return Math.min(Math.max(time, view.from), view.to);
  };
  box.classList.add('time');
  box.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    view.drag = [timeOf(event), timeOf(event)];
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener('pointermove', (event) => {
    view.cursor = timeOf(event);
    if (view.drag) view.drag[1] = view.cursor;
    redrawTime();
  });
  box.addEventListener('pointerup', () => {
    const drag = view.drag;
    view.drag = null;
    if (!drag) return;
    const [from, to] = drag[0] < drag[1] ? drag : [drag[1], drag[0]];
    // A drag over fewer than six pixels is a click: the reading line is what was wanted.
    if ((to - from) / (view.to - view.from) * box.clientWidth >= 6) {
      view.cursor = null;
      setView(from, to);
    } else {
      redrawTime();
    }
  });
  box.addEventListener('pointercancel', () => {
    view.drag = null;
    redrawTime();
  });
  box.addEventListener('pointerleave', () => {
    if (view.drag) return;
    view.cursor = null;
    redrawTime();
  });
  box.addEventListener('dblclick', () => setView(span[0], span[1]));
  box.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const width = view.to - view.from;
    const middle = view.cursor === null ? (view.from + view.to) / 2 : view.cursor;
    const zoom = (factor) => setView(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
    if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
      const step = width / (event.shiftKey ? 20 : 200) * (event.key === 'ArrowLeft' ? -1 : 1);
      view.cursor = Math.min(Math.max(middle + step, view.from), view.to);
      redrawTime();
      spoken.textContent = timeText(view.cursor) + ': ' + pick().filter((s) => valueAt(s, view.cursor) !== null).slice(0, 12)
        .map((s) => (each ? s.label : s.name) + ' ' + kindText[kind](valueAt(s, view.cursor))).join(', ');
    } else if (event.key === '+' || event.key === '=') {
      zoom(0.5);
    } else if (event.key === '-') {
      zoom(2);
    } else if (event.key === '0' || event.key === 'Escape') {
      view.cursor = null;
      setView(span[0], span[1]);
    } else {
      return;
    }
    event.preventDefault();
  });
  const self = {refresh, read, draw: () => chart.draw(), drop: () => dropChart(chart)};
  timeCharts.push(self);
  return self;
}

const spoken = el('div', {class: 'spoken', role: 'status', 'aria-live': 'polite'});
let redrawAsked = false;

function redrawTime() {
  if (redrawAsked) return;
  redrawAsked = true;
  requestAnimationFrame(() => {
    redrawAsked = false;
    for (const chart of timeCharts) {
      chart.draw();
      chart.read();
    }
  });
}

function refreshTime() {
  for (const chart of timeCharts) chart.refresh();
  for (const button of document.querySelectorAll('[data-view]')) {
    const [from, to] = button.dataset.view.split(' ').map(Number);
    button.setAttribute('aria-pressed', from === view.from && to === view.to);
  }
}

// Greatest value in view.
function greatestOf(list) {
  let greatest = 0;
  for (const s of list) {
    for (let i = Math.max(0, indexAt(s.t, view.from)); i < s.t.length && s.t[i] <= view.to; ++i) {
      if (s.t[i] >= view.from && s.v[i] > greatest) greatest = s.v[i];
    }
    for (const time of [view.from, view.to]) greatest = Math.max(greatest, valueAt(s, time) || 0);
  }
  return greatest;
}

function timeBox(label) {
  return el('div', {
    class: 'chart', tabindex: 0, role: 'group',
    'aria-label': label + '. Left and right arrow keys move the reading line, plus and minus zoom, 0 shows all.',
  });
}

const inChart = (kind) => series.filter((s) => s.kind === kind && visible.has(s.name));
// Those of the overlaid charts.
const overlaidIn = (kind) => inChart(kind).filter((s) => kind === 'queue' || (view.flow === 'main' ? s.main : s.label === view.flow));

function describe(kind, title) {
  const parts = overlaidIn(kind).map((s) => s.name + ' at most ' + kindText[kind](greatestOf([s])));
  return title + (parts.length ? ': ' + parts.join(', ') : '');
}

// Charts far below the fold wait until they come near: ten algorithms side by side are twenty charts.
const waiting = new Map();
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    watcher.unobserve(entry.target);
    const make = waiting.get(entry.target);
    waiting.delete(entry.target);
    if (make) make();
  }
}, {rootMargin: '400px'});

function buildCurves() {
  for (const chart of timeCharts.splice(0)) chart.drop();
  watcher.disconnect();
  waiting.clear();
  const overlaid = byId('overlaid');
  const sides = byId('sides');
  overlaid.replaceChildren();
  sides.replaceChildren();
  overlaid.hidden = view.sides;
  sides.hidden = !view.sides;

  // A chart that is made when it comes near.
  const later = (box, height, kind, label, pick, scaleOf) => {
    box.style.height = height + 'px';
    waiting.set(box, () => timeChart(box, height, kind, label, pick, scaleOf, kind === 'rate').refresh());
    watcher.observe(box);
  };
  const shown = names.filter((n) => visible.has(n) && series.some((s) => s.name === n));

  if (!view.sides) {
    const rateTitle = view.flow !== 'main' ? 'Rate, ' + view.flow : mainLabels.length === 1 ? 'Rate, ' + mainLabels[0] : 'Rate of the main flow';
    for (const [kind, title, height] of [['queue', 'Queue at the bottleneck', 320], ['rate', rateTitle, 280]]) {
      if (!series.some((s) => s.kind === kind) || (kind === 'rate' && view.flow === 'each')) continue;
      const box = timeBox(title + ' over time');
      overlaid.append(el('figure', {}, el('figcaption', {}, title), box));
      timeChart(box, height, kind, describe(kind, title + ' over time'), () => overlaidIn(kind), greatestOf).refresh();
    }
    if (view.flow !== 'each' || flowLabels.length === 0) return;
    overlaid.append(el('p', {class: 'caption'}, 'Rates of the flows ', el('span', {}, 'Gbit/s; a chart for each algorithm, one scale')), flowLegend() || '');
    for (const name of shown) {
      const own = () => series.filter((s) => s.kind === 'rate' && s.name === name);
      if (own().length === 0) continue;
      const box = timeBox(name + ': rates of the flows over time');
      overlaid.append(el('figure', {class: 'of-algorithm'}, el('figcaption', {}, swatch(name), name), box));
      later(box, 190, 'rate', name + ': rates of the flows over time', own, () => greatestOf(inChart('rate')));
    }
    return;
  }
  const legend = flowLegend();
  if (legend) sides.append(legend);
  for (const name of shown) {
    const grid = el('div', {class: 'sides'});
    const note = (data.algorithm_notes || {})[name];
    sides.append(el('div', {class: 'side'}, el('h3', {}, swatch(name), name, note ? el('span', {}, note) : ''), grid));
    for (const [kind, title] of [['queue', 'Queue'], ['rate', 'Rate of each flow, Gbit/s']]) {
      const own = () => series.filter((s) => s.kind === kind && s.name === name);
      if (own().length === 0) continue;
      const box = timeBox(name + ': ' + title + ' over time');
      grid.append(el('figure', {}, el('figcaption', {}, el('span', {}, title)), box));
      later(box, 180, kind, name + ': ' + title + ' over time', own, () => greatestOf(view.same ? inChart(kind) : own()));
    }
  }
}

function curveTools() {
  const tools = byId('curve-tools');
  const close = data.close_view_us || null;
  const viewButton = (text, from, to) => el('button', {
    type: 'button', 'data-view': from + ' ' + to, 'aria-pressed': 'false', onclick: () => setView(from, to),
  }, text);
  const zoom = el('div', {class: 'group', role: 'group', 'aria-label': 'Time shown'}, viewButton('Whole run', span[0], span[1]));
  if (close && close[1] > span[0] && close[0] < span[1]) {
    zoom.append(viewButton(typeof data.event_us === 'number' ? 'Around the event' : 'Close-up',
      Math.max(close[0], span[0]), Math.min(close[1], span[1])));
  }
  zoom.append(el('button', {type: 'button', onclick: () => {
    const half = (view.to - view.from) / 2;
    setView(view.from - half, view.to + half);
  }}, 'Zoom out'));

  const same = labelled('same scale', el('input', {type: 'checkbox', checked: true, onchange: (event) => {
    view.same = event.target.checked;
    refreshTime();
  }}));
  same.hidden = true;
  const choices = [...(mainLabels.length ? [['main', mainLabels.length === 1 ? mainLabels[0] : 'the main flow']] : []), ['each', 'all flows'],
    ...(flowLabels.length > FLOWS_TOLD ? [] : flowLabels.filter((l) => !mainLabels.includes(l)).map((l) => [l, l]))];
  const flow = labelled('rate of', select(choices, view.flow, (key) => {
    view.flow = key;
    buildCurves();
  }));
  const layout = el('div', {class: 'group', role: 'group', 'aria-label': 'Arrangement'});
  for (const [text, sides] of [['Overlaid', false], ['Side by side', true]]) {
    layout.append(el('button', {type: 'button', 'aria-pressed': String(sides === view.sides), onclick: (event) => {
      view.sides = sides;
      for (const button of layout.children) button.setAttribute('aria-pressed', button === event.currentTarget);
      same.hidden = !sides;
      flow.hidden = sides;
      buildCurves();
    }}, text));
  }
  tools.append(layout, zoom);
  if (series.some((s) => s.kind === 'queue')) {
    tools.append(labelled('logarithmic queue', el('input', {type: 'checkbox', checked: view.log, onchange: (event) => {
      view.log = event.target.checked;
      refreshTime();
    }})));
  }
  if (flowLabels.length > 1) tools.append(flow);
  tools.append(same);
}

/* ---- one metric of all algorithms, with intervals ---- */

// The interval of a figure as a point's low and high, the trials' range as its min and max.
function spread(figure, divisor) {
  return {
    low: bound(figure, -1) / divisor, high: bound(figure, 1) / divisor,
    min: (figure.min ?? figure.mean) / divisor, max: (figure.max ?? figure.mean) / divisor,
  };
}

// Whiskers of the 95 % interval of points {x, y, low, high, min, max}, and a thin line over the
// trials' range; `along` is the axis of the values.
const whiskers = (along, labels) => ({
  id: 'whiskers',
  beforeDatasetsDraw(chart) {
    const {ctx, scales, chartArea: area} = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top - 4, area.right - area.left, area.bottom - area.top + 8);
    ctx.clip();
    chart.data.datasets.forEach((set) => {
      ctx.strokeStyle = set.borderColor;
      for (const point of set.data) {
        const pixel = (v) => scales[along].getPixelForValue(scales[along].type === 'logarithmic' ? Math.max(v, scales[along].min) : v);
        const [a, b] = [point.low, point.high].map(pixel);
        const at = scales[along === 'x' ? 'y' : 'x'].getPixelForValue(along === 'x' ? point.y : point.x);
        const line = (u1, w1, u2, w2) => {
          ctx.moveTo(...(along === 'x' ? [u1, w1] : [w1, u1]));
          ctx.lineTo(...(along === 'x' ? [u2, w2] : [w2, u2]));
        };
        ctx.beginPath();
        ctx.lineWidth = 1;
        if (point.max > point.min) line(pixel(point.min), at, pixel(point.max), at);
        ctx.stroke();
        if (!(point.high > point.low)) continue;
        ctx.beginPath();
        ctx.lineWidth = 2;
        line(a, at, b, at);
        line(a, at - 6, a, at + 6);
        line(b, at - 6, b, at + 6);
        ctx.stroke();
      }
    });
    ctx.restore();
  },
  afterDatasetsDraw(chart) {
    if (!labels) return;
    const {ctx, scales, chartArea: area} = chart;
    ctx.save();
    ctx.font = '13px ' + Chart.defaults.font.family;
    for (const set of chart.data.datasets) {
      for (const point of set.data) {
        // The figure, with the trials' range where there is room for it, right or else left of the point.
        const right = scales.x.getPixelForValue(Math.max(point.high, point.max)) + 12;
        const y = scales.y.getPixelForValue(point.y);
        const left = scales.x.getPixelForValue(Math.max(Math.min(point.low, point.min), scales.x.min)) - 12;
        const room = (text, onRight) => {
          const {width} = ctx.measureText(text);
          return onRight ? right + width <= chart.width - 4 : left - width >= area.left + 2;
        };
        const long = point.range ? point.text + ' (' + point.range + ')' : point.text;
        const [text, onRight] = [[long, true], [long, false], [point.text, true]].find((c) => room(...c)) || [point.text, false];
        plate(ctx, text, onRight ? right : left, y, palette.text, area.left + 2, chart.width - 2, onRight ? 'left' : 'right');
      }
    }
    ctx.restore();
  },
});

function pointStyle(name) {
  const style = styleOf(name);
  return {
    borderColor: style.colour, backgroundColor: style.hollow ? palette.ground : style.colour, pointStyle: style.shape,
    pointBorderWidth: 2, pointRadius: 6, pointHoverRadius: 6,
  };
}

// A logarithmic axis where the figures span more than a factor of 30.
function wantsLog(values) {
  return values.length > 1 && Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 30;
}

// Ends of an axis of values over points {low, high}: room for all intervals, from 0 where nothing is
// below; `log` a little outside the figures, intervals that reach 0 cut.
function axisEnds(points, value, log) {
  const high = Math.max(...points.map((p) => Math.max(p.high, p.max)));
  if (log) {
    return {afterBuildTicks: logTicks, min: Math.min(...points.map((p) => Math.min(p.low > 0 ? p.low : p[value], p.min > 0 ? p.min : p[value]))) / 1.3, max: high * 1.3};
  }
  const low = Math.min(...points.map((p) => Math.min(p.low, p.min)));
  const margin = 0.06 * (high - Math.min(0, low));
  return {...(low >= 0 ? {min: 0} : {suggestedMin: low - margin}), suggestedMax: high + margin};
}

const chosen = {metric: data.main_metric, sweepMetric: null, x: null, fixed: {}};
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

function comparable() {
  return data.metrics.filter((m) => names.some((n) => data.algorithms[n][m.key]));
}

function fillDots() {
  const metrics = comparable();
  if (metrics.length === 0) return;
  if (!metrics.some((m) => m.key === chosen.metric)) chosen.metric = metrics[0].key;
  show('compared');
  byId('dots-tools').append(labelled('Metric', select(metrics.map((m) => [m.key, metricLabel(m.key)]), chosen.metric, (key) => {
    chosen.metric = key;
    buildDots();
  })));
  buildDots();
}

/* ---- tables ---- */

// `trials`: how many most cells have; another number is said in the cell.
function figureCell(figure, unit, rank, name, trials, metric) {
  if (!figure) return el('td', {}, el('span', {class: 'absent', title: 'not measured, or does not apply'}, '\u2013'));
  const [mean, ci95] = meanAndInterval(figure, unit.divisor);
  const range = rangeText(figure, unit.divisor);
  const mark = !rank ? '' : rank.best.has(name) ? 'best' : rank.level.has(name) ? '\u2248 best' : '';
  return el('td', {class: mark && 'best'}, mark && el('span', {class: 'mark'}, mark), mark && ' ',
    el('span', {class: 'mean'}, atLeast(figure) + mean), ci95 && el('span', {class: 'ci'}, ' \u00b1 ' + ci95), figure.n !== trials && el('span', {class: 'trials'}, ' n = ' + figure.n),
    range && el('span', {class: 'range'}, ' ' + range), figure.missed > 0 && !ofFlows(metric) && el('span', {class: 'missed'}, ' ' + missedText(figure)));
}

function nameHeader(name) {
  return el('th', {scope: 'col', title: (data.algorithm_notes || {})[name]}, el('span', {class: 'name'}, swatch(name), name));
}

// Which flows a metric is of: "small" of "small.fct_p99_us", '' for all.
const classOf = (key) => key.slice(0, Math.max(0, key.indexOf('.')));

// The number of trials that most figures have, and whether all have it.
function trialCount(list) {
  const counts = new Map();
  for (const algorithms of list) {
    for (const metrics of Object.values(algorithms)) for (const f of Object.values(metrics)) counts.set(f.n, (counts.get(f.n) || 0) + 1);
  }
  const [most] = [...counts].sort((a, b) => b[1] - a[1] || b[0] - a[0])[0] || [0];
  return {most, all: counts.size < 2};
}

function fillFigures() {
  const metrics = comparable();
  if (metrics.length === 0) return;
  show('figures');
  const trials = trialCount([data.algorithms]);
  let marked = false;
  let level = false;
  const rows = metrics.map((m) => {
    const unit = unitOf(figuresOf(m.key, data.algorithms));
    const rank = ranking(m.key, data.algorithms);
    marked = marked || !!rank;
    level = level || (rank && rank.level.size > 0);
    return el('tr', {'data-metric': m.key}, el('th', {scope: 'row', title: m.key}, metricLabel(m.key), unit.text ? el('span', {class: 'unit'}, ', ' + unit.text) : ''),
      names.map((n) => figureCell(data.algorithms[n][m.key], unit, rank, n, trials.most, m.key)));
  });
  if (metrics.some((m) => figuresOf(m.key, data.algorithms).some((f) => rangeText(f, 1)))) {
    byId('figures-tools').append(labelled('range of the trials', el('input', {type: 'checkbox', onchange: (event) => {
      byId('figures-table').classList.toggle('ranges', event.target.checked);
    }})));
  }
  const classes = [...new Set(metrics.map((m) => classOf(m.key)))];
  const body = el('tbody', {}, rows);
  const ofClass = (name) => rows.forEach((row, i) => {
    row.hidden = classOf(metrics[i].key) !== name;
  });
  if (classes.length > 1) {
    byId('figures-tools').append(labelled('flows', select(classes.map((c) => [c, c || 'all']), classes[0], ofClass)));
    ofClass(classes[0]);
  }
  byId('figures-table').append(el('table', {class: 'data pinned'}, el('caption', {}, 'Metrics of every algorithm: mean and half-width of the 95 % confidence interval'),
    el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, 'Metric'), names.map(nameHeader))), body));
  const text = ['Mean \u00b1 half-width of the 95 % confidence interval' + ', n = ' + trials.most + (trials.all ? '.' : ' where the cell does not say another.')];
  if (marked) text.push('\u201cbest\u201d marks the best mean of a row.');
  if (level) text.push('\u201c\u2248 best\u201d: the interval reaches the best one\u2019s.');
  const bounds = metrics.filter((m) => figuresOf(m.key, data.algorithms).some((f) => f.missed));
  if (bounds.some((m) => ofFlows(m.key))) {
    text.push('\u201c\u2265\u201d of completion times and slowdowns: some flows were not complete at the end; they count with the time until then, so the figure is a lower bound. \u201cFlows not complete\u201d is their number.');
  }
  if (bounds.some((m) => !ofFlows(m.key))) {
    text.push('\u201cmissed\u201d: trials in which it did not happen while measured; they count with the time waited, so the mean is a lower bound.');
  }
  text.push('A dash: not measured, or does not apply. 1 KB = 1000 bytes.');
  byId('figures-legend').textContent = text.join(' ');
}

function fillExpectations() {
  const list = data.expectations || [];
  if (list.length === 0) return;
  show('expectations');
  byId('expectations-table').append(el('table', {class: 'data wrapped'}, el('caption', {}, 'What was expected, what was measured'),
    el('thead', {}, el('tr', {}, ['Verdict', 'Metric', 'Expected', 'Measured'].map((t) => el('th', {scope: 'col'}, t)))),
    el('tbody', {}, list.map((e) => el('tr', {},
      el('td', {}, el('span', {class: 'verdict ' + (e.met ? 'met' : 'missed')}, e.met ? 'met' : 'not met')),
      el('th', {scope: 'row'}, e.algorithm + ': ' + metricLabel(e.metric).toLowerCase()), el('td', {}, e.text.replace(/\+-/g, '\u00b1').replace(/<=/g, '\u2264').replace(/>=/g, '\u2265')),
      el('td', {}, measuredText(e)))))));
}

// What the run judged, in the unit the expectation speaks in; with the interval when it is the mean.
function measuredText(e) {
  if (typeof e.value !== 'number') return 'not measured';
  const figure = (data.algorithms[e.algorithm] || {})[e.metric];
  const unit = {text: figure ? unitText(figure.unit) : '', divisor: 1};
  if (figure && figure.mean === e.value) return figureText(figure, unit);
  return plain(e.value) + (unit.text && ' ' + unit.text);
}

/* ---- cases of a sweep ---- */

const cases = data.cases || [];
const parameterText = (v) => (Array.isArray(v) ? v.map(parameterText).join(', ') : typeof v === 'number' ? String(v) : v === undefined ? '\u2013' : String(v));
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

function fillSweep() {
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

/* ---- an evaluation: estimates against trials, distribution of the trials, forecasts ---- */

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

// Points {x, y} of two columns; null is a gap.
const columnPoints = (xs, ys, map) => xs.map((x, i) => ({x, y: ys[i] === null ? NaN : map ? map(ys[i]) : ys[i]}));

function nearestTooltip(title, label) {
  return {
    enabled: true, animation: false, usePointStyle: true, backgroundColor: palette.ground, titleColor: palette.text, bodyColor: palette.text,
    borderColor: palette.strong, borderWidth: 1, filter: (item) => !item.dataset.silent,
    callbacks: {title: (items) => (items.length ? title(items[0]) : ''), label: (item) => ' ' + item.dataset.label + ': ' + label(item)},
  };
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

function lineStyle(name) {
  const style = styleOf(name);
  return {
    borderColor: style.colour, backgroundColor: style.colour, borderDash: style.dash, borderWidth: style.strong ? 2.5 : 1.75,
    pointRadius: 0, pointHoverRadius: 4, pointStyle: style.shape, order: style.strong ? 0 : 1,
  };
}

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
    x: {...axis(unit.text, {callback: axisText}), type: log ? 'logarithmic' : 'linear', ...(log ? {afterBuildTicks: logTicks} : {})},
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

function fillEvaluation() {
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

/* ---- flows of a workload: completion times, and slowdown by size ---- */

const flowsOf = data.flows || {};
const flowCharts = [];
const SLOWDOWNS = [['p99', '99th percentile'], ['p50', 'median'], ['mean', 'mean']];
chosen.slowdown = (SLOWDOWNS.find(([key]) => Object.values(flowsOf).some((f) => f.slowdown[key].filter((v) => v !== null).length > 1)) || SLOWDOWNS[0])[0];

function flowFigure(title, detail, label, config) {
  const box = el('div', {class: 'chart'});
  byId('flows-charts').append(el('figure', {}, el('figcaption', {}, title + ' ', el('span', {}, detail)), box));
  flowCharts.push(makeChart(box, 320, label, config));
}

function buildFlows() {
  for (const chart of flowCharts.splice(0)) dropChart(chart);
  byId('flows-charts').replaceChildren();
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
    flowFigure('Completion times', 'cumulative, all trials of the main case; logarithmic', 'Cumulative distribution of flow completion times: '
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
  flowFigure('Slowdown by flow size', [text + ' of the flows of about a size', 'lower is better', log ? 'logarithmic' : ''].filter((t) => t).join('; '),
    'Slowdown by flow size, ' + text + ': ' + having.map((n) => n + ' at most ' + plain(Math.max(...points.get(n).map((p) => p.y)))).join('; '),
    {type: 'line', data: {datasets: sets}, options});
}

function fillFlows() {
  const having = names.filter((n) => flowsOf[n]);
  if (having.length === 0) return;
  show('flows');
  const incomplete = having.filter((n) => flowsOf[n].incomplete > 0);
  byId('flows-text').textContent = 'Measured flows of all trials of the main case. Slowdown: completion time over that of the flow alone.'
    + (incomplete.length ? ' Not complete at the end, so that their curve ends below 1: ' + incomplete.map((n) => n + ' ' + axisText(flowsOf[n].incomplete) + ' of ' + axisText(flowsOf[n].complete + flowsOf[n].incomplete)).join(', ') + '.' : '');
  byId('flows-tools').append(labelled('slowdown', select(SLOWDOWNS, chosen.slowdown, (key) => {
    chosen.slowdown = key;
    buildFlows();
  })));
  buildFlows();
  listeners.push(buildFlows);
  rebuilders.push(buildFlows);
}

/* ---- headline ---- */

// How far `figure` lies from `other`, in words that read on with "lower than" or "higher than": a
// factor, or per cent of `other` where the factor is near 1.
function distanceText(figure, other, unit) {
  const [low, high] = [Math.min(figure.mean, other.mean), Math.max(figure.mean, other.mean)];
  if (!(low > 0)) return plain((high - low) / unit.divisor) + (unit.text && ' ' + unit.text);
  const ratio = high / low;
  if (ratio >= 100) return Math.round(ratio).toLocaleString('en-US') + '\u00d7';
  if (ratio >= 1.1) return ratio.toFixed(ratio >= 10 ? 1 : 2) + '\u00d7';
  const percent = 100 * (high - low) / other.mean;
  return (percent < 0.01 ? '<0.01' : String(Number(percent.toPrecision(2)))) + ' %';
}

function fillHeadline() {
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
    const unsure = ahead && better === 'lower' && figure.missed > 0;
    const overlap = bound(figure, 1) >= bound(other, -1) && bound(other, 1) >= bound(figure, -1);
    const worded = (better === 'lower') === ahead ? 'lower' : 'higher';
    const which = ahead ? 'the next best of ' + (others.length + 1) : 'the best of ' + (others.length + 1);
    if (lone.length || unsure || overlap) {
      const why = lone.length ? 'one trial of ' + lone.join(' and of ') + ': no interval'
        : unsure ? subject + ' has a lower bound only' : 'the intervals overlap';
      tiles.append(el('div', {class: 'tile'}, el('p', {class: 'what'}, 'Not told apart from'), el('p', {class: 'figure'}, rival),
        el('p', {class: 'what'}, rival + (lone.length ? '' : ', ' + which) + ': ' + text + '; ' + why)));
    } else {
      tiles.append(el('div', {class: 'tile'}, el('p', {class: 'what'}, ahead ? 'Ahead of' : 'Behind'),
        el('p', {class: 'figure'}, atLeast(other) + distanceText(figure, other, unit) + ' ', el('small', {}, worded + ' than ' + rival)),
        el('p', {class: 'what'}, rival + ', ' + which + ': ' + text)));
    }
  }
  const list = data.expectations || [];
  if (list.length) {
    const met = list.filter((e) => e.met).length;
    const missed = list.length - met;
    tiles.append(el('div', {class: 'tile'}, el('p', {class: 'what'}, 'Expectations'),
      el('p', {class: 'figure'}, met + ' ', el('small', {}, 'of ' + list.length + ' met')),
      el('p', {class: 'what'}, missed ? el('span', {class: 'verdict missed'}, missed + ' not met') : el('span', {class: 'verdict met'}, 'all met'),
        ' ', el('a', {href: '#expectations'}, 'the list'))));
  }
  for (const note of data.notes || []) byId('notes').append(el('li', {}, note));
  for (const [name, note] of Object.entries(data.algorithm_notes || {})) byId('notes').append(el('li', {}, name + ': ' + note));
  byId('notes').hidden = byId('notes').children.length === 0;
  byId('headline').hidden = tiles.children.length === 0 && byId('notes').hidden;
}

/* ---- the rest ---- */

function fillHeader() {
  byId('kicker').textContent = 'delaycc report \u00b7 ' + data.scenario;
  if (data.claim) {
    byId('claim').textContent = data.claim;
    byId('claim').hidden = false;
  }
  const rows = [['Scenario', data.scenario], ['Kernel', data.kernel], ['Build', data.build], ['Seed', data.seed]];
  for (const [key, value] of rows) {
    if (value !== undefined && value !== '') byId('run').append(el('div', {}, el('dt', {}, key), el('dd', {}, String(value))));
  }
}

// Settings of our modules that were in force, and who set them: a row for all algorithms that have the same.
function settingRows() {
  const rows = new Map();
  for (const [algorithm, settings] of Object.entries(data.settings || {})) {
    for (const s of settings) {
      const value = s.source === 'automatic' ? 'automatic' : s.value + ', from the ' + s.source;
      const key = s.name + '\n' + value;
      if (!rows.has(key)) rows.set(key, {name: s.name, value, algorithms: []});
      rows.get(key).algorithms.push(algorithm);
    }
  }
  return [...rows.values()].map((r) => [r.name + ' (' + r.algorithms.join(', ') + ')', r.value]);
}

function fillParameters() {
  const parameters = data.parameters || {};
  const entries = Object.entries(parameters).map(([key, value]) => [key, parameterText(value)]);
  for (const [key, value] of Object.entries(data.set || {})) if (!(key in parameters)) entries.push(['--set ' + key, value]);
  entries.push(...settingRows());
  if (entries.length === 0) return;
  show('parameters');
  for (const [key, value] of entries) byId('parameters-list').append(el('div', {}, el('dt', {}, key), el('dd', {}, value)));
}

function fillRepeat() {
  if (!data.repeat) return;
  show('repeat');
  byId('command').textContent = data.repeat;
  byId('copy').addEventListener('click', async () => {
    let done = false;
    try {
      await navigator.clipboard.writeText(data.repeat);
      done = true;
    } catch {
      // No clipboard for this page (file:// in some browsers): leave the command selected instead.
      getSelection().selectAllChildren(byId('command'));
      done = document.execCommand('copy');
    }
    byId('copied').textContent = done ? 'Copied.' : 'Selected: copy it with the keyboard.';
  });
}

const rebuilders = [];

function start() {
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 13;
  readPalette();
  fillHeader();
  fillHeadline();
  fillChips();
  fillEvaluation();
  if (series.length) {
    show('curves');
    document.body.append(spoken);
    curveTools();
    if (data.focus_us) {
      view.from = Math.max(span[0], data.focus_us[0]);
      view.to = Math.min(span[1], data.focus_us[1]);
      if (!(view.from < view.to)) [view.from, view.to] = span;
    }
    buildCurves();
    refreshTime();
    listeners.push(() => (view.sides || view.flow === 'each' ? buildCurves() : refreshTime()));
    rebuilders.push(buildCurves);
  }
  fillFlows();
  fillDots();
  if (dotsChart) rebuilders.push(buildDots);
  fillFigures();
  fillSweep();
  fillExpectations();
  fillRepeat();
  fillParameters();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    readPalette();
    for (const rebuild of rebuilders) rebuild();
  });
  document.documentElement.dataset.ready = 'yes';
}

start();
})();
