#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures OSCAR without each mechanism of its default law, one at a time, beside the law as it is.

usage: ablation.py [options] [MECHANISM ...]        (default: all; --list names them)

Each mechanism is a small edit of kernel/core/oscar in a copy of the sources, from which tcp_oscar.ko is built for the
lab.  Trials of the same number have the same random times with and without it, so what is shown is the mean of their
differences.  A figure is shown where the 95 % interval of that mean leaves out zero and the difference is more than
--least of the figure.  Needs `make` and `make lab`.
"""

import argparse
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys

from sweep import half_width

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("DELAYCC_BUILD", os.path.join(ROOT, "build"))


def path(gbps, base_ns):
    """Settings of a dumbbell of another rate or base RTT."""
    sysctl = "algorithms.oscar.sysctl.net.ipv4.delaycc"
    return [f"link.rate_gbps={gbps}", f"link.ecn_threshold_bytes={gbps * base_ns // 16}", f"topology.base_rtt_ns={base_ns}",
            f"{sysctl}.line_rate_mbps={gbps * 1000}", f"{sysctl}.base_rtt_ns={base_ns}"]


# scenario, what differs, settings, whole sweep, trials
CASES = [
    ("oscar-fig07", "", [], True, 4),
    ("oscar-fig07", "30 us, k = 9", ["k=9", *path(100, 30000)], False, 4),
    ("oscar-fig07", "100 us, k = 2", ["k=2", *path(100, 100000)], False, 4),
    ("oscar-fig07", "25 Gbit/s, 20 us, k = 5", ["k=5", *path(25, 20000)], False, 4),
    ("oscar-half", "", [], False, 12),
    ("oscar-half", "40 Gbit/s", path(40, 12000), False, 12),
    ("oscar-stagger", "", [], False, 12),
    ("oscar-stagger", "13 x 250 KB, 15 us apart",
     ["topology.senders=14", "flows.1.count=13", "flows.1.from=senders[1-13]", "flows.1.stagger_us=15", "flows.1.size_bytes=250000"],
     False, 12),
    ("oscar-mice", "", [], False, 12),
    ("oscar-fig06b", "", [], False, 4),
    ("oscar-fig02", "", [], False, 8),
    ("oscar-fig09", "", [], False, 12),
    ("oscar-fig20", "", [], False, 2),
]
METRICS = {
    "oscar-fig07": ["recover_us", "queue_max_bytes", "jain"],
    "oscar-half": ["recover_us", "queue_max_bytes", "utilisation", "jain"],
    "oscar-stagger": ["utilisation", "queue_max_bytes"],
    "oscar-mice": ["utilisation", "queue_max_bytes", "fct_mean_us"],
    "oscar-fig06b": ["jain_time_us"],
    "oscar-fig02": ["queue_mean_bytes", "queue_sd_bytes", "jain_time_us", "jain"],
    "oscar-fig09": ["queue_mean_bytes", "queue_sd_bytes", "utilisation"],
    "oscar-fig20": ["queue_mean_bytes", "utilisation", "jain"],
}

# name: (what goes, [(file below kernel/core/oscar, text, text in its place)])
MECHANISMS = {
    "rate-unbiased": ("9: rate over n - 1 intervals", [
        ("model.h", "return dcc_oscar_rate_ratio(s, e->acked_after_first_bytes, e->last_ns - e->first_ns,\n\t\t\t\t    e->gradient_q16);",
         "return dcc_oscar_rate_ratio(s, e->acked_bytes, e->last_ns - e->start_ns, e->gradient_q16);")]),
    "pause": ("10: a batch ends at a pause in sending, and so does the ring", [
        ("model.h", "if (s->scale.params.paper) {", "if (1) {")]),
    "forget-points": ("10: the ring of delays alone ends at a pause", [
        ("default.h", "> s->batch.gap_ns)\n\t\tdcc_oscar_forget_points(s);", "> s->batch.gap_ns)\n\t\t;")]),
    "band": ("11: brakes within 0.5 us below D_target", [
        ("params.h", "return dcc_min_u32(DCC_OSCAR_BAND_NS, (c->target_ns - c->base_ns) / 8);", "return 0;")]),
    "drain": ("12: the drain's prediction", [
        ("default.h", "if (d->predicted_q24 && rtt_ns <= s->scale.empty_ns)", "if (0)")]),
    "probe": ("12: rate probes; u grows by U_HAI in their place", [
        ("probe.h", "if (p->phase != DCC_OSCAR_PROBE_NONE || s->u_q24 >= DCC_RATIO_ONE)", "if (1)"),
        ("default.h", "return s->u_q24 + s->scale.u_ai_q24;\n\t}", "return s->u_q24 + dcc_ppm_to_q24(10000);\n\t}")]),
    "probe-after-refill": ("12: a probe after the predicted share is taken", [
        ("default.h", "DCC_OSCAR_REFILL);\n\tdcc_oscar_probe_begin(s, ack->now_ns);", "DCC_OSCAR_REFILL);")]),
    "probe-again": ("12: a next probe where the first met no queue", [
        ("probe.h", "\tdcc_oscar_probe_begin(s, ack->now_ns);\n", "")]),
    "fill": ("12: phase FILL; STEER in its place", [
        ("default.h", "? DCC_OSCAR_PHASE_FILL :", "? DCC_OSCAR_PHASE_STEER :")]),
    "hold": ("12: phase HOLD; STEER in its place", [
        ("default.h", ":\n\t\t\t\t\t\t\t DCC_OSCAR_PHASE_HOLD;", ":\n\t\t\t\t\t\t\t DCC_OSCAR_PHASE_STEER;")]),
    "hold-excess": ("12: HOLD aims lower by the mean excess", [
        ("default.h", "if (s->steer.excess_ns > 0)", "if (0)")]),
    "hold-half": ("12: HOLD keeps half of the ratio in force", [
        ("default.h", "return u_q24 / 2 + s->u_q24 / 2;", "return u_q24;")]),
    "half-step": ("13: half of U_AI in FILL and HOLD", [
        ("default.h", "ai_q24 /= 2;", ""), ("default.h", "ai_q24 /= 2;", "")]),
    "ai-since": ("13: U_AI once per tau since the reference state", [
        ("default.h", "ai_q24 = dcc_oscar_ai_since(s, e->first_ns, ack->now_ns);", "ai_q24 = dcc_oscar_ai_step(s);")]),
    "ai-few": ("13: larger steps where few flows share", [
        ("default.h", "return dcc_max_u32(u_ai_q24, dcc_min_u32(many_q24, few_q24));", "(void)many_q24; (void)few_q24; return u_ai_q24;")]),
    "exact": ("14: the window ratio from the ratio in force", [
        ("default.h", "u_w = dcc_oscar_window_ratio_exact(s, e, us_q24);", "u_w = dcc_oscar_window_ratio(s, e);")]),
    "exact-paced": ("14: the same, where pacing was the limit", [
        ("default.h", "if (dcc_oscar_within(inflight, (u64)us_q24 * e->delay_ns, c->packet_ns_q24))", "if (0)")]),
    "exact-windowed": ("14: the same, where the window was the limit", [
        ("default.h", "if (dcc_oscar_within(inflight, (u64)us_q24 * c->target_ns, c->packet_ns_q24))", "if (0)")]),
    "wait-drain": ("no second cut before the first can have drained the queue", [
        ("default.h", "if (dcc_oscar_draining(s, e))", "if (0 && dcc_oscar_draining(s, e))")]),
    "calm-steer": ("below the target the rate loop is heard only while it is calm", [
        ("default.h", "if (!accelerate || dcc_oscar_calm(s, e->last_ns))", "if (1)")]),
    "calm-refill": ("the predicted share is taken only while it is calm", [
        ("default.h", "|| !dcc_oscar_calm(s, ack->send_ns))", ")")]),
    "keep": ("KEEP: an older batch does not undo a rise", [
        ("default.h", "if (e->first_ns < s->steer.raised_ns &&", "if (0 &&")]),
    "probe-news": ("an empty batch from before the last rise begins no probe", [
        ("default.h", "if (e->first_ns > s->steer.raised_ns && dcc_oscar", "if (dcc_oscar")]),
    "margin": ("15: more than the predicted share", [
        ("default.h", "share_q24 += (u32)dcc_scale_q24(share_q24, dcc_oscar_margin_q24(s));", "(void)dcc_oscar_margin_q24;")]),
    "margin-rare": ("15: up to four times more where packets are rare", [
        ("drain.h", "if (margin_q24 < DCC_RATIO_ONE || dcc_oscar_drop_is_sure(s))", "(void)dcc_oscar_drop_is_sure;")]),
    "margin-sure": ("15: not if one interval was wholly within the drain", [
        ("drain.h", "|| dcc_oscar_drop_is_sure(s))", ")")]),
    "margin-square": ("15: the margin by the rarity of packets; a quarter in its place", [
        ("drain.h", "* rare_q12), DCC_OSCAR_MARGIN_MIN);", "* rare_q12), DCC_OSCAR_MARGIN_SURE);")]),
    "drain-rise": ("a rise of the delay ends a drain", [
        ("default.h", "if (d->predicted_q24 && rtt_ns > (u64)", "if (0 && rtt_ns > (u64)")]),
    "drain-least": ("a drop has a least size", [
        ("params.h", "c->drop_ns = queue_ns / 5 * 2;", "c->drop_ns = 1;")]),
    "drain-steep": ("a slope is -0.3 or steeper", [
        ("drain.h", "|| (u64)drop_ns * 10 < span_ns * 3 ||", "||")]),
    "drain-span": ("a span is four tau at most", [
        ("drain.h", "span_ns > (u64)c->tau_ns * 4)", "0)")]),
    "drain-high": ("a span begins below 1.125 D_target", [
        ("drain.h", "if (delay_ns > c->high_ns)\n\t\t\tcontinue;", ""),
        ("drain.h", "if (ack->rtt_ns <= s->scale.high_ns)\n\t\td->peak_ns", "d->peak_ns")]),
    "drain-ratio": ("the measured rate is at most the ratio in force", [
        ("drain.h", "u_q24 = dcc_min_u32(u_q24, dcc_oscar_ratio_at(s, d->point_send_ns[i]));", "")]),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mechanism", nargs="*", help="names of --list, or several with + between, which go together")
    parser.add_argument("--list", action="store_true", help="name the mechanisms")
    parser.add_argument("--seed", default="9001", help="of all random times (default 9001)")
    parser.add_argument("--times", type=int, default=1, help="this many times the trials of each case (default 1)")
    parser.add_argument("--least", type=float, default=0.01, help="least difference shown, as a part of the figure (default 0.01)")
    parser.add_argument("--out", default=os.path.join(BUILD, "ablation"), help="folder (default build/ablation)")
    return parser.parse_args()


def build(name, edits, out):
    """The lab's folder with a tcp_oscar.ko of the edited sources."""
    sources, modules, lab = (os.path.join(out, kind, name) for kind in ("src", "modules", "lab"))
    for folder in (sources, modules, lab):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "kernel"), sources)
    for file, old, new in edits:
        path = os.path.join(sources, "core", "oscar", file)
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        if old not in text:
            sys.exit(f"ablation.py: {name}: kernel/core/oscar/{file} has no longer the text: {old}")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text.replace(old, new, 1))
    with open(os.path.join(sources, "Kbuild"), "a", encoding="utf-8") as stream:
        stream.write("obj-m := tcp_oscar.o\n")
    command = ["make", "-s", "--no-print-directory", "-C", sources, f"KDIR={BUILD}/lab-kernel", "ARCH=um", f"OUT={modules}",
               f"KBUILD_EXTRA_SYMBOLS={BUILD}/modules/lab/Module.symvers"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"ablation.py: {name}:\n{done.stdout}")
    os.makedirs(lab)
    for entry in os.listdir(os.path.join(BUILD, "lab")):
        source = os.path.join(modules, entry) if entry == "tcp_oscar.ko" else os.path.realpath(os.path.join(BUILD, "lab", entry))
        os.symlink(source, os.path.join(lab, entry))
    return lab


