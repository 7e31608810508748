// SPDX-License-Identifier: Apache-2.0
// A chart of curves over time. All of them share one view: zoom, reading line, dragged range.
import {axisBytes, axisText, bytesText, fixed, plain, wantsLog} from './numbers.js';
import {indexAt, pointsInView, trafficEnd, valueAt} from './samples.js';
import {el} from './elements.js';
import {data} from './data.js';
import {palette, styleOf, swatch} from './styles.js';
import {axis, baseOptions, dropChart, logTicks, makeChart, plate} from './charts.js';
import {flowStyle, flowSwatch, mainLabels, series} from './series.js';

export const span = series.length === 0 ? [0, 1] : [
  Math.min(...series.map((s) => s.t[0])), Math.max(...series.map((s) => s.t[s.t.length - 1])),
];

if (!(span[0] < span[1])) span[1] = span[0] + 1;

// Behind the last moment with traffic there is nothing to see: at first only a twentieth of the time is shown of it.
const lastTraffic = trafficEnd(series);
const firstEnd = Math.min(span[1], lastTraffic + (lastTraffic - span[0]) / 20);

// `flow`: whose rates are laid over each other, 'main', a label, or 'each': every flow, in a chart for
// each algorithm.
export const view = {
  from: span[0], to: lastTraffic > span[0] ? firstEnd : span[1], cursor: null, drag: null, log: false, same: true, sides: false,
  flow: mainLabels.length ? 'main' : 'each',
};

// Queues that differ much are legible together on a logarithmic axis only.
view.log = wantsLog(series.filter((s) => s.kind === 'queue').map((s) => s.v.reduce((a, b) => a + (b || 0), 0) / s.v.length));

export const timeCharts = [];

export function setView(from, to) {
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

export const kindText = {queue: bytesText, rate: (v) => plain(v) + ' Gbit/s'};

// A chart of time in `box` over the series pick() gives; {refresh, draw, read, drop}. With `each` they
// are flows of one algorithm, else one of each algorithm.
export function timeChart(box, height, kind, label, pick, scaleOf, each = false) {
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
        label: each ? s.label : s.name, data: pointsInView(s, view.from, view.to, pixels, log ? LOG_FLOOR_BYTES : -Infinity), pointRadius: 0,
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

export const spoken = el('div', {class: 'spoken', role: 'status', 'aria-live': 'polite'});
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

export function refreshTime() {
  for (const chart of timeCharts) chart.refresh();
  for (const button of document.querySelectorAll('[data-view]')) {
    const [from, to] = button.dataset.view.split(' ').map(Number);
    button.setAttribute('aria-pressed', from === view.from && to === view.to);
  }
}

// Greatest value in view.
export function greatestOf(list) {
  let greatest = 0;
  for (const s of list) {
    for (let i = Math.max(0, indexAt(s.t, view.from)); i < s.t.length && s.t[i] <= view.to; ++i) {
      if (s.t[i] >= view.from && s.v[i] > greatest) greatest = s.v[i];
    }
    for (const time of [view.from, view.to]) greatest = Math.max(greatest, valueAt(s, time) || 0);
  }
  return greatest;
}

export function timeBox(label) {
  return el('div', {
    class: 'chart', tabindex: 0, role: 'group',
    'aria-label': label + '. Left and right arrow keys move the reading line, plus and minus zoom, 0 shows all.',
  });
}
