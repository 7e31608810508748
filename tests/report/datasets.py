# SPDX-License-Identifier: Apache-2.0
"""Report data of every shape a run may leave behind, by name."""

import random

import synthetic

EVIL = ("</script><script>window.pwned = 1</script><img src=x onerror='window.pwned=2'>"
        "<!-- ${window.pwned=3} {{data}} {{script}} & &lt; \" ' \u2028 \u2029 \\u003c $x$ \U0001f41f")


def ten_algorithms():
    """As much as a page has to bear: ten algorithms, ten flows each, curves of 20 001 samples."""
    data = synthetic.microburst(tuple(synthetic.ALGORITHMS))
    rng = random.Random(3)
    for name in data["curves"]:
        data["curves"][name] = synthetic.curve(rng, name, step_us=0.2, rate_step_us=0.4)
    return data


def one_algorithm():
    data = synthetic.microburst(("oscar",))
    for key in ("order", "subject", "main_metric"):
        del data[key]
    return data


def no_curves():
    data = synthetic.microburst()
    for key in ("curves", "event_us", "event_label", "references"):
        del data[key]
    return data


def absent_metrics():
    """Some algorithms lack metrics, curves or all; values are null; one trial has no interval."""
    data = synthetic.microburst()
    for name, metrics in data["algorithms"].items():
        for key in list(metrics):
            if (len(name) + len(key)) % 3 == 0:
                del metrics[key]
    data["algorithms"]["cdg"] = {}
    data["algorithms"]["nv"] = {"goodput_gbps": {"mean": 88.25, "n": 1, "unit": "gbps"},
                                "own_metric": {"mean": -3.5e-7, "ci95": None, "n": 1}}
    data["metrics"].append({"key": "own_metric", "label": "A metric of one's own"})
    del data["curves"]["cdg"]
    data["curves"]["nv"] = {"rates": []}
    data["curves"]["vegas"] = {"t_us": [], "queue_bytes": []}
    data["curves"]["bbr"]["queue_bytes"][900:1200] = [None] * 300
    for rate in data["curves"]["dctcp"]["rates"]:
        del rate["main"]
    data["cases"] = data["cases"][:2]
    data["expectations"].append({"algorithm": "oscar", "metric": "slowdown_p99", "text": "<= 2", "met": False})
    return data


def no_expectations():
    data = synthetic.microburst()
    data["expectations"] = []
    return data


def summary_only():
    """summary.json as the architecture has it."""
    return {
        "scenario": "oscar-fig07", "kernel": "6.1.192-delaycc1", "build": "0123abc", "seed": 2**64 - 1,
        "parameters": {"k": 9},
        "algorithms": {"oscar": {"recover_us": {"mean": 25.1, "ci95": 0.6, "n": 12, "unit": "us"}}},
        "cases": [{"parameters": {"k": 1}, "algorithms": {}}],
        "expectations": [{"algorithm": "oscar", "metric": "recover_us", "text": "<= 25 us", "met": False, "value": 25.1}],
    }


def bare():
    return {"scenario": "nothing", "algorithms": {"reno": {}}}


def two_swept_parameters():
    data = synthetic.microburst(("oscar", "dctcp"))
    rng = random.Random(5)
    data["cases"] = [{"parameters": {"k": k, "line_rate_gbps": rate, "law": law},
                      "algorithms": {n: synthetic.metrics(rng, n, k) for n in ("oscar", "dctcp")}}
                     for k in (1, 3, 9) for rate in (40, 100) for law in ("literal", "reclaim")]
    return data


def evaluated():
    """What `delaycc eval` leaves: three algorithms of different spread, one of them not converged, two metrics."""
    data = synthetic.microburst(("oscar", "dctcp", "cubic"))
    data["evaluation"] = synthetic.evaluation(data, ("fct_p99_us", "queue_mean_bytes"),
                                              {"oscar": (25.1, 0.05, 24), "dctcp": (56.7, 0.2, 620), "cubic": (161, 0.6, 3000)})
    return data


def evaluated_hardly():
    """Ended after two trials, one value 0, nothing forecast."""
    data = synthetic.microburst(("oscar", "dctcp"))
    column = {"trials": [1, 2], "value": [0, 0], "low": [None, 0], "high": [None, 0], "forecast": [None, None],
              "forecast_low": [None, None], "forecast_high": [None, None]}
    estimate = {"metric": "drops", "unit": "", "estimand": "mean", "value": 0, "low": 0, "high": 0, "trials": 2,
                "converged": False, "history": column, "distribution": {"value": [0, 0], "share": [0.5, 1]}}
    data["evaluation"] = {"goal": "goal", "margin": 0.01, "converged": False, "text": [],
                          "estimates": [{**estimate, "algorithm": "oscar"}, {**estimate, "algorithm": "dctcp", "value": 3}]}
    return data


def evaluated_far():
    """An evaluation that ended long before its goal: the intervals are 40 times the margin."""
    data = synthetic.microburst(("oscar", "dctcp"))
    data["evaluation"] = synthetic.evaluation(data, ("fct_p99_us",), {"oscar": (1900, 0.6, 25), "dctcp": (1950, 0.5, 25)})
    data["evaluation"]["margin"] = 0.005
    for estimate in data["evaluation"]["estimates"]:
        estimate["converged"] = False
    return data


def flow_by_flow():
    """Six flows, each with a curve of its own, and none of them the main one."""
    data = synthetic.microburst(("oscar", "dctcp", "cubic"))
    for curve in data["curves"].values():
        curve["rates"] = [{**rate, "label": f"flow {i}", "main": False} for i, rate in enumerate(curve["rates"][:6])]
    return data


