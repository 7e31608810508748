# SPDX-License-Identifier: Apache-2.0
"""What render_report() accepts, refuses and embeds; no browser needed."""

import copy
import json
import re
import subprocess

import pytest

import datasets
import synthetic

GOOD = {
    "scenario": "s",
    "algorithms": {"oscar": {"recover_us": {"mean": 25.1, "ci95": 0.6, "n": 12, "unit": "us"}}},
}
CURVE = {"t_us": [0, 1, 2], "queue_bytes": [5, None, 7]}
RATE = {"label": "long", "t_us": [0, 1], "gbps": [1, 2]}
FIGURE = GOOD["algorithms"]["oscar"]["recover_us"]


def with_(**changes):
    data = copy.deepcopy(GOOD)
    data.update(changes)
    return data


def with_figure(**changes):
    return with_(algorithms={"oscar": {"recover_us": {**FIGURE, **changes}}})


ESTIMATE = {
    "algorithm": "oscar", "metric": "recover_us", "unit": "us", "estimand": "mean", "value": 25, "low": 24, "high": None,
    "trials": 2, "converged": True, "distribution": {"value": [24, 26], "share": [0.5, 1]},
    "history": {"trials": [1, 2], **{key: [None, 25] for key in ("value", "low", "high", "forecast", "forecast_low", "forecast_high")}},
}


def with_evaluation(**changes):
    return with_(evaluation={"goal": "g", "margin": 0.01, "converged": True, "text": ["t"], "estimates": [ESTIMATE], **changes})


BAD = [
    ([], "/: expected an object, found array"),
    ({"algorithms": GOOD["algorithms"]}, "/scenario: missing"),
    (with_(scenario=""), "/scenario: is empty"),
    (with_(algorithms={}), "/algorithms: is empty"),
    (with_(algorithms=[]), "/algorithms: expected an object, found array"),
    (with_(titel="x"), "/titel: unknown key; allowed: scenario, algorithms, title"),
    (with_(title=3), "/title: expected a string"),
    (with_figure(mean="fast"), "/algorithms/oscar/recover_us/mean: expected a finite number, found string"),
    (with_figure(mean=None), "/algorithms/oscar/recover_us/mean: expected a finite number, found null"),
    (with_figure(ci95=-1), "/algorithms/oscar/recover_us/ci95: expected a half-width of at least 0"),
    (with_figure(n=0), "/algorithms/oscar/recover_us/n: expected an integer of at least 1"),
    (with_figure(n=1.5), "/algorithms/oscar/recover_us/n: expected an integer of at least 1"),
    (with_figure(median=3), "/algorithms/oscar/recover_us/median: unknown key; allowed: mean, ci95, n, unit, min, max, missed"),
    (with_figure(max="x"), "/algorithms/oscar/recover_us/max: expected a finite number, found string"),
    (with_figure(missed=13), "/algorithms/oscar/recover_us/missed: more than n"),
    (with_figure(difference={"from": "vegas", "mean": 1, "ci95": 1, "n": 2}),
     "/algorithms/oscar/recover_us/difference/from: no such member of algorithms"),
    (with_figure(difference={"from": "oscar", "mean": 1, "ci95": 1, "n": 1}),
     "/algorithms/oscar/recover_us/difference/n: expected an integer of at least 2"),
    (with_(seed=-1), "/seed: expected an integer of at least 0"),
    (with_(subject="vegas"), "/subject: no such member of algorithms"),
    (with_(order=["oscar", "vegas"]), "/order/1: no such member of algorithms"),
    (with_(parameters={"k": {"a": 1}}), "/parameters/k: expected a string, a finite number, true or false"),
    (with_(parameters={"k": [1, None]}), "/parameters/k/1: expected a string, a finite number, true or false"),
    (with_(cases=[{"parameters": {}}]), "/cases/0/algorithms: missing"),
    (with_(metrics={"recover_us": {}}), "/metrics: expected an array, found object"),
    (with_(metrics=[{"label": "x"}]), "/metrics/0/key: missing"),
    (with_(metrics=[{"key": "x"}, {"key": "x"}]), "/metrics/1/key: is there twice"),
    (with_(metrics=[{"key": "recover_us", "better": "smaller"}]), '/metrics/0/better: expected "lower", "higher" or "neither"'),
    (with_(expectations=[{"algorithm": "oscar", "metric": "x", "text": "<= 1", "met": "yes"}]), "/expectations/0/met: expected true or false"),
    (with_(focus_us=[2, 1]), "/focus_us: expected [start, end] with start < end"),
    (with_(references=[{"chart": "pie", "label": "x", "value": 1}]), '/references/0/chart: expected "queue" or "rate"'),
    (with_(curves={"vegas": CURVE}), "/curves/vegas: no such member of algorithms"),
    (with_(curves={"oscar": {"t_us": [1]}}), "/curves/oscar: t_us and queue_bytes come together"),
    (with_(curves={"oscar": {**CURVE, "t_us": [0, 2, 1]}}), "/curves/oscar/t_us/2: time runs backwards"),
    (with_(curves={"oscar": {**CURVE, "t_us": [0, 1]}}), "/curves/oscar/queue_bytes: has 3 values for 2 times"),
    (with_(curves={"oscar": {"rates": [{**RATE, "gbps": [1, "x"]}]}}), "/curves/oscar/rates/0/gbps/1: expected a finite number or null"),
    (with_evaluation(margin=0), "/evaluation/margin: expected more than 0"),
    (with_evaluation(converged="yes"), "/evaluation/converged: expected true or false"),
    (with_evaluation(estimates=[{**ESTIMATE, "algorithm": "vegas"}]), "/evaluation/estimates/0/algorithm: no such member of algorithms"),
    (with_evaluation(estimates=[{**ESTIMATE, "history": {**ESTIMATE["history"], "low": [1]}}]),
     "/evaluation/estimates/0/history/low: has 1 values for 2"),
    (with_evaluation(estimates=[{**ESTIMATE, "history": {**ESTIMATE["history"], "trials": [2, 1]}}]),
     "/evaluation/estimates/0/history/trials/1: is less than the one before"),
    (with_evaluation(estimates=[{**ESTIMATE, "distribution": {"value": [2]}}]), "/evaluation/estimates/0/distribution/share: missing"),
    (with_(notes=["a", 1]), "/notes/1: expected a string"),
    (with_(algorithms={"a/b~c": {"m": 1}}), "/algorithms/a~1b~0c/m: expected an object"),
]


