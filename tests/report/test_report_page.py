# SPDX-License-Identifier: Apache-2.0
"""The page as a reader has it: headless Chromium at the width of a phone and of a screen."""

import re

import pytest

import datasets
import synthetic

pytestmark = pytest.mark.ci

WIDTHS = (360, 1440)

# Number of colours on every canvas shown; 1 on a blank one. Read from a copy: Chromium warns of a
# canvas that is read often.
COLOURS = """
const copy = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
return [...document.querySelectorAll('canvas')].filter((c) => c.offsetParent).map((c) => {
  copy.canvas.width = c.width;
  copy.canvas.height = c.height;
  copy.drawImage(c, 0, 0);
  const {data} = copy.getImageData(0, 0, c.width, c.height);
  const seen = new Set(new Uint32Array(data.buffer));
  return [c.getAttribute('aria-label'), c.width, seen.size];
});"""

OVERFLOWING = """
return [...document.body.querySelectorAll('*')].filter((e) => {
  const r = e.getBoundingClientRect();
  return r.width > 0 && r.right > innerWidth + 0.5 && !e.closest('.scroll, .spoken, .skip, caption');
}).map((e) => e.tagName + '.' + e.className).slice(0, 5);"""


def assert_sound(browser, width):
    """No message, no request, no sideways scrolling, and every chart has lines in it."""
    assert browser.console() == []
    assert browser.requests() == []
    assert browser.js("return document.documentElement.scrollWidth") <= width
    assert browser.js(OVERFLOWING) == []
    charts = browser.js(COLOURS)
    for label, pixels, colours in charts:
        assert pixels > 0 and colours > 10, label
    return charts


def text(browser, selector):
    return browser.js("return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText.trim())", selector)


def press(browser, name, within="body"):
    browser.js("""
const found = [...document.querySelectorAll(arguments[1] + ' button')].filter((b) => b.textContent === arguments[0]);
found[0].click();""", name, within)
    browser.settle()


def chart_state(browser, section, index=0):
    return browser.js("""
const chart = Chart.getChart(document.querySelectorAll('#' + arguments[0] + ' canvas')[arguments[1]]);
return {from: chart.scales.x.min, to: chart.scales.x.max, top: chart.scales.y.max, type: chart.scales.y.type,
        left: chart.chartArea.left, right: chart.chartArea.right, labels: chart.data.datasets.map((s) => s.label)};""", section, index)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", datasets.ALL)
def test_every_shape_of_data_gives_a_sound_page(browser, render, out_dir, name, width):
    browser.open(render(datasets.ALL[name](), name), width)
    assert_sound(browser, width)
    browser.picture(out_dir / f"{name}-{width}.png")
    assert_sound(browser, width)


@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
@pytest.mark.parametrize("width", WIDTHS)
def test_all_charts_of_a_full_result_are_drawn(browser, render, out_dir, width, dark):
    browser.open(render(synthetic.microburst(), "microburst"), width, dark=dark)
    browser.picture(out_dir / f"microburst-{width}-{'dark' if dark else 'light'}.png")
    labels = [label for label, _, _ in assert_sound(browser, width)]
    assert len(labels) == 4
    for label, start in zip(labels, ("Queue at the bottleneck over time", "Rate, long flow over time",
                                     "Time to recover: oscar 25.0", "Time to recover over k")):
        assert label.startswith(start)


@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
@pytest.mark.parametrize("width", WIDTHS)
def test_an_evaluation_shows_interval_distribution_and_forecast(browser, render, out_dir, width, dark):
    browser.open(render(datasets.evaluated(), "evaluated"), width, dark=dark)
    browser.picture(out_dir / f"evaluated-{width}-{'dark' if dark else 'light'}.png")
    labels = [label for label, _, _ in assert_sound(browser, width)]
    for label, start in zip(labels, ("Estimate and interval against the number of trials: oscar 24 trials; dctcp 620 trials; cubic 3000",
                                     "Cumulative distribution of the trials\u2019 values of Flow completion time, 99th percentile",
                                     "Trials forecast against trials done: oscar took 24; dctcp took 620; cubic took 3000")):
        assert label.startswith(start)
    assert "fct_p99_us: mean over the trials, within 2 %" in text(browser, "#evaluation-goal")[0]
    assert text(browser, "#evaluation-text li") == ["fct_p99_us: oscar < dctcp with confidence 95 %", "Not converged: it was interrupted."]
    assert [row.split("\t")[-1] for row in text(browser, "#evaluation-table tbody tr")] == ["yes", "yes", "no"]