def hundred_flows():
    """More flows than colours can tell apart."""
    data = synthetic.microburst(("oscar", "cubic"))
    for curve in data["curves"].values():
        curve["rates"] = [{"label": f"flow {i}", "t_us": [0, 1000 + i, 4000], "gbps": [i, 100 - i, i / 2]} for i in range(100)]
    return data


def one_trial():
    """A run of one trial: no figure has an interval."""
    data = synthetic.microburst(("oscar", "dctcp", "cubic"))
    for algorithms in (data["algorithms"], *(c["algorithms"] for c in data["cases"])):
        for metrics in algorithms.values():
            for key, figure in metrics.items():
                metrics[key] = {"mean": figure["mean"], "ci95": None, "n": 1, "unit": figure.get("unit", "")}
    return data


def workload():
    """Flows drawn from a distribution of sizes; in each trial some were not complete at the end."""
    rng = random.Random(13)
    data = synthetic.microburst(("oscar", "cubic", "dctcp"))
    for key in ("cases", "expectations", "event_us", "event_label"):
        del data[key]
    data["main_metric"] = "slowdown_mean"
    data["flows"] = {}
    for i, (name, metrics) in enumerate(data["algorithms"].items()):
        metrics.clear()
        for group in ("", "large.", "medium.", "small."):
            for key, unit in (("fct_mean_us", "us"), ("fct_p50_us", "us"), ("fct_p99_us", "us"), ("slowdown_mean", ""),
                              ("slowdown_p99", "")):
                value = (i + 1) * rng.uniform(1, 3) * (100 if unit else 1)
                metrics[group + key] = {"mean": value, "ci95": value / 10, "n": 3, "unit": unit, "missed": 3}
            metrics[group + "flows"] = {"mean": 900, "ci95": 20, "n": 3, "unit": "flows"}
            metrics[group + "unfinished"] = {"mean": 4, "ci95": 1, "n": 3, "unit": "flows"}
        times = sorted(rng.lognormvariate(3 + i / 3, 1.5) for _ in range(300))
        sizes = [10 ** (3 + 0.25 * j) for j in range(18)]
        data["flows"][name] = {
            "complete": 2690, "incomplete": 10,
            "fct": {"value": times, "share": [(j + 1) / 301 for j in range(300)]},
            "slowdown": {"size_bytes": sizes, "count": [150] * 17 + [40], "mean": [1.5 + i] * 18, "p50": [1.2 + i] * 18,
                         "p99": [(2 + i) * (1 + 3 / (j + 1)) for j in range(17)] + [None]}}
        data["curves"][name]["rates"] = [{**rate, "label": group, "main": False}
                                         for group, rate in zip(("medium", "small", "large"), data["curves"][name]["rates"])]
    return data


def workload_and_incast():
    """A workload whose incasts have responses of one size."""
    data = workload()
    groups = ("", "small.", "medium.", "large.", "background.", "incast.")
    for metrics in data["algorithms"].values():
        for group in groups[4:]:
            metrics[group + "fct_mean_us"] = metrics["fct_mean_us"]
    data["metrics"] = [{"key": group + key, "label": group + key, "better": "lower"}
                       for group in groups for key in ("fct_mean_us", "slowdown_mean")]
    data["responses"] = {name: {
        "complete": 400, "incomplete": 0, "fct": {"value": [50, 200, 300], "share": [0.2, 0.5, 1]},
        "slowdown": {"size_bytes": [20000], "count": [400], "mean": [12.5], "p50": [11], "p99": [40]}} for name in data["flows"]}
    return data


def evil_strings():
    """Text that would do harm, were it taken for markup, wherever the schema has text."""
    data = synthetic.microburst(("oscar", "cubic"))
    for key in ("scenario", "title", "claim", "kernel", "build", "repeat", "event_label"):
        data[key] = key + EVIL
    data["algorithms"][EVIL] = data["algorithms"].pop("cubic")
    data["curves"][EVIL] = data["curves"].pop("cubic")
    data["order"] = ["oscar", EVIL]
    data["algorithm_notes"] = {EVIL: EVIL}
    data["algorithms"]["oscar"]["recover_us"]["unit"] = EVIL
    data["algorithms"]["oscar"]["__proto__"] = {"mean": 1, "n": 1}
    data["metrics"][0]["label"] = EVIL
    data["parameters"] = {EVIL: EVIL, "list": [EVIL, True, 2]}
    for case in data["cases"]:
        case["parameters"] = {EVIL: case["parameters"]["k"]}
        case["algorithms"][EVIL] = case["algorithms"].pop("cubic", {})
    data["expectations"][0].update(text=EVIL, metric=EVIL, algorithm=EVIL)
    data["references"][0]["label"] = EVIL
    data["curves"]["oscar"]["rates"][0]["label"] = EVIL
    data["notes"] = [EVIL]
    data["evaluation"] = synthetic.evaluation(data, (EVIL,), {"oscar": (25.1, 0.05, 24), EVIL: (161, 0.6, 30)})
    data["evaluation"]["goal"] = data["evaluation"]["text"][0] = EVIL
    return data


ALL = {f.__name__: f for f in (synthetic.microburst, ten_algorithms, one_algorithm, no_curves, absent_metrics,
                               no_expectations, summary_only, bare, two_swept_parameters, evaluated,
                               evaluated_hardly, evaluated_far, flow_by_flow, hundred_flows, one_trial, workload, workload_and_incast,
                               evil_strings)}
