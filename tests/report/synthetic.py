# SPDX-License-Identifier: Apache-2.0
"""Synthetic report data for the tests: the microburst of OSCAR's Figure 7 as it might look.

The figures are invented, seeded and plausible; they are no measurement.
`synthetic.py OUT.json` writes the data set.
"""

import json
import math
import pickle
import random
import sys

BDP_BYTES = 150_000
LINE_GBPS = 100.0
BURST_US = 1000.0  # the short flows start
EVENT_US = 2000.0  # and stop
END_US = 4000.0

# name: (queue in the burst, its swing, swing's period in us, queue before, recovery time in us,
#        its spread, buffer overflow)
ALGORITHMS = {
    "oscar": (75_000, 6_000, 37, 60_000, 25.0, 1.1, False),
    "cubic": (15_500_000, 500_000, 900, 9_000_000, 912.0, 140.0, True),
    "bbr": (1_900_000, 450_000, 210, 140_000, 640.0, 95.0, False),
    "dctcp": (820_000, 90_000, 120, 700_000, 310.0, 20.0, False),
    "vegas": (210_000, 60_000, 160, 45_000, 702.0, 60.0, False),
    "cdg": (1_100_000, 400_000, 330, 300_000, 1210.0, 205.0, False),
    "nv": (390_000, 120_000, 260, 90_000, 655.0, 88.0, False),
    "reno": (14_000_000, 900_000, 1100, 8_000_000, 1400.0, 160.0, True),
    "westwood": (6_000_000, 1_500_000, 500, 2_000_000, 830.0, 90.0, False),
    "illinois": (13_000_000, 1_100_000, 700, 7_500_000, 760.0, 85.0, True),
}


def _figure(rng, mean, relative_spread, unit, n=12):
    ci95 = abs(mean) * relative_spread * rng.uniform(0.7, 1.3)
    figure = {"mean": mean * (1 + rng.gauss(0, relative_spread / 3)), "ci95": ci95, "n": n}
    if unit:
        figure["unit"] = unit
    return figure


# What delaycc says of them, in its order.
METRICS = [{"key": key, "label": label, "better": better} for key, label, better in (
    ("recover_us", "Time to recover", "lower"), ("goodput_gbps", "Goodput", "higher"), ("utilisation", "Utilisation", "higher"),
    ("queue_mean_bytes", "Queue, mean", "lower"), ("queue_sd_bytes", "Queue, standard deviation", "lower"),
    ("queue_p99_bytes", "Queue, 99th percentile", "lower"), ("queue_max_bytes", "Queue, maximum", "lower"),
    ("rtt_p50_us", "RTT with recovery, median", "lower"), ("rtt_p99_us", "RTT with recovery, 99th percentile", "lower"),
    ("rtt_p999_us", "RTT with recovery, 99.9th percentile", "lower"), ("jain", "Jain index", "higher"),
    ("fct_mean_us", "Flow completion time, mean", "lower"), ("fct_p99_us", "Flow completion time, 99th percentile", "lower"),
    ("slowdown_mean", "Slowdown, mean", "lower"), ("slowdown_p99", "Slowdown, 99th percentile", "lower"),
    ("unfinished", "Flows not complete", "lower"), ("retransmits", "Retransmissions", "lower"), ("drops", "Drops", "lower"))]