def test_the_interval_chart_has_the_margin_within_view_and_follows_the_choices(browser, render):
    browser.open(render(datasets.evaluated(), "evaluated"))
    limits = browser.js("const y = Chart.getChart(document.querySelector('#evaluation canvas')).scales.y; return [y.min, y.max];")
    assert limits[0] <= -4 and limits[1] >= 4
    last = browser.js("const d = Chart.getChart(document.querySelector('#evaluation canvas')).data.datasets[2].data; return d[d.length - 1];")
    assert last == {"x": 24, "y": 0}
    press(browser, "cubic", "#evaluation")
    labels = browser.js("return [...document.querySelectorAll('#evaluation canvas')].map((c) => c.getAttribute('aria-label'))")
    assert len(labels) == 3 and not any("cubic" in label for label in labels)
    browser.js("const s = document.querySelector('#evaluation-tools select'); s.value = 'queue_mean_bytes'; s.dispatchEvent(new Event('change'));")
    browser.settle()
    assert "queue_mean_bytes" in text(browser, "#evaluation-goal")[0]
    assert "Queue, mean" in browser.js("return document.querySelectorAll('#evaluation canvas')[1].getAttribute('aria-label')")
    assert browser.console() == []


def test_intervals_of_an_evaluation_far_from_its_goal_are_within_view(browser, render):
    data = datasets.evaluated_far()
    browser.open(render(data, "evaluated_far"))
    low, high = browser.js("const y = Chart.getChart(document.querySelector('#evaluation canvas')).scales.y; return [y.min, y.max];")
    for estimate in data["evaluation"]["estimates"]:
        half = 100 * (estimate["high"] - estimate["value"]) / estimate["value"]
        assert half > 10 * 0.5
        assert low <= -half and half <= high <= 4 * half
    # Grounds of two colours would mix to a slab of grey.
    filled = "return Chart.getChart(document.querySelector('#evaluation canvas')).data.datasets.filter((s) => s.fill).length"
    assert browser.js(filled) == 0
    press(browser, "dctcp", "#evaluation")
    assert browser.js(filled) == 1


def test_figures_of_one_trial_are_never_best_nor_ahead(browser, render):
    data = datasets.one_trial()
    browser.open(render(data, "one_trial"))
    assert text(browser, "#figures-table .mark") == [] and text(browser, "#sweep-table .mark") == []
    tiles = text(browser, ".tile")
    assert "one trial: no interval" in tiles[0]
    assert tiles[1].split()[:5] == ["Not", "told", "apart", "from", "dctcp"] and "one trial of oscar and of dctcp: no interval" in tiles[1]
    assert not re.search(r"best|[Aa]head|Behind", " ".join(tiles[:2]))
    # One that has an interval is not told apart from one that has none.
    data["algorithms"]["oscar"]["recover_us"].update(ci95=0.5, n=12)
    browser.open(render(data, "one_trial"))
    assert "one trial of dctcp: no interval" in text(browser, ".tile")[1]
    assert text(browser, "#figures-table .mark") == []


@pytest.mark.parametrize("better, mean, rival, said", [
    ("higher", 0.9918, 0.992, "0.02 % lower than b"),
    ("higher", 95.6, 94.1, "1.6 % higher than b"),
    ("lower", 100.0001, 100, "<0.01 % higher than b"),
    ("lower", 25, 310, "0.081 of b"),
    ("lower", 310, 25, "12 times b"),
    ("lower", 0, 3.5, "3.500 \u00b5s lower than b"),
])
def test_the_distance_of_two_figures_is_said_in_words_that_mean_something(browser, render, better, mean, rival, said):
    figures = {"a": mean, "b": rival}
    data = {"scenario": "s", "subject": "a", "metrics": [{"key": "m", "better": better}],
            "algorithms": {n: {"m": {"mean": v, "ci95": 0, "n": 5, "unit": "us"}} for n, v in figures.items()}}
    browser.open(render(data, "distance"))
    assert said in text(browser, ".tile")[1].replace("\n", " ")