def measure(lab, out, options):
    """{(case, metric): {trial: value}}"""
    values = {}
    for number, (scenario, what, settings, sweep, trials) in enumerate(CASES):
        folder = os.path.join(out, f"{scenario}-{number}")
        shutil.rmtree(folder, ignore_errors=True)
        command = [os.path.join(BUILD, "delaycc"), "run", scenario, "--cc", "oscar", "--seed", options.seed, "--jobs", "1",
                   "--trials", str(trials * options.times), "--quiet", "--out", folder]
        command += ["--sweep"] if sweep else []
        for setting in settings:
            command += ["--set", setting]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env={**os.environ, "DELAYCC_LAB": lab}, cwd=ROOT)
        if done.returncode:
            sys.exit(f"ablation.py: {' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
        with sqlite3.connect(os.path.join(folder, "results.sqlite")) as results:
            for parameters, trial, metric, value in results.execute(
                    "select parameters, number, name, value from trials, metrics where trial = id"):
                if metric in METRICS[scenario]:
                    case = " ".join(filter(None, (scenario, what, parameters if sweep else "")))
                    values.setdefault((case, metric), {})[trial] = value
        shutil.rmtree(folder, ignore_errors=True)
    return values


def compare(name, values, default, least):
    what = MECHANISMS[name][0] if name in MECHANISMS else "together"
    shown = 0
    for key in sorted(default):
        pairs = [(default[key][trial], values[key][trial]) for trial in default[key] if trial in values.get(key, {})]
        if len(pairs) < 2:
            continue
        with_it, without = (statistics.mean(side) for side in zip(*pairs))
        differences = [b - a for a, b in pairs]
        half = half_width(differences)
        mean = statistics.mean(differences)
        if abs(mean) > half and abs(mean) > least * abs(with_it):
            shown += 1
            print(f"| {name} | {what} | {key[0]} {key[1]} | {with_it:.6g} | {without:.6g} | {mean:+.4g} +- {half:.3g} |", flush=True)
    if not shown:
        print(f"| {name} | {what} | - | | | |", flush=True)


def main():
    options = arguments()
    if options.list:
        for name, (what, _) in MECHANISMS.items():
            print(f"{name:20} {what}")
        return
    for name in "+".join(options.mechanism).split("+") if options.mechanism else []:
        if name not in MECHANISMS:
            sys.exit(f"ablation.py: no mechanism \"{name}\" (--list names them)")
    print("| mechanism | what | figure | with | without | difference |\n|---|---|---|---|---|---|")
    default = measure(build("default", [], options.out), options.out, options)
    for name in options.mechanism or MECHANISMS:
        edits = [edit for part in name.split("+") for edit in MECHANISMS[part][1]]
        compare(name, measure(build(name, edits, options.out), options.out, options), default, options.least)


if __name__ == "__main__":
    main()
