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
    data["metrics"] = {"own_metric": {"label": "A metric of one's own"}}
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
    data["metrics"] = {"recover_us": {"label": EVIL}}
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
                               evaluated_hardly, evil_strings)}