def metrics(rng, name, k=9):
    queue, swing, _, idle_queue, recover, spread, overflow = ALGORITHMS[name]
    growth = 0.4 + 0.6 * k / 9
    queue = queue * (growth if name != "oscar" else 0.9 + 0.1 * growth)
    recover = recover * (growth if name != "oscar" else 1)
    out = {
        "recover_us": {"mean": recover, "ci95": spread * growth, "n": 12, "unit": "us",
                       "min": recover - 1.6 * spread * growth, "max": recover + 2.1 * spread * growth,
                       "missed": 5 if name == "cdg" and k >= 9 else 0},
        "goodput_gbps": _figure(rng, 94.6 - recover / 100, 0.004, "gbps"),
        "utilisation": _figure(rng, 0.991 - recover / 9000, 0.002, ""),
        "queue_mean_bytes": _figure(rng, queue, 0.03, "bytes"),
        "queue_sd_bytes": _figure(rng, swing, 0.05, "bytes"),
        "queue_p99_bytes": _figure(rng, queue + 2.2 * swing, 0.04, "bytes"),
        "queue_max_bytes": _figure(rng, queue + 3 * swing + BDP_BYTES * k, 0.05, "bytes"),
        "rtt_p50_us": _figure(rng, 12 + queue * 8e-5, 0.02, "us"),
        "rtt_p99_us": _figure(rng, 12 + (queue + 2.2 * swing) * 8e-5, 0.03, "us"),
        "rtt_p999_us": _figure(rng, 12 + (queue + 3 * swing) * 8e-5, 0.05, "us"),
        "jain": _figure(rng, 0.997 if name == "oscar" else 0.9 - recover / 9000, 0.01, ""),
        "retransmits": {"mean": 341.2 if overflow else 0.0, "ci95": 35.8 if overflow else 0.0, "n": 12},
        "drops": {"mean": 355.0 if overflow else 0.0, "ci95": 38.1 if overflow else 0.0, "n": 12},
    }
    if not overflow:
        out["fct_p99_us"] = _figure(rng, 900 + recover / 4, 0.03, "us")
    return out


def curve(rng, name, flows=10, step_us=1.0, rate_step_us=2.0):
    queue, swing, period, idle_queue, recover, _, _ = ALGORITHMS[name]
    times, backlog = [], []
    noise = 0.0
    level = idle_queue
    for i in range(int(END_US / step_us) + 1):
        t = i * step_us
        in_burst = BURST_US <= t < EVENT_US
        target = queue if in_burst else idle_queue
        # The queue fills at the rate of the burst's first windows and drains at line rate.
        level += max(-12_500, min(12_500 if name == "oscar" else 90_000, (target - level) * 0.05))
        if BURST_US <= t < BURST_US + 12:
            level += 60_000
        if EVENT_US <= t < EVENT_US + recover and not in_burst:
            level = max(0.0, level - 12_500)
        noise = 0.9 * noise + rng.gauss(0, 0.04)
        value = level + swing * (math.sin(2 * math.pi * t / period) * 0.7 + noise) * (level / queue)
        times.append(t)
        backlog.append(max(0, round(value)))
    rates = []
    for flow in range(flows):
        long_flow = flow == 0
        start = 0.0 if long_flow else BURST_US + rng.uniform(0, 4)
        stop = END_US if long_flow else EVENT_US
        rate_times, gbps = [], []
        share, noise = (94.0 if long_flow else 0.0), 0.0
        for i in range(int((stop - start) / rate_step_us)):
            t = start + i * rate_step_us
            in_burst = BURST_US <= t < EVENT_US
            target = 94.0 if not in_burst else 94.0 / flows * (1 + 0.25 * (flow % 3 - 1) * (name != "oscar"))
            tau = recover / 3 if t >= EVENT_US else (8.0 if name == "oscar" else 60.0)
            share += (target - share) * min(1.0, rate_step_us / tau)
            noise = 0.85 * noise + rng.gauss(0, 0.01 if name == "oscar" else 0.03)
            rate_times.append(round(t, 3))
            gbps.append(max(0.0, min(100.0, share * (1 + noise))))
        rates.append({"label": "long flow" if long_flow else f"short flow {flow}", "t_us": rate_times,
                      "gbps": gbps, "main": long_flow})
    return {"t_us": times, "queue_bytes": backlog, "rates": rates}


_built = {}


def microburst(names=("oscar", "cubic", "bbr", "dctcp", "vegas", "cdg", "nv"), seed=7):
    """A full result, a new copy on each call; built once for the same arguments."""
    if (names, seed) not in _built:
        _built[names, seed] = pickle.dumps(_microburst(names, seed))
    return pickle.loads(_built[names, seed])


