// SPDX-License-Identifier: Apache-2.0
// The section of curves over time: overlaid, or side by side.
import {byId, el, labelled, select, show} from './elements.js';
import {data, names} from './data.js';
import {swatch} from './styles.js';
import {listeners, rebuilders, visible} from './choices.js';
import {FLOWS_TOLD, flowLabels, flowLegend, mainLabels, series} from './series.js';
import {greatestOf, kindText, refreshTime, setView, span, spoken, timeBox, timeChart, timeCharts, view} from './time_chart.js';

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
      overlaid.append(el('figure', {}, el('figcaption', {}, title + ' ', el('span', {}, data.curves_of || '')), box));
      timeChart(box, height, kind, describe(kind, title + ' over time'), () => overlaidIn(kind), greatestOf).refresh();
    }
    if (view.flow !== 'each' || flowLabels.length === 0) return;
    overlaid.append(el('p', {class: 'caption'}, 'Rates of the flows ', el('span', {}, [data.curves_of, 'Gbit/s; a chart for each algorithm, one scale'].filter((t) => t).join('; '))), flowLegend() || '');
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
      grid.append(el('figure', {}, el('figcaption', {}, el('span', {}, [title, data.curves_of].filter((t) => t).join('; '))), box));
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

export function fillCurves() {
  if (series.length === 0) return;
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