def test_flows_without_a_main_one_have_colours_and_a_legend(browser, render):
    browser.open(render(datasets.flow_by_flow(), "flow_by_flow"), height=3000)
    # The queue, and the rates of each algorithm.
    assert len(browser.js("return [...document.querySelectorAll('#overlaid canvas')]")) == 4
    assert text(browser, "#overlaid .legend li") == [f"flow {i}" for i in range(6)]
    lines = browser.js("return Chart.getChart(document.querySelectorAll('#overlaid canvas')[1]).data.datasets"
                       ".map((s) => [s.label, s.borderColor, s.borderDash.join()])")
    assert [label for label, _, _ in lines] == [f"flow {i}" for i in range(6)]
    assert len({colour for _, colour, _ in lines}) == 6 and len({dash for _, _, dash in lines}) == 6
    # Shades of the algorithm's own colour: no flow has that of another algorithm.
    others = browser.js("const style = getComputedStyle(document.documentElement);"
                        "return [1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => style.getPropertyValue('--series-' + i).trim())")
    assert not {colour for _, colour, _ in lines} & set(others)
    assert text(browser, "#overlaid figcaption")[0] == "Queue at the bottleneck trial 0 of 12"
    browser.js("const s = [...document.querySelectorAll('#curve-tools select')][0]; s.value = 'flow 3'; s.dispatchEvent(new Event('change'))")
    browser.settle()
    assert chart_state(browser, "overlaid", 1)["labels"] == ["oscar", "dctcp", "cubic"]
    assert text(browser, "#overlaid figcaption")[1] == "Rate, flow 3 trial 0 of 12"
    press(browser, "Side by side")
    assert text(browser, "#sides .legend li") == [f"flow {i}" for i in range(6)]
    browser.open(render(datasets.hundred_flows(), "hundred_flows"), height=3000)
    assert text(browser, "#overlaid .legend li") == ["100 flows"]
    assert browser.console() == []


def test_the_main_flow_can_be_left_for_all_flows(browser, render):
    browser.open(render(synthetic.microburst(("oscar", "cubic")), "two"), height=3000)
    assert text(browser, "#overlaid figcaption") == ["Queue at the bottleneck trial 0 of 12", "Rate, long flow trial 0 of 12"]
    browser.js("const s = document.querySelector('#curve-tools select'); s.value = 'each'; s.dispatchEvent(new Event('change'))")
    browser.settle()
    assert len(chart_state(browser, "overlaid", 1)["labels"]) == 10
    assert text(browser, "#overlaid .legend li")[0] == "long flow"


def test_a_workload_shows_completion_times_and_slowdown_by_size(browser, render):
    data = datasets.workload()
    browser.open(render(data, "workload"))
    labels = browser.js("return [...document.querySelectorAll('#flows canvas')].map((c) => c.getAttribute('aria-label'))")
    assert labels[0].startswith("Cumulative distribution of flow completion times: oscar 2700 flows; cubic 2700")
    assert labels[1].startswith("Slowdown by flow size, 99th percentile: oscar at most 8")
    assert "oscar 10 of 2,700" in text(browser, "#flows-text")[0]
    # A size with too few flows for a 99th percentile has no point there.
    points = "return Chart.getChart(document.querySelectorAll('#flows canvas')[1]).data.datasets[0].data.length"
    assert browser.js(points) == 17
    browser.js("const s = document.querySelector('#flows-tools select'); s.value = 'p50'; s.dispatchEvent(new Event('change'))")
    browser.settle()
    assert browser.js(points) == 18
    ends = browser.js("return Chart.getChart(document.querySelector('#flows canvas')).data.datasets[0].data.slice(-1)[0].y")
    assert ends == pytest.approx(300 / 301)
    press(browser, "cubic", "#flows")
    assert chart_state(browser, "flows")["labels"] == ["oscar", "dctcp"]
    assert_sound(browser, 1440)


def test_responses_of_incasts_are_never_in_one_curve_with_the_background(browser, render):
    browser.open(render(datasets.workload_and_incast(), "workload_and_incast"))
    first = "return document.querySelector('#flows canvas').getAttribute('aria-label')"
    assert browser.js(first).endswith("oscar 2700 flows; cubic 2700 flows; dctcp 2700 flows")
    assert text(browser, "#flows figcaption span")[0].startswith("background; cumulative")
    browser.js("const s = document.querySelector('#flows-tools select'); s.value = 'responses'; s.dispatchEvent(new Event('change'))")
    browser.settle()
    assert browser.js(first).endswith("oscar 400 flows; cubic 400 flows; dctcp 400 flows")
    assert [caption.split(";")[0] for caption in text(browser, "#flows figcaption span")] == ["responses of incasts"] * 2
    choices = "return [...document.querySelectorAll('#figures-tools select option')].map((o) => o.textContent)"
    assert browser.js(choices) == ["all: background and incast", "small", "medium", "large", "background", "incast"]
    assert_sound(browser, 1440)


