// SPDX-License-Identifier: Apache-2.0
// What all charts share: options, axes, labels, intervals.
import {el} from './elements.js';
import {palette} from './styles.js';

export function baseOptions() {
  return {
    animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: true,
    layout: {padding: {top: 6, right: 8}},
    plugins: {legend: {display: false}, tooltip: {enabled: false}},
  };
}

export function axis(title, ticks) {
  return {
    type: 'linear', grid: {color: palette.line, borderColor: palette.strong, tickColor: palette.line},
    ticks: {color: palette.soft, maxRotation: 0, autoSkipPadding: 12, ...ticks},
    title: {display: !!title, text: title, color: palette.soft},
  };
}

// Ticks of a logarithmic axis: powers of ten, with their double and fivefold where these are few.
export function logTicks(scale) {
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

export function makeChart(box, height, label, config) {
  const canvas = el('canvas', {role: 'img', 'aria-label': label});
  box.style.height = height + 'px';
  box.replaceChildren(canvas);
  return new Chart(canvas, config);
}

export function dropChart(chart) {
  if (chart) chart.destroy();
}

// Text beside a point, on a plate of the ground's colour, kept inside [left, right].
export function plate(context, text, x, y, colour, left, right, align) {
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

// Whiskers of the 95 % interval of points {x, y, low, high, min, max}, and a thin line over the
// trials' range; `along` is the axis of the values.
export const whiskers = (along, labels) => ({
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

// Ends of an axis of values over points {low, high}: room for all intervals, from 0 where nothing is
// below; `log` a little outside the figures, intervals that reach 0 cut.
export function axisEnds(points, value, log) {
  const high = Math.max(...points.map((p) => Math.max(p.high, p.max)));
  if (log) {
    return {afterBuildTicks: logTicks, min: Math.min(...points.map((p) => Math.min(p.low > 0 ? p.low : p[value], p.min > 0 ? p.min : p[value]))) / 1.3, max: high * 1.3};
  }
  const low = Math.min(...points.map((p) => Math.min(p.low, p.min)));
  const margin = 0.06 * (high - Math.min(0, low));
  return {...(low >= 0 ? {min: 0} : {suggestedMin: low - margin}), suggestedMax: high + margin};
}

// Points {x, y} of two columns; null is a gap.
export const columnPoints = (xs, ys, map) => xs.map((x, i) => ({x, y: ys[i] === null ? NaN : map ? map(ys[i]) : ys[i]}));

export function nearestTooltip(title, label) {
  return {
    enabled: true, animation: false, usePointStyle: true, backgroundColor: palette.ground, titleColor: palette.text, bodyColor: palette.text,
    borderColor: palette.strong, borderWidth: 1, filter: (item) => !item.dataset.silent,
    callbacks: {title: (items) => (items.length ? title(items[0]) : ''), label: (item) => ' ' + item.dataset.label + ': ' + label(item)},
  };
}
