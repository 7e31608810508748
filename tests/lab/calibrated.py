#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `delaycc calibrate` finds on a noisy path of the lab, and what its settings are worth: the tables of docs/operate/calibrate.md.

usage: calibrated.py [--trials N] [--page]

On a path with devices that stamp packets the hosts' noise is uniform, from 0 to so much on each way; calibrate runs on it. Then the scenario
host-noise, whose hosts have the same noise, runs with what it found, and with what hosts know without it. --page writes into the page, else
the tables go to standard output.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operate" / "calibrate.md"
ALGORITHMS = ("oscar", "ccc", "swift", "prioplus")
NOISES_NS = (0, 1000, 5000, 20000)
FULL_BYTES, ACK_BYTES = 1514, 66
# Of the sum of two equal uniform noises, 99.85 % are below this part of the largest.
HIGHEST = 1 - (0.0015 / 2) ** 0.5


def in_lab(command, wire_ns, rate_bps, noise_ns):
    """In the lab, as its init: what calibrate prints on a path with this noise."""
    import stamps

    stamps.load(noise_ns=noise_ns)
    a, _, _ = stamps.path(wire_ns=wire_ns, rate_bps=rate_bps)
    with a:
        return subprocess.run([*command, "--json", "--cc", ",".join(ALGORITHMS), stamps.B], capture_output=True, text=True, check=True).stdout


def find(noise_ns, rtt_ns=12000, gbps=100, options=()):
    """What calibrate finds there: its JSON."""
    import outside

    module = outside.build_module("stamped", pathlib.Path(__file__).parent / "stamped")
    # The router's two ports serialise the packet there and its ACK back, and have two wires each.
    wire_ns = round((rtt_ns - (FULL_BYTES + ACK_BYTES) * 8 / gbps) / 4)
    printed, _ = outside.boot("in_lab", [str(outside.DELAYCC), "calibrate", *options], wire_ns, round(gbps * 1e9), noise_ns,
                              script=pathlib.Path(__file__).resolve(), options=(f"STAMPED_MODULE={module}",))
    return json.loads(printed)


def settings_of(found, algorithm):
    """--set for a scenario: the algorithm's, and those that all share."""
    shared = "net.ipv4.delaycc."
    for setting in found["settings"]:
        name = setting["name"].removeprefix(shared)
        if "." not in name or name.startswith(algorithm + "."):
            yield from ("--set", f"algorithms.{algorithm}.sysctl.{shared}{name}={setting['value']}")


def measure(algorithm, noise_ns, words, trials=1, more=()):
    """(utilisation, mean queue in bytes) of the scenario host-noise."""
    import outside

    with tempfile.TemporaryDirectory() as folder:
        outside.run("host-noise", folder, "--cc", algorithm, "--trials", str(trials), "--set", f"noise_ns={noise_ns}", *more, *words)
        metrics = json.loads((pathlib.Path(folder) / "summary.json").read_text())["algorithms"][algorithm]
    return metrics["utilisation"]["mean"], metrics["queue_mean_bytes"]["mean"]


def table(head, rows):
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in (head, ["---"] * len(head), *rows))


def tables(trials):
    found = {noise_ns: find(noise_ns) for noise_ns in NOISES_NS}
    rows = []
    for noise_ns, one in found.items():
        rows.append([noise_ns, 12000, one["base_rtt_ns"], noise_ns, one["noise_ns"], round(2 * noise_ns * HIGHEST - noise_ns), one["spread_ns"],
                     *(next(s["value"] for s in one["settings"] if s["name"].endswith(name)) for name in (
                         "line_rate_mbps", "prioplus.levels"))])
    settings = table(["each host's noise, ns", "base RTT", "found", "mean noise", "found", "S of the hosts", "found", "line rate", "levels"], rows)
    rows = []
    for noise_ns in NOISES_NS:
        for algorithm in ALGORITHMS:
            ways = (("--set", "base=automatic"), ("--set", "base=path"), tuple(settings_of(found[noise_ns], algorithm)))
            cells = [measure(algorithm, noise_ns, words, trials) for words in ways]
            rows.append([noise_ns, algorithm, *(f"{use:.3f}, {queue / 1000:.1f}" for use, queue in cells)])
    return {"settings": settings, "runs": table(["noise_ns", "algorithm", "nothing configured", "the idle path's RTT", "calibrated"], rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2, help="per cell (default 2)")
    parser.add_argument("--page", action="store_true", help="write into docs/operate/calibrate.md")
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    for name, text in tables(options.trials).items():
        begin, end = f"<!-- {name}: from tests/lab/calibrated.py -->\n", "<!-- end -->\n"
        if options.page:
            page, count = re.subn(re.escape(begin) + ".*?" + re.escape(end), lambda _, new=begin + text + end: new, page, flags=re.DOTALL)
            if count != 1:
                sys.exit(f"{PAGE}: no place for {name}")
        else:
            print(text)
    if options.page:
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