def test_lower_bounds_of_a_workload_are_told_once_and_classes_one_at_a_time(browser, render):
    browser.open(render(datasets.workload(), "workload"))
    assert text(browser, "#figures-table .missed") == []
    shown = "return [...document.querySelectorAll('#figures-table tbody tr')].filter((r) => r.offsetParent).map((r) => r.dataset.metric)"
    assert len(browser.js(shown)) == 7 and all("." not in key for key in browser.js(shown))
    assert text(browser, "#figures-table tr[data-metric=fct_mean_us] .mean")[0].startswith("\u2265 ")
    assert "some flows were not complete at the end" in text(browser, "#figures-legend")[0]
    browser.js("const s = document.querySelector('#figures-tools select'); s.value = 'small'; s.dispatchEvent(new Event('change'))")
    assert len(browser.js(shown)) == 7 and all(key.startswith("small.") for key in browser.js(shown))


def test_side_by_side_draws_two_charts_for_each_algorithm(browser, render, out_dir):
    browser.open(render(datasets.ten_algorithms(), "ten_algorithms"))
    press(browser, "Side by side")
    browser.picture(out_dir / "ten_algorithms-side.png")
    assert len(assert_sound(browser, 1440)) == 22
    assert len(chart_state(browser, "sides", 1)["labels"]) == 10


@pytest.mark.alone
def test_ten_algorithms_are_drawn_within_three_seconds(browser, render):
    browser.open(render(datasets.ten_algorithms(), "ten_algorithms"))
    load_ms = browser.js("""
const entry = performance.getEntriesByType('navigation')[0];
return entry.loadEventEnd - entry.startTime;""")
    assert load_ms < 3000


def test_the_watch_on_console_and_requests_notices_both(browser, out_dir):
    page = out_dir / "loud.html"
    page.write_text("<!doctype html><link rel='icon' href='data:,'><img src='http://127.0.0.1:9/x.png'>"
                    "<script>console.warn('loud'); nothing.here()</script>", encoding="utf-8")
    browser.open(page, wait_ready=False)
    assert "http://127.0.0.1:9/x.png" in browser.requests()
    console = " ".join(browser.console())
    assert "loud" in console and "nothing is not defined" in console


def test_the_page_forbids_itself_every_request(browser, render):
    browser.open(render(synthetic.microburst(), "microburst"))
    browser.js("const image = new Image(); image.src = 'http://127.0.0.1:9/x.png'; document.body.append(image);")
    browser.settle()
    assert any("Content Security Policy" in message for message in browser.console())


def number(shown):
    return float(shown.replace(",", ""))


def decimals(shown):
    return len(shown.partition(".")[2])


def test_the_table_shows_each_mean_and_interval(browser, render):
    data = datasets.absent_metrics()
    browser.open(render(data, "absent_metrics"))
    header = text(browser, "#figures-table thead th")
    rows = browser.js("""
return [...document.querySelectorAll('#figures-table tbody tr')].map((r) =>
  [r.dataset.metric, r.cells[0].innerText, [...r.cells].slice(1).map((c) =>
    [(c.querySelector('.mean') || {}).innerText || '', (c.querySelector('.ci') || {}).innerText || '', c.innerText])]);""")
    names = header[1:]
    assert names == data["order"]
    shown = 0
    for metric, label, cells in rows:
        for name, (mean, ci95, whole) in zip(names, cells):
            assert re.fullmatch(r"\u2013|((\u2248 )?best )?(\u2265 )?[-\d.,e]+(\s+\u00b1 <?[\d.,]+)?(\s+n = \d+)?(\s+\d+ of \d+ missed)?", whole)
            figure = data["algorithms"][name].get(metric)
            if figure is None:
                assert whole == "\u2013"
                continue
            shown += 1
            assert mean.startswith("\u2265 ") == bool(figure.get("missed"))
            mean = mean.replace("\u2265 ", "")
            divisor = 1000 if label.endswith(", KB") else 1
            half = 0.5 * 10 ** -decimals(mean)
            if "e" in mean:
                assert number(mean) == pytest.approx(figure["mean"], rel=1e-2)
            else:
                assert abs(number(mean) - figure["mean"] / divisor) <= half * 1.0001
            if figure.get("ci95") is None:
                assert ci95 == ""
            else:
                interval = ci95.replace("\u00b1", "").strip()
                assert abs(number(interval) - figure["ci95"] / divisor) <= 0.5 * 10 ** -decimals(interval) * 1.0001
    assert shown == sum(len(m) for m in data["algorithms"].values())
    units = {metric: label for metric, label, _ in rows}
    assert units["recover_us"].endswith("\u00b5s") and units["goodput_gbps"].endswith("Gbit/s")
    assert "own_metric" in units
    # Cells with another number of trials than most have tell it.
    assert text(browser, "#figures-table .trials") == ["n = 1", "n = 1"]
    assert "n = 12 where the cell does not say another" in text(browser, "#figures-legend")[0]


