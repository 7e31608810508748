// SPDX-License-Identifier: Apache-2.0
// What the reader has chosen, and who is told.
import {el} from './elements.js';
import {data, names} from './data.js';
import {swatch} from './styles.js';

export const visible = new Set(names);
export const listeners = [];
export const rebuilders = [];
export const chosen = {metric: data.main_metric, sweepMetric: null, x: null, fixed: {}};

function changed() {
  for (const chip of document.querySelectorAll('.chip')) chip.setAttribute('aria-pressed', visible.has(chip.dataset.name));
  for (const listener of listeners) listener();
}

export function fillChips() {
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