def _microburst(names, seed):
    rng = random.Random(seed)
    main = {name: metrics(rng, name) for name in names}
    cases = [{"parameters": {"k": k, "line_rate_gbps": 100},
              "algorithms": main if k == 9 else {name: metrics(rng, name, k) for name in names}}
             for k in (1, 3, 9, 12, 19)]
    return {
        "scenario": "oscar-fig07",
        "title": "Recovery after a microburst at 100 Gbit/s",
        "claim": "OSCAR's long flow is back at 95 % of the line rate within about two round trips of "
                 "the burst's end, however many flows the burst had.",
        "subject": "oscar",
        "main_metric": "recover_us",
        "order": list(names),
        "metrics": METRICS,
        "algorithm_notes": {"dctcp": "ECN marking from 800 KB on"} if "dctcp" in names else {},
        "kernel": "6.1.192-delaycc1",
        "build": "v0.1-12-gcb5b33c",
        "seed": 1,
        "repeat": "build/delaycc run harness/scenarios/oscar-fig07.toml --seed 1 --trials 12 "
                  "--cc " + ",".join(names),
        "parameters": {"k": 9, "line_rate_gbps": 100, "base_rtt_us": 12, "buffer_bytes": 16_000_000,
                       "burst_us": 1000, "mtu_bytes": 1500, "ecn_threshold_bytes": 800_000,
                       "phases_us": [0, 1.5, 3, 4.5]},
        "algorithms": main,
        "cases": cases,
        "expectations": [
            {"algorithm": "oscar", "metric": "recover_us", "text": "mean <= 25 us", "met": True, "value": 25.0},
            {"algorithm": "oscar", "metric": "queue_mean_bytes", "text": "75 000 bytes +- 10 %", "met": True,
             "value": main["oscar"]["queue_mean_bytes"]["mean"]},
            {"algorithm": "oscar", "metric": "queue_sd_bytes", "text": "<= 5000 bytes", "met": False,
             "value": main["oscar"]["queue_sd_bytes"]["mean"]},
            {"algorithm": "oscar", "metric": "drops", "text": "= 0", "met": True, "value": 0},
        ],
        "event_us": EVENT_US,
        "event_label": "the 9 short flows stop",
        "curves_of": "trial 0 of 12",
        "references": [{"chart": "rate", "label": "line rate", "value": LINE_GBPS},
                       {"chart": "rate", "label": "95 % of goodput", "value": 89.9},
                       {"chart": "queue", "label": "ECN threshold", "value": 800_000},
                       {"chart": "queue", "label": "one BDP", "value": BDP_BYTES}],
        "curves": {name: curve(rng, name) for name in names},
        "notes": ["The figures of this page are synthetic: they test the page, they are no measurement."],
    }


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump(microburst(), out)


def evaluation(data, metrics, algorithms):
    """The section of `delaycc eval`: {algorithm: (mean, relative deviation of a trial, trials)}."""
    rng = random.Random(11)
    estimates = []
    for metric in metrics:
        for name, (mean, spread, trials) in algorithms.items():
            values = [mean * max(0.1, rng.gauss(1, spread)) for _ in range(trials)]
            looks = sorted({n for n in (*range(1, 21), *(int(20 * 1.05 ** i) for i in range(200))) if n < trials} | {trials})
            history = {key: [] for key in ("trials", "value", "low", "high", "forecast", "forecast_low", "forecast_high")}
            for n in looks:
                average = sum(values[:n]) / n
                deviation = (sum((v - average) ** 2 for v in values[:n]) / max(1, n - 1)) ** 0.5
                half = 2 * deviation / n ** 0.5
                forecast = round((2 * deviation / (0.02 * average)) ** 2) or None
                row = (n, average, average - half if n > 1 else None, average + half if n > 1 else None, forecast,
                       forecast and forecast * 0.7, forecast and forecast * 1.5)
                for key, value in zip(history, row):
                    history[key].append(value)
            estimates.append({
                "algorithm": name, "metric": metric, "unit": "us" if metric.endswith("us") else "bytes", "estimand": "mean",
                "value": history["value"][-1], "low": history["low"][-1], "high": history["high"][-1], "trials": trials,
                "converged": name != "cubic", "history": history,
                "distribution": {"value": sorted(values)[::max(1, trials // 400)],
                                 "share": [(i + 1) / trials for i in range(0, trials, max(1, trials // 400))]},
            })
    return {"goal": "mean over the trials, within 2 % at 95 % confidence", "margin": 0.02, "converged": False,
            "text": ["fct_p99_us: oscar < dctcp with confidence 95 %", "Not converged: it was interrupted."], "estimates": estimates}