def test_the_range_of_the_trials_can_be_shown(browser, render):
    browser.open(render(synthetic.microburst(), "microburst"))
    assert not browser.js("return [...document.querySelectorAll('.range')].some((e) => e.offsetParent)")
    browser.js("document.querySelector('#figures-tools input').click()")
    assert text(browser, "#figures-table .range")[0] == "23.2 to 27.3"
    assert_sound(browser, 1440)


@pytest.mark.parametrize("better, figures, marks", [
    ("lower", {"a": (10, 1), "b": (20, 1), "c": (30, 1)}, ["best", "", ""]),
    ("higher", {"a": (10, 1), "b": (20, 1), "c": (30, 1)}, ["", "", "best"]),
    ("lower", {"a": (10, 6), "b": (20, 5), "c": (30, 1)}, ["best", "\u2248 best", ""]),
    ("higher", {"a": (20, 0), "b": (20, 0), "c": (3, 1)}, ["best", "best", ""]),
    ("lower", {"a": (0, 0), "b": (0, 0), "c": (0, 0)}, ["", "", ""]),
    ("lower", {"a": (10, 9), "b": (11, 9), "c": (12, 9)}, ["", "", ""]),
    ("neither", {"a": (10, 1), "b": (20, 1), "c": (30, 1)}, ["", "", ""]),
    ("lower", {"c": (30, 1)}, ["", "", ""]),
])
def test_the_best_figure_of_a_row_is_marked_in_words(browser, render, better, figures, marks):
    data = {"scenario": "s", "metrics": [{"key": "m", "better": better}],
            "algorithms": {n: {"m": {"mean": figures[n][0], "ci95": figures[n][1], "n": 9}} if n in figures else {} for n in "abc"}}
    browser.open(render(data, "marks"))
    assert browser.js("""
return [...document.querySelectorAll('#figures-table tbody tr')[0].cells].slice(1)
  .map((c) => (c.querySelector('.mark') || {}).innerText || '');""") == marks


def test_headline_tells_lead_level_and_defeat(browser, render):
    def tiles(oscar, dctcp):
        figures = {n: {"recover_us": {"mean": m, "ci95": 2, "n": 12, "unit": "us"}} for n, m in (("oscar", oscar), ("dctcp", dctcp))}
        browser.open(render({"scenario": "s", "subject": "oscar", "metrics": synthetic.METRICS, "algorithms": figures}, "headline"))
        return text(browser, ".tile")

    lead = tiles(25, 310)
    assert "25.0 \u00b1 2.0 \u00b5s" in lead[0] and "oscar: time to recover" in lead[0] and "n = 12" in lead[0]
    assert "Ahead of" in lead[1] and "0.081 of dctcp" in lead[1]
    assert "Not told apart from" in tiles(25, 27)[1]
    defeat = tiles(50, 25)[1]
    assert "Behind" in defeat and "2 times dctcp" in defeat


def test_who_is_ahead_is_decided_by_the_same_trials(browser, render):
    def page(difference, ci95):
        figures = {"oscar": {"mean": 202, "ci95": 44, "n": 20, "unit": "us"}, "dctcp": {"mean": 235, "ci95": 45, "n": 20, "unit": "us"},
                   "cubic": {"mean": 900, "ci95": 100, "n": 20, "unit": "us"}}
        figures["dctcp"]["difference"] = {"from": "oscar", "mean": difference, "ci95": ci95, "n": 20}
        browser.open(render({"scenario": "s", "subject": "oscar", "metrics": synthetic.METRICS,
                             "algorithms": {n: {"recover_us": f} for n, f in figures.items()}}, "pairs"))
        return text(browser, ".tile")[1], text(browser, "#figures-table .mark")

    tile, marks = page(32.6, 3.8)
    assert "Ahead of" in tile and "in the same trials dctcp is 32.6 \u00b1 3.8 \u00b5s above oscar" in tile
    assert marks == ["best"]
    tile, marks = page(32.6, 33.8)
    assert "Not told apart from" in tile and "in the same trials dctcp is 33 \u00b1 34 \u00b5s above oscar" in tile
    assert marks == ["best", "\u2248 best"]
    assert "the difference is of trials that met the same flows" in text(browser, "#figures-legend")[0]


