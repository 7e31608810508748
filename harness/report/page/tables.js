// SPDX-License-Identifier: Apache-2.0
// Tables: every metric of every algorithm, and what was expected.
import {atLeast, figureText, meanAndInterval, missedText, ofFlows, plain, rangeText, unitOf, unitText} from './numbers.js';
import {byId, el, labelled, select, show} from './elements.js';
import {classOf, comparable, data, figuresOf, metricLabel, names, ranking, trialCount} from './data.js';
import {swatch} from './styles.js';

// `trials`: how many most cells have; another number is said in the cell.
export function figureCell(figure, unit, rank, name, trials, metric) {
  if (!figure) return el('td', {}, el('span', {class: 'absent', title: 'not measured, or does not apply'}, '\u2013'));
  const [mean, ci95] = meanAndInterval(figure, unit.divisor);
  const range = rangeText(figure, unit.divisor);
  const mark = !rank ? '' : rank.best.has(name) ? 'best' : rank.level.has(name) ? '\u2248 best' : '';
  const difference = figure.difference && 'in the same trials ' + figureText(figure.difference, unit) + ' from ' + figure.difference.from;
  return el('td', {class: mark && 'best', title: difference}, mark && el('span', {class: 'mark'}, mark), mark && ' ',
    el('span', {class: 'mean'}, atLeast(figure) + mean), ci95 && el('span', {class: 'ci'}, ' \u00b1 ' + ci95), figure.n !== trials && el('span', {class: 'trials'}, ' n = ' + figure.n),
    range && el('span', {class: 'range'}, ' ' + range), figure.missed > 0 && !ofFlows(metric) && el('span', {class: 'missed'}, ' ' + missedText(figure)));
}

export function nameHeader(name) {
  return el('th', {scope: 'col', title: (data.algorithm_notes || {})[name]}, el('span', {class: 'name'}, swatch(name), name));
}

// Figures of all flows have no kind of their own where a workload has two.
const allFlows = (classes) => (classes.includes('background') ? 'all: background and incast' : 'all');

export function fillFigures() {
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
    byId('figures-tools').append(labelled('flows', select(classes.map((c) => [c, c || allFlows(classes)]), classes[0], ofClass)));
    ofClass(classes[0]);
  }
  byId('figures-table').append(el('table', {class: 'data pinned'}, el('caption', {}, 'Metrics of every algorithm: mean and half-width of the 95 % confidence interval'),
    el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, 'Metric'), names.map(nameHeader))), body));
  const text = ['Mean \u00b1 half-width of the 95 % confidence interval' + ', n = ' + trials.most + (trials.all ? '.' : ' where the cell does not say another.')];
  if (marked) text.push('\u201cbest\u201d marks the best mean of a row.');
  if (level) text.push('\u201c\u2248 best\u201d: the interval of the difference from the best one has 0 in it' +
    (metrics.some((m) => figuresOf(m.key, data.algorithms).some((f) => f.difference)) ? '; the difference is of trials that met the same flows.' : '.'));
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

export function fillExpectations() {
  const list = data.expectations || [];
  const untested = data.untested || [];
  if (list.length + untested.length === 0) return;
  show('expectations');
  byId('expectations-table').append(el('table', {class: 'data wrapped'}, el('caption', {}, 'What was expected, what was measured'),
    el('thead', {}, el('tr', {}, ['Verdict', 'Metric', 'Expected', 'Measured'].map((t) => el('th', {scope: 'col'}, t)))),
    el('tbody', {}, list.map((e) => el('tr', {},
      el('td', {}, el('span', {class: 'verdict ' + (e.met ? 'met' : 'missed')}, e.met ? 'met' : 'not met')),
      el('th', {scope: 'row'}, e.algorithm + ': ' + metricLabel(e.metric).toLowerCase()), el('td', {}, e.text.replace(/\+-/g, '\u00b1').replace(/<=/g, '\u2264').replace(/>=/g, '\u2265')),
      el('td', {}, measuredText(e)))),
    untested.map((text) => el('tr', {}, el('td', {}, 'not tested'), el('th', {scope: 'row'}, text), el('td', {}, 'needs the whole sweep (--sweep)'), el('td', {}, '\u2013'))))));
}

// What the run judged, in the unit the expectation speaks in; with the interval when it is the mean.
function measuredText(e) {
  if (typeof e.value !== 'number') return 'not measured';
  const figure = (data.algorithms[e.algorithm] || {})[e.metric];
  const unit = {text: e.unit !== undefined ? unitText(e.unit) : figure ? unitText(figure.unit) : '', divisor: 1};
  if (typeof e.ci95 === 'number') return figureText({mean: e.value, ci95: e.ci95}, unit);
  if (figure && figure.mean === e.value) return figureText(figure, unit);
  return plain(e.value) + (unit.text && ' ' + unit.text);
}
