// SPDX-License-Identifier: Apache-2.0
// Samples of a curve over time: {t, v}, of the same length; null is a gap. Pure: no page, no data.

// Index of the last sample at or before `time`, -1 when there is none.
export function indexAt(t, time) {
  let low = -1;
  let high = t.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (t[middle] <= time) low = middle;
    else high = middle;
  }
  return low;
}

export function valueAt(s, time) {
  const i = indexAt(s.t, time);
  if (i < 0 || (i === s.t.length - 1 && time > s.t[i])) return null;
  if (i === s.t.length - 1 || s.v[i] === null || s.v[i + 1] === null || s.t[i + 1] === s.t[i]) return s.v[i];
  return s.v[i] + (s.v[i + 1] - s.v[i]) * (time - s.t[i]) / (s.t[i + 1] - s.t[i]);
}

// When the last of the series comes to zero for good, or ends; -Infinity without traffic.
export function trafficEnd(list) {
  const ends = list.map(({t, v}) => {
    const last = v.findLastIndex((value) => value > 0);
    return last < 0 ? -Infinity : t[Math.min(last + 1, t.length - 1)];
  });
  return Math.max(...ends);
}

// The part of a series from `from` to `to`, for so many pixels: first, least, greatest and last value of
// each pixel's time, in their order, and the values at the edges. Without the last, a line to a far next
// point would slope.
export function pointsInView(s, from, to, pixels, floor) {
  const out = [];
  const put = (x, y) => out.push({x, y: y === null ? NaN : Math.max(y, floor)});
  const edge = (time) => {
    const y = valueAt(s, time);
    if (y !== null) put(time, y);
  };
  edge(from);
  const width = (to - from) / Math.max(pixels, 50);
  let i = indexAt(s.t, from) + 1;
  while (i < s.t.length && s.t[i] <= to) {
    const first = i;
    const end = s.t[i] + width;
    let low = -1;
    let high = -1;
    let gap = -1;
    for (; i < s.t.length && s.t[i] <= to && s.t[i] < end; ++i) {
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
  edge(to);
  return out;
}