def attempt(renderer, tmp_path, text):
    source, page = tmp_path / "data.json", tmp_path / "page.html"
    source.write_bytes(text)
    done = subprocess.run([renderer, source, page], capture_output=True, text=True, errors="replace", check=False)
    return done, page


@pytest.mark.parametrize("data, message", BAD, ids=[m.split(":")[0] for _, m in BAD])
def test_wrong_data_is_refused_by_file_place_and_cause(renderer, tmp_path, data, message):
    done, page = attempt(renderer, tmp_path, json.dumps(data).encode())
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path / 'data.json'}: report data: {message}")
    assert done.stderr.count("\n") == 1
    assert not page.exists()


def test_what_is_not_json_is_refused(renderer, tmp_path):
    done, page = attempt(renderer, tmp_path, b'{"scenario": ')
    assert done.returncode == 1 and "data.json: not JSON:" in done.stderr and not page.exists()


def test_a_file_that_cannot_be_read_or_written_is_named(renderer, tmp_path):
    done = subprocess.run([renderer, tmp_path / "none.json", tmp_path / "x.html"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "none.json: cannot be read" in done.stderr
    (tmp_path / "good.json").write_text(json.dumps(GOOD))
    done = subprocess.run([renderer, tmp_path / "good.json", tmp_path / "no" / "x.html"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "x.html: cannot be written" in done.stderr


def embedded(page):
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


@pytest.mark.parametrize("name", datasets.ALL)
def test_every_shape_of_data_renders_and_twice_alike(render, name):
    first = render(datasets.ALL[name](), name).read_bytes()
    assert render(datasets.ALL[name](), name).read_bytes() == first
    assert len(first) < 5_000_000


def test_a_page_names_no_foreign_address_it_would_load(render):
    text = render(synthetic.microburst(), "microburst").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)
    assert "sourceMappingURL" not in text


def test_text_cannot_leave_its_element(render):
    text = render(datasets.evil_strings(), "evil_strings").read_text(encoding="utf-8")
    assert text.count("</script>") == 3
    assert "<img" not in text
    assert text.count("window.pwned = 1") > 0


def test_ill_formed_utf8_in_a_file_is_refused(renderer, tmp_path):
    done, page = attempt(renderer, tmp_path, b'{"scenario": "\xff", "algorithms": {"a": {}}}')
    assert done.returncode == 1 and "not JSON" in done.stderr and not page.exists()


def test_short_curves_are_embedded_as_they_are(render):
    curve = {"t_us": [0, 1, 1, 2.0005], "queue_bytes": [5, None, 7, 9.4], "rates": [{**RATE, "gbps": [1.23456, None]}]}
    kept = embedded(render(with_(curves={"oscar": curve}), "short"))["curves"]["oscar"]
    assert kept["t_us"] == [0, 1, 1, 2.001] and kept["queue_bytes"] == [5, None, 7, 9]
    assert kept["rates"] == [{"label": "long", "main": False, "t_us": [0, 1], "gbps": [1.235, None]}]


def test_level_stretches_lose_their_inner_points_only(render):
    curve = {"t_us": list(range(7)), "queue_bytes": [3, 3, 3, 3, 8, 8, 8]}
    kept = embedded(render(with_(curves={"oscar": curve}), "level"))["curves"]["oscar"]
    assert list(zip(kept["t_us"], kept["queue_bytes"])) == [(0, 3), (3, 3), (4, 8), (6, 8)]


def test_thinning_keeps_spikes_gaps_ends_and_the_close_view(render):
    count = 100_000
    values = [1000 + (i * 7919) % 613 for i in range(count)]
    values[31_415] = 9_000_000
    values[77_777] = 0
    values[60_000:60_100] = [None] * 100
    data = with_(curves={"oscar": {"t_us": [i / 10 for i in range(count)], "queue_bytes": values}}, event_us=2500, focus_us=[2480, 2560])
    kept = embedded(render(data, "thinned"))["curves"]["oscar"]
    points = list(zip(kept["t_us"], kept["queue_bytes"]))
    assert len(points) <= 3300
    assert points[0] == (0, values[0]) and points[-1] == ((count - 1) / 10, values[-1])
    assert (3141.5, 9_000_000) in points and (7777.7, 0) in points
    assert any(v is None for _, v in points)
    assert kept["t_us"] == sorted(kept["t_us"])
    # In the close view, 801 samples fit the half of the budget: all are there.
    assert [p for p in points if 2480 <= p[0] <= 2560] == [(i / 10, values[i]) for i in range(24_800, 25_601)]


def test_many_curves_share_the_budget(render):
    data = datasets.ten_algorithms()
    curves = embedded(render(data, "ten_algorithms"))["curves"]
    total = sum(len(c["t_us"]) + sum(len(r["t_us"]) for r in c["rates"]) for c in curves.values())
    assert total <= 240_000 * 1.1
    for name, curve in curves.items():
        assert max(curve["queue_bytes"]) == max(data["curves"][name]["queue_bytes"])


def test_the_first_measured_expectation_names_the_main_metric(render):
    algorithms = {"oscar": {"queue_mean_bytes": FIGURE, "recover_us": FIGURE}}
    expectations = [{"algorithm": "oscar", "metric": m, "text": "", "met": True} for m in ("jain", "queue_mean_bytes")]
    metrics = [{"key": "jain"}, {"key": "recover_us"}]
    assert embedded(render(with_(algorithms=algorithms, metrics=metrics), "main"))["main_metric"] == "recover_us"
    assert embedded(render(with_(algorithms=algorithms, expectations=expectations), "main"))["main_metric"] == "queue_mean_bytes"


def test_metrics_come_in_the_order_given_then_by_name_without_a_better_end(render):
    figures = {"b": FIGURE, "a": FIGURE, "y": FIGURE, "x": FIGURE}
    metrics = [{"key": "y", "label": "Why", "better": "higher"}, {"key": "absent", "label": "Absent"}, {"key": "x", "better": "lower"}]
    page = embedded(render(with_(algorithms={"oscar": figures}, metrics=metrics), "metrics"))
    assert [(m["key"], m["label"], m["better"]) for m in page["metrics"]] == [
        ("y", "Why", "higher"), ("x", "x", "lower"), ("a", "a", "neither"), ("b", "b", "neither")]


def test_algorithms_come_subject_first_then_in_the_given_order_then_by_name(render):
    algorithms = {n: {} for n in "abcde"}
    page = embedded(render(with_(algorithms=algorithms, subject="d", order=["c", "d", "a"]), "order"))
    assert page["order"] == ["d", "c", "a", "b", "e"]


def test_a_seed_of_64_bits_stays_exact(render):
    assert embedded(render(with_(seed=2**64 - 1), "seed"))["seed"] == "18446744073709551615"