def test_a_mean_that_is_a_lower_bound_says_so_and_is_never_best(browser, render):
    figures = {"oscar": {"mean": 25, "ci95": 1, "n": 12, "missed": 3, "unit": "us"}, "dctcp": {"mean": 310, "ci95": 20, "n": 12, "unit": "us"}}
    data = {"scenario": "s", "subject": "oscar", "metrics": synthetic.METRICS,
            "algorithms": {n: {"recover_us": f} for n, f in figures.items()}}
    browser.open(render(data, "missed"))
    tiles = text(browser, ".tile")
    assert "\u2265 25.0" in tiles[0] and "3 of 12 missed" in tiles[0]
    assert "Not told apart from" in tiles[1] and "oscar has a lower bound only" in tiles[1]
    cells = text(browser, "#figures-table tbody td")
    assert "3 of 12 missed" in cells[0] and "best" not in cells[0]
    data["subject"] = "dctcp"
    browser.open(render(data, "missed"))
    tile = text(browser, ".tile")[1]
    assert "Not told apart from" in tile and "oscar has a lower bound only" in tile
    figures["oscar"]["missed"], figures["dctcp"]["missed"] = 0, 4
    data["subject"] = "oscar"
    browser.open(render(data, "missed"))
    assert "\u2264 0.081 of dctcp" in text(browser, ".tile")[1]


def test_expectations_not_met_are_said_so_at_the_top_and_in_the_list(browser, render):
    data = datasets.absent_metrics()
    browser.open(render(data, "absent_metrics"))
    missed = sum(not e["met"] for e in data["expectations"])
    assert f"{missed} not met" in text(browser, ".tile")[-1]
    verdicts = text(browser, "#expectations-table .verdict")
    assert verdicts == ["met" if e["met"] else "not met" for e in data["expectations"]]
    assert text(browser, "#expectations-table tr:last-child td")[-1] == "not measured"
    browser.open(render(datasets.no_expectations(), "no_expectations"))
    assert not browser.js("return document.getElementById('expectations').offsetParent")


def test_an_algorithm_can_be_taken_out_of_all_charts(browser, render):
    browser.open(render(synthetic.microburst(), "microburst"))
    press(browser, "cubic", "#curves")
    assert "cubic" not in chart_state(browser, "overlaid")["labels"]
    assert len(chart_state(browser, "overlaid", 1)["labels"]) == 6
    assert "cubic" not in chart_state(browser, "sweep-chart")["labels"]
    assert browser.js("return [...document.querySelectorAll('.chip')].filter((c) => c.offsetParent && c.dataset.name === 'cubic')"
                      ".map((c) => c.getAttribute('aria-pressed'))") == ["false", "false"]
    press(browser, "Only oscar", "#curves")
    assert chart_state(browser, "overlaid")["labels"] == ["oscar"]
    for name in ("oscar",):
        press(browser, name, "#curves")
    assert chart_state(browser, "overlaid")["labels"] == []
    press(browser, "Show all", "#curves")
    assert len(chart_state(browser, "overlaid")["labels"]) == 7
    assert browser.console() == []


def test_zoom_goes_around_the_event_by_drag_and_back_in_both_charts(browser, render):
    from selenium.webdriver.common.action_chains import ActionChains

    browser.open(render(synthetic.microburst(), "microburst"), height=1400)
    whole = chart_state(browser, "overlaid")
    assert (whole["from"], whole["to"]) == (0, 4000)
    press(browser, "Around the event")
    for index in (0, 1):
        near = chart_state(browser, "overlaid", index)
        assert (near["from"], near["to"]) == (1600, 3200)
    press(browser, "Whole run")
    box = browser.driver.find_element("css selector", "#overlaid .chart")
    middle = box.size["width"] / 2
    quarter = (whole["right"] - whole["left"]) / 4
    start = whole["left"] + quarter - middle
    ActionChains(browser.driver).move_to_element_with_offset(box, int(start), 0).click_and_hold() \
        .move_by_offset(int(quarter), 0).release().perform()
    browser.settle()
    near = chart_state(browser, "overlaid", 1)
    assert near["from"] == pytest.approx(1000, abs=8) and near["to"] == pytest.approx(2000, abs=8)
    press(browser, "Zoom out")
    assert chart_state(browser, "overlaid")["to"] == pytest.approx(2500, abs=12)
    ActionChains(browser.driver).double_click(box).perform()
    browser.settle()
    assert chart_state(browser, "overlaid")["to"] == 4000
    assert browser.console() == []


