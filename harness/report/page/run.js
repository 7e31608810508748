// SPDX-License-Identifier: Apache-2.0
// The run: scenario, settings, and the command that repeats it.
import {byId, el, show} from './elements.js';
import {data, parameterText} from './data.js';

export function fillHeader() {
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

export function fillParameters() {
  const parameters = data.parameters || {};
  const entries = Object.entries(parameters).map(([key, value]) => [key, parameterText(value)]);
  for (const [key, value] of Object.entries(data.set || {})) if (!(key in parameters)) entries.push(['--set ' + key, value]);
  entries.push(...settingRows());
  if (entries.length === 0) return;
  show('parameters');
  for (const [key, value] of entries) byId('parameters-list').append(el('div', {}, el('dt', {}, key), el('dd', {}, value)));
}

export function fillRepeat() {
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
