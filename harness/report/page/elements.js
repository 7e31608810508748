// SPDX-License-Identifier: Apache-2.0
// Elements of the page. All text goes in as text nodes, never as markup.

export const byId = (id) => document.getElementById(id);

export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false || value === '') continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((c) => c || c === 0));
  return node;
}

export function svg(tag, attributes) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

export function show(id) {
  byId(id).hidden = false;
}

export function labelled(text, control) {
  return el('label', {}, el('span', {}, text), control);
}

export function select(options, value, onchange) {
  const node = el('select', {onchange: () => onchange(node.value)},
    options.map(([key, text]) => el('option', {value: key, selected: key === value}, text)));
  return node;
}
