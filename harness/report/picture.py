#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One picture of a result, for a README: the queue and the main flow's rate around the event.

    picture.py RESULT OUT.svg [--algorithms a,b] [--window FROM TO] [--dark]

RESULT is a report page (DIR/report.html) or the data it is made from (schema: harness/report/report.h).
The same input and matplotlib give the same bytes. Needs Debian's python3-matplotlib.
"""

import argparse
import json
import math
import re
import sys

# The page's colours and dashes (page.css, page/styles.js), in the page's order of algorithms.
LIGHT = ("#0068ab", "#cc5200", "#00805a", "#b3478c", "#9a6a00", "#4a4f57", "#2389c4", "#7d1f4c",
         "#656b00", "#5a4bc4")
DARK = ("#56b4e9", "#ff8a47", "#2fcb9b", "#e89aca", "#f0bd45", "#c9ced6", "#8aa8ff", "#e8718f",
        "#cdd25c", "#b09dff")
DASHES = ((), (7, 3), (2, 2.5), (9, 3, 2, 3), (5, 2), (1.5, 1.5), (12, 4), (6, 2, 1.5, 2), (3, 3),
          (10, 2, 3, 2))
LOG_FLOOR_BYTES = 100
BUCKETS = 240


class PictureError(Exception):
    """The result cannot be drawn; the text says why."""


def load(path):
    try:
        with open(path, encoding="utf-8") as source:
            text = source.read()
    except (OSError, UnicodeDecodeError) as error:
        raise PictureError(f"{path}: {error}") from error
    if text.lstrip().startswith("<"):
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
        if found is None:
            raise PictureError(f"{path}: no report page: it has no element 'data'")
        text = found.group(1)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise PictureError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    if not isinstance(data, dict) or not data.get("curves"):
        raise PictureError(f"{path}: /curves: missing; without curves there is nothing to draw")
    return data


def page_order(data):
    """Algorithms as the page orders them: subject, "order", the rest by name."""
    names = [data["subject"]] if "subject" in data else []
    names += [n for n in data.get("order", []) if n not in names]
    return names + [n for n in sorted(data["algorithms"]) if n not in names]


def main_rate(curve):
    rates = curve.get("rates", [])
    return next((r for r in rates if r.get("main")), rates[0] if rates else None)


def span(data):
    """First and last time of all curves."""
    series = [c for c in data["curves"].values() if c.get("t_us")]
    series += [r for c in data["curves"].values() for r in c.get("rates", []) if r["t_us"]]
    if not series:
        raise PictureError("/curves: every curve is empty")
    return min(s["t_us"][0] for s in series), max(s["t_us"][-1] for s in series)


def clipped(times, values, window):
    """The points in the window and one on either side of it."""
    inside = [i for i, t in enumerate(times) if window[0] <= t <= window[1]]
    if not inside:
        return []
    first, last = max(0, inside[0] - 1), min(len(times) - 1, inside[-1] + 1)
    return [(times[i], math.nan if values[i] is None else values[i]) for i in range(first, last + 1)]


def thinned(points, window):
    """First, least, greatest and last point of each of BUCKETS parts of the window, in their order."""
    width = (window[1] - window[0]) / BUCKETS
    out, bucket, key = [], [], None

    def flush():
        known = [p for p in bucket if not math.isnan(p[1])]
        if known:
            low, high = min(known, key=lambda p: p[1]), max(known, key=lambda p: p[1])
            # Without the last, a line to a far next point would slope.
            out.extend(sorted({known[0], low, high, known[-1]}))
        elif bucket:
            out.append(bucket[0])

    for point in points:
        here = math.floor((point[0] - window[0]) / width)
        if here != key:
            flush()
            bucket, key = [], here
        bucket.append(point)
    flush()
    return out


def byte_text(value, _position=None):
    floor = "\u2264 " if value == LOG_FLOOR_BYTES else ""
    for unit, factor in (("MB", 1e6), ("KB", 1e3)):
        if value >= factor:
            return f"{value / factor:g} {unit}"
    return f"{floor}{value:g} B"


def draw(data, names, window, dark):
    try:
        import matplotlib
    except ImportError as error:
        raise PictureError("matplotlib is missing (Debian: python3-matplotlib)") from error
    matplotlib.use("svg")
    from matplotlib import pyplot, ticker

    ground, text, soft, line = (("#12161c", "#e6e9ee", "#a6afbc", "#313a47") if dark
                                else ("#ffffff", "#1a1f28", "#525b69", "#d5d9e0"))
    pyplot.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": "delaycc", "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"], "font.size": 10, "path.simplify": False,
        "figure.facecolor": ground, "axes.facecolor": ground, "axes.edgecolor": soft,
        "axes.labelcolor": soft, "xtick.color": soft, "ytick.color": soft, "text.color": text,
        "grid.color": line, "axes.grid": True, "axes.spines.top": False, "axes.spines.right": False,
        "lines.scale_dashes": False, "text.parse_math": False,
    })
    figure, (queue, rate) = pyplot.subplots(2, 1, sharex=True, figsize=(9, 5.6), height_ratios=(1.1, 1))
    order = page_order(data)
    means, greatest_queue, greatest_rate, labels = [], 0.0, 0.0, set()
    for name in names:
        place = order.index(name) % len(DASHES)
        subject = name == data.get("subject")
        style = {"color": (DARK if dark else LIGHT)[place], "linewidth": 2.4 if subject else 1.3,
                 "dashes": DASHES[place] or (None, None), "zorder": 3 if subject else 2,
                 "solid_joinstyle": "round"}
        curve = data["curves"][name]
        if curve.get("t_us"):
            points = thinned(clipped(curve["t_us"], curve["queue_bytes"], window), window)
            if points:
                queue.plot([p[0] for p in points], [max(p[1], LOG_FLOOR_BYTES) for p in points],
                           label=name, **style)
                known = [p[1] for p in points if not math.isnan(p[1])]
                means.append(sum(known) / max(len(known), 1))
                greatest_queue = max([greatest_queue] + known)
        flow = main_rate(curve)
        if flow is not None:
            points = thinned(clipped(flow["t_us"], flow["gbps"], window), window)
            if points:
                rate.plot([p[0] for p in points], [p[1] for p in points], label=name, **style)
                greatest_rate = max([greatest_rate] + [p[1] for p in points if p[1] > 0])
                labels.add(flow["label"])
    # Queues that differ much are legible together on a logarithmic axis only (as in the page). Room
    # on top for the event's name.
    if len(means) > 1 and min(means) > 0 and max(means) > 30 * min(means):
        queue.set_yscale("log")
        queue.set_ylim(LOG_FLOOR_BYTES, greatest_queue * 8)
    else:
        queue.set_ylim(0, max(greatest_queue * 1.2, 1))
    queue.yaxis.set_major_formatter(ticker.FuncFormatter(byte_text))
    queue.yaxis.set_minor_formatter(ticker.NullFormatter())
    queue.set_title("Queue at the bottleneck", loc="left", fontsize=10, fontweight="bold")
    rate.set_title("Rate, " + labels.pop() if len(labels) == 1 else "Rate of the main flow",
                   loc="left", fontsize=10, fontweight="bold")
    rate.set_ylim(0, max(greatest_rate * 1.06, 1e-3))
    rate.set_ylabel("Gbit/s")
    event = data.get("event_us")
    rate.set_xlim(*window)
    rate.set_xlabel("time, \u00b5s")
    if event is not None and window[0] <= event <= window[1]:
        for axes in (queue, rate):
            axes.axvline(event, color=text, linewidth=0.9, dashes=(2, 3), zorder=1)
        queue.annotate(data.get("event_label", "event"), (event, 1), xycoords=("data", "axes fraction"),
                       xytext=(4, -2), textcoords="offset points", va="top", fontsize=9,
                       bbox={"facecolor": ground, "edgecolor": "none", "pad": 1, "alpha": 0.85})
    handles, names_shown = (queue if queue.lines else rate).get_legend_handles_labels()
    figure.legend(handles, names_shown, loc="upper center", ncol=len(names_shown), frameon=False,
                  handlelength=2.6, columnspacing=1.4, bbox_to_anchor=(0.5, 0.955))
    figure.suptitle(data.get("title") or data["scenario"], fontsize=12, fontweight="bold", y=0.99)
    figure.align_ylabels()
    figure.tight_layout(rect=(0, 0, 1, 0.94))
    return figure


def write(figure, path):
    import io

    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    # A tenth of a point is finer than a screen shows, and the file is half the size.
    text = re.sub(r' (?:d|x|y|transform)="[^"]*"', lambda attribute: re.sub(
        r"-?\d+\.\d{2,}", lambda m: f"{float(m.group()):.1f}".removesuffix(".0"), attribute.group()), text)
    text = re.sub(r"[ \t]+\n", "\n", text)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("result", help="report.html, or report data as JSON")
    parser.add_argument("out", help="the SVG file to write")
    parser.add_argument("--algorithms", help="names, separated by commas; default: all with curves")
    parser.add_argument("--window", nargs=2, type=float, metavar=("FROM", "TO"),
                        help="times in us; default: the data's focus_us, else around the event")
    parser.add_argument("--dark", action="store_true", help="for a dark ground")
    options = parser.parse_args(arguments)
    try:
        data = load(options.result)
        having = [n for n in page_order(data) if n in data["curves"]]
        names = options.algorithms.split(",") if options.algorithms else having
        for name in names:
            if name not in having:
                raise PictureError(f"--algorithms: no curves of '{name}'; there are: {', '.join(having)}")
        first, last = span(data)
        event = data.get("event_us")
        window = (options.window or data.get("focus_us") or data.get("close_view_us")
                  or ([first, last] if event is None
                      else [max(first, event - 0.1 * (last - first)), min(last, event + 0.3 * (last - first))]))
        if not window[0] < window[1]:
            raise PictureError(f"window: {window[0]:g} to {window[1]:g} us: the start must be before the end")
        write(draw(data, names, window, options.dark), options.out)
    except (PictureError, OSError) as error:
        print(f"picture.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