def test_reading_line_gives_the_values_at_its_time(browser, render, out_dir):
    from selenium.webdriver.common.action_chains import ActionChains

    data = synthetic.microburst(("oscar", "dctcp"))
    browser.open(render(data, "reading"), height=1400)
    box = browser.driver.find_element("css selector", "#overlaid .chart")
    ActionChains(browser.driver).move_to_element_with_offset(box, 30, 10).perform()
    browser.settle()
    browser.picture(out_dir / "reading.png", whole=False)
    readings = text(browser, "#overlaid .reading")
    assert len(readings) == 2
    time = number(re.match(r"([\d,.]+) \u00b5s", readings[0]).group(1))
    for name in ("oscar", "dctcp"):
        shown, unit = re.search(name + r"\s+([\d,.]+) (KB|MB|B)", readings[0]).groups()
        value = number(shown) * {"B": 1, "KB": 1e3, "MB": 1e6}[unit]
        around = data["curves"][name]["queue_bytes"][int(time) - 8:int(time) + 9]
        assert min(around) * 0.999 - 1 <= value <= max(around) * 1.001 + 1
        assert re.search(name + r"\s+[\d.]+ Gbit/s", readings[1])


def test_curves_can_be_read_and_zoomed_by_keyboard(browser, render):
    from selenium.webdriver.common.keys import Keys

    browser.open(render(synthetic.microburst(), "microburst"))
    box = browser.driver.find_element("css selector", "#overlaid .chart")
    browser.js("arguments[0].focus()", box)
    box.send_keys(Keys.ARROW_RIGHT)
    browser.settle()
    spoken = browser.js("return document.querySelector('.spoken[role=status]').textContent")
    assert re.match(r"2,020 \u00b5s: oscar [\d.]+ \S?B, cubic", spoken)
    box.send_keys("+")
    browser.settle()
    near = chart_state(browser, "overlaid")
    assert near["to"] - near["from"] == pytest.approx(2000)
    box.send_keys("0")
    browser.settle()
    assert chart_state(browser, "overlaid")["to"] == 4000


def test_queues_far_apart_start_on_a_logarithmic_axis_that_can_be_left(browser, render):
    browser.open(render(synthetic.microburst(), "microburst"))
    assert chart_state(browser, "overlaid")["type"] == "logarithmic"
    browser.js("document.querySelector('#curve-tools input').click()")
    browser.settle()
    assert chart_state(browser, "overlaid")["type"] == "linear"
    browser.open(render(synthetic.microburst(("oscar", "vegas")), "near"))
    assert chart_state(browser, "overlaid")["type"] == "linear"
    assert browser.console() == []


def test_the_line_after_a_burst_within_a_pixel_begins_at_its_end(browser, render):
    data = synthetic.microburst()
    times = [0, 500, 500.2, 500.4, 500.6, 2000]
    data["curves"] = {"oscar": {"t_us": times, "queue_bytes": [0, 0, 50000, 1514, 40000, 20000]}}
    del data["event_us"]
    browser.open(render(data, "burst"))
    points = browser.js("return Chart.getChart(document.querySelector('#curves canvas')).data.datasets[0].data")
    burst = [p["y"] for p in points if 500 <= p["x"] < 501]
    assert max(burst) == 50000 and burst[-1] == 40000


def test_the_metric_compared_can_be_chosen(browser, render):
    browser.open(render(synthetic.microburst(), "microburst"))
    for key in browser.js("return [...document.querySelectorAll('#dots-tools option')].map((o) => o.value)"):
        browser.js("const s = document.querySelector('#dots-tools select'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))", key)
        browser.settle()
        assert_sound(browser, 1440)
    assert browser.js("return document.querySelector('#dots canvas').getAttribute('aria-label')").startswith("Drops: oscar 0")


