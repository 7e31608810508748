// SPDX-License-Identifier: Apache-2.0
// Numbers as text. Pure: no page, no data.

export function unitText(unit) {
  return {us: '\u00b5s', gbps: 'Gbit/s', mbps: 'Mbit/s'}[unit] || unit || '';
}

// The unit as shown, and what a figure in the data's unit is divided by. Bytes are shown in
// thousands; 1 KB = 1000 bytes.
export function unitOf(figures) {
  const unit = figures.map((f) => f.unit).find((u) => u) || '';
  const greatest = Math.max(0, ...figures.map((f) => Math.abs(f.mean)));
  if (unit === 'bytes' && greatest >= 1000) return {text: 'KB', divisor: 1000};
  return {text: unitText(unit), divisor: 1};
}

function digitsBefore(value) {
  return value === 0 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1;
}

export function fixed(value, decimals) {
  if (Math.abs(value) >= 1e15) return value.toExponential(3);
  return value.toLocaleString('en-US', {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
}

// Four significant digits, whole numbers whole.
export function plain(value) {
  if (value === 0) return '0';
  if (Math.abs(value) < 1e-6) return value.toExponential(2);
  if (Number.isInteger(value)) return fixed(value, 0);
  return fixed(value, Math.min(9, Math.max(0, 4 - digitsBefore(value))));
}

// Trials in which what was waited for never came count with the time waited: a lower bound.
export const atLeast = (figure) => (figure.missed ? '\u2265 ' : '');

export const missedText = (figure) => figure.missed + ' of ' + figure.n + ' missed';

// Of completion times a mean is a lower bound as soon as one flow of a trial was not complete: most
// trials of most workloads. The row of incomplete flows tells how many; "missed" in every cell would
// tell nothing.
export const ofFlows = (key) => /(^|\.)(fct|slowdown|request)_/.test(key);

// Least and greatest of the trials, with the decimals of their mean; '' where not given or alike.
export function rangeText(figure, divisor) {
  if (!(figure.min < figure.max)) return '';
  const decimals = decimalsOf(figure, divisor);
  const [low, high] = [figure.min, figure.max].map((v) => (decimals === null ? plain(v / divisor) : fixed(v / divisor, decimals)));
  return low === high ? '' : low + ' to ' + high;
}

// A half-width is itself an estimate: of 10 trials and more to a quarter, which two significant digits
// are for, of fewer to a factor, which one is for. No mean has more than five.
const TRIALS_FOR_TWO_DIGITS = 10;
const MEAN_DIGITS = 5;

// Decimals that the interval supports; null where there is none.
function decimalsOf(figure, divisor) {
  const mean = figure.mean / divisor;
  const ci95 = figure.ci95 / divisor;
  if (typeof figure.ci95 !== 'number' || ci95 === 0) return null;
  const digits = figure.n >= TRIALS_FOR_TWO_DIGITS ? 2 : 1;
  const finest = mean === 0 ? MEAN_DIGITS : Math.max(0, MEAN_DIGITS - digitsBefore(mean));
  return Math.min(9, finest, Math.max(0, digits - digitsBefore(ci95)));
}

// [mean, half-width], both to the decimal that the interval supports. Half-width '' where there is none.
export function meanAndInterval(figure, divisor) {
  const mean = figure.mean / divisor;
  if (typeof figure.ci95 !== 'number') return [plain(mean), ''];
  const ci95 = figure.ci95 / divisor;
  if (ci95 === 0) return [plain(mean), '0'];
  const decimals = decimalsOf(figure, divisor);
  const rounded = fixed(ci95, decimals);
  return [fixed(mean, decimals), Number(rounded) === 0 ? '<' + fixed(10 ** -decimals, decimals) : rounded];
}

export function figureText(figure, unit) {
  const [mean, ci95] = meanAndInterval(figure, unit.divisor);
  return atLeast(figure) + mean + (ci95 && ' \u00b1 ' + ci95) + (unit.text && ' ' + unit.text);
}

// A number on an axis.
export function axisText(value) {
  return String(+value.toPrecision(6)).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
}

// Bytes on an axis: "1.5 MB", where plain() would say "1.500 MB".
export function axisBytes(value) {
  const [size, unit] = Math.abs(value) >= 1e6 ? [1e6, ' MB'] : Math.abs(value) >= 1e3 ? [1e3, ' KB'] : [1, ' B'];
  return axisText(value / size) + unit;
}

export function bytesText(value) {
  if (Math.abs(value) >= 1e6) return plain(value / 1e6) + ' MB';
  if (Math.abs(value) >= 1e3) return plain(value / 1e3) + ' KB';
  return plain(value) + ' B';
}

export const bound = (figure, sign) => figure.mean + sign * (figure.ci95 || 0);

// One trial has no interval, and without one nothing is said of who is ahead.
export const hasInterval = (figure) => figure.n > 1 && typeof figure.ci95 === 'number';

// `a` less `b`, pairs of a name and a figure, over trials that met the same flows: {mean, ci95, n};
// null where the data has no such difference.
export function pairedDifference([aName, a], [bName, b]) {
  if (a.difference && a.difference.from === bName) return a.difference;
  if (b.difference && b.difference.from === aName) return {...b.difference, mean: -b.difference.mean};
  return null;
}

// Whether `a` is shown to be worse than `b` (sign: 1 where lower is better, else -1): by the interval of
// their paired difference, without one by their own intervals.
export function isWorse(sign, a, b) {
  const difference = pairedDifference(a, b);
  if (difference) return sign * difference.mean > difference.ci95;
  return sign * bound(a[1], -sign) > sign * bound(b[1], sign);
}

// Who is best of `figures`, pairs of a name and a figure: {best: Set of names with the best mean, level:
// Set of the others that are not shown to be worse}; not those whose mean is a lower bound only.
// null where nothing is to be marked: fewer than two figures, one without an interval, no good end of
// the scale, or all alike.
export function rankFigures(better, figures) {
  if (figures.length < 2 || (better !== 'lower' && better !== 'higher')) return null;
  if (!figures.every(([, f]) => hasInterval(f))) return null;
  const sign = better === 'lower' ? 1 : -1;
  const order = figures.filter(([, f]) => !f.missed).sort(([, a], [, b]) => sign * (a.mean - b.mean));
  if (order.length === 0) return null;
  const best = new Set(order.filter(([, f]) => f.mean === order[0][1].mean).map(([n]) => n));
  // A difference is from one of those with the best mean.
  const level = new Set(order.filter((one) => !best.has(one[0]) &&
    !isWorse(sign, one, order.find(([n]) => one[1].difference && one[1].difference.from === n) || order[0])).map(([n]) => n));
  return best.size + level.size === figures.length ? null : {best, level};
}

// The interval of a figure as a point's low and high, the trials' range as its min and max.
export function spread(figure, divisor) {
  return {
    low: bound(figure, -1) / divisor, high: bound(figure, 1) / divisor,
    min: (figure.min ?? figure.mean) / divisor, max: (figure.max ?? figure.mean) / divisor,
  };
}

// The colour "#rrggbb" with a share of another in it.
export function mixed(colour, other, share) {
  const part = (text, i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  return '#' + [0, 1, 2].map((i) => Math.round(part(colour, i) * (1 - share) + part(other, i) * share).toString(16).padStart(2, '0')).join('');
}

// A logarithmic axis where the figures span more than a factor of 30.
export function wantsLog(values) {
  return values.length > 1 && Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 30;
}

// Where `figure` lies from `other`: [a number, words that read on with the other's name]: a share of it
// or a multiple, or per cent of it where the two are near each other.
export function distanceText(figure, other, unit) {
  const worded = figure.mean < other.mean ? 'lower than' : 'higher than';
  const [low, high] = [Math.min(figure.mean, other.mean), Math.max(figure.mean, other.mean)];
  if (!(low > 0)) return [atLeast(other) + plain((high - low) / unit.divisor) + (unit.text && ' ' + unit.text), worded];
  if (high / low >= 1.1) {
    const ratio = figure.mean / other.mean;
    return [(other.missed ? '\u2264 ' : '') + (ratio >= 100 ? fixed(ratio, 0) : String(Number(ratio.toPrecision(2)))), ratio < 1 ? 'of' : 'times'];
  }
  const percent = 100 * (high - low) / other.mean;
  return [atLeast(other) + (percent < 0.01 ? '<0.01' : String(Number(percent.toPrecision(2)))) + ' %', worded];
}
