// SPDX-License-Identifier: Apache-2.0
// The style of an algorithm: colour, dash and point shape, all three its own.
import {svg} from './elements.js';
import {data, names} from './data.js';

export const DASHES = [[], [7, 3], [2, 2.5], [9, 3, 2, 3], [5, 2], [1.5, 1.5], [12, 4], [6, 2, 1.5, 2], [3, 3], [10, 2, 3, 2]];
const SHAPES = ['circle', 'rect', 'triangle', 'rectRot', 'circle', 'rect', 'triangle', 'rectRot', 'crossRot', 'star'];
export let palette = {};

export function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue('--' + name).trim();
  palette = {
    ground: get('ground'), line: get('line'), strong: get('line-strong'), text: get('text'), soft: get('text-soft'),
    accent: get('accent'), series: DASHES.map((_, i) => get('series-' + i)),
  };
}

export function styleOf(name) {
  const i = Math.max(0, names.indexOf(name)) % DASHES.length;
  return {
    colour: palette.series[i], dash: DASHES[i], shape: SHAPES[i], hollow: i >= 4 && i < 8,
    strong: name === data.subject,
  };
}

export function swatch(name) {
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

export function pointStyle(name) {
  const style = styleOf(name);
  return {
    borderColor: style.colour, backgroundColor: style.hollow ? palette.ground : style.colour, pointStyle: style.shape,
    pointBorderWidth: 2, pointRadius: 6, pointHoverRadius: 6,
  };
}

export function lineStyle(name) {
  const style = styleOf(name);
  return {
    borderColor: style.colour, backgroundColor: style.colour, borderDash: style.dash, borderWidth: style.strong ? 2.5 : 1.75,
    pointRadius: 0, pointHoverRadius: 4, pointStyle: style.shape, order: style.strong ? 0 : 1,
  };
}