def test_a_sweep_of_several_parameters_shows_one_over_the_others_fixed(browser, render):
    data = datasets.two_swept_parameters()
    browser.open(render(data, "two_swept_parameters"))
    labels = text(browser, "#sweep-tools label > span")
    assert labels == ["Metric", "over", "law", "line_rate_gbps"]
    # The main case's value where it is one of the sweep's.
    assert browser.js("return document.querySelectorAll('#sweep-tools select')[3].value") == "100"
    assert text(browser, "#sweep-table tbody th") == ["1", "3", "9"]
    browser.js("const s = document.querySelectorAll('#sweep-tools select')[1]; s.value = 'law'; s.dispatchEvent(new Event('change'))")
    browser.settle()
    assert text(browser, "#sweep-table tbody th") == ["literal", "reclaim"]
    assert_sound(browser, 1440)


def test_text_of_the_data_is_shown_never_run(browser, render):
    browser.open(render(datasets.evil_strings(), "evil_strings"))
    assert browser.js("return window.pwned === undefined && document.querySelectorAll('img').length === 0")
    assert browser.js("return document.title") == "title" + datasets.EVIL
    assert browser.js("return document.querySelector('h1').textContent") == "title" + datasets.EVIL
    assert browser.js("return document.getElementById('command').textContent") == "repeat" + datasets.EVIL
    assert browser.js("return Object.prototype.mean") is None


def test_the_command_is_shown_and_copied(browser, render):
    data = synthetic.microburst()
    browser.open(render(data, "microburst"))
    assert text(browser, "#command") == [data["repeat"]]
    browser.driver.find_element("id", "copy").click()
    browser.settle()
    assert text(browser, "#copied")[0] in ("Copied.", "Selected: copy it with the keyboard.")
    assert browser.console() == []


def test_parameters_and_origin_are_shown(browser, render):
    browser.open(render(datasets.summary_only(), "summary_only"))
    assert [t.replace("\n", " ") for t in text(browser, "#run div")] == [
        "Scenario oscar-fig07", "Kernel 6.1.192-delaycc1", "Build 0123abc", "Seed 18446744073709551615"]
    assert [t.replace("\n", " ") for t in text(browser, "#parameters-list div")] == ["k 9"]
    assert browser.js("return document.title") == "oscar-fig07"


def luminance(colour):
    def linear(value):
        value /= 255
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4
    r, g, b = (linear(int(colour[i:i + 2], 16)) for i in (1, 3, 5))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    a, b = sorted((luminance(a), luminance(b)))
    return (b + 0.05) / (a + 0.05)


@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
def test_colours_have_the_contrast_wcag_asks_for(browser, render, dark):
    browser.open(render(synthetic.microburst(), "microburst"), dark=dark)

    def colour(name):
        return browser.js("return getComputedStyle(document.documentElement).getPropertyValue('--' + arguments[0]).trim()", name)

    for ground in ("ground", "raised"):
        for name in ("text", "text-soft", "accent"):
            assert contrast(colour(name), colour(ground)) >= 4.5, name
    for name in ("good", "bad"):
        assert contrast(colour(name), colour(name + "-ground")) >= 4.5, name
    assert contrast(colour("text-soft"), colour("good-ground")) >= 4.5
    for i in range(10):
        assert contrast(colour(f"series-{i}"), colour("ground")) >= 3, i
    assert contrast(colour("line-strong"), colour("ground")) >= 3


def test_charts_follow_a_change_of_colour_scheme(browser, render):
    browser.open(render(synthetic.microburst(), "microburst"))

    def first_colour():
        return browser.js("return Chart.getChart(document.querySelector('#overlaid canvas')).data.datasets[0].borderColor")

    before = first_colour()
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    browser.settle()
    assert first_colour() != before
    assert_sound(browser, 1440)


def test_every_control_and_chart_has_a_name(browser, render):
    browser.open(render(datasets.two_swept_parameters(), "two_swept_parameters"))
    assert browser.js("""
const named = (e) => e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length && e.labels[0].textContent.trim());
return [...document.querySelectorAll('button, select, input, canvas, [tabindex="0"]')]
  .filter((e) => !named(e) && !e.getAttribute('aria-labelledby')).map((e) => e.outerHTML.slice(0, 80));""") == []
    assert browser.js("return [...document.querySelectorAll('table.data')].every((t) => t.caption && t.tHead && "
                      "[...t.tHead.rows[0].cells].every((c) => c.scope === 'col') && "
                      "[...t.tBodies[0].rows].every((r) => r.querySelector('th[scope=row]')))")
