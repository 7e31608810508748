#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What one flow and what requests get from each algorithm with no sysctl set, beside cubic and bbr: the table of docs/research/does-no-harm.md.

Boots Debian's stock kernel once for each algorithm and part (harm.sh is its init). What a machine printed is kept in build/harm/results, and is
used again as long as all that it depends on stays the same: a run that was stopped goes on where it was. Writes build/harm/table.json and the
tables of the page.

    harm.py [--jobs N] [--algorithms NAME,...]
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "harness" / "tools")]

import owned  # noqa: E402
import page  # noqa: E402

WORK = ROOT / "build" / "harm"
PAGE = ROOT / "docs" / "research" / "does-no-harm.md"
SERIES = os.environ.get("DELAYCC_VM_KERNEL", "6.1")

PEERS = ("cubic", "bbr")
OURS = ("oscar", "swift", "timely", "patched_timely", "ledbat", "thetapowertcp", "prioplus", "prioplus_ledbat", "ccc", "sqcc")
PAPERS = ("oscar_paper", "ccc_paper", "sqcc_paper", "prioplus_paper", "prioledb_paper")

RATES_MBPS = (10, 100, 1000)
RTTS_US = (100, 1000, 5000, 20000, 80000)
LOSSES_PERCENT = ("0", "0.1", "1")
REQUEST_RATE_MBPS = 100
REQUEST_LOSSES_PERCENT = ("0", "1")

# An Ethernet frame that is full, as netem counts it.
FRAME_BYTES = 1514
PAYLOAD_BYTES = 1448
# The router's queue is one BDP, and this many packets at least.
QUEUE_PACKETS = 64
# A measurement takes so many RTTs, the time of so many packets at the line's rate, and so long, at least; a quarter of it goes by before.
RTTS, PACKETS, SHORTEST_MS = 100, 10000, 250
# Requests go on for a second and so many RTTs.
REQUEST_RTTS = 50
# An instruction takes 1 ns: the guest's processor carries 1 Gbit/s.
SHIFT = 0
# Seconds of processor time: one machine takes 20 to 120.
LIMIT_S, SILENT_S = 3600, 900
# run.sh: there is no such kernel here.
SKIPPED = 77


@dataclasses.dataclass(frozen=True, order=True)
class Cell:
    mbps: int
    rtt_us: int
    loss: str

    @property
    def queue_packets(self):
        return max(QUEUE_PACKETS, self.mbps * self.rtt_us // 8 // FRAME_BYTES)

    @property
    def measure_ms(self):
        return max(RTTS * self.rtt_us // 1000, PACKETS * FRAME_BYTES * 8 // (self.mbps * 1000), SHORTEST_MS)

    @property
    def warm_ms(self):
        return self.measure_ms // 4

    @property
    def frames(self):
        """What the line carries until the measurement's end."""
        return (self.warm_ms + self.measure_ms) * 1000 * self.mbps // (8 * FRAME_BYTES)

    @property
    def bulk_word(self):
        return f"{self.mbps}:{self.rtt_us}:{self.loss}:{self.queue_packets}:{self.warm_ms}:{self.measure_ms}"

    @property
    def request_word(self):
        return f"{self.mbps}:{self.rtt_us}:{self.loss}:{self.queue_packets}:{1 + REQUEST_RTTS * self.rtt_us // 1000000}"

    def __str__(self):
        return f"{self.mbps} Mbit/s, {self.rtt_us / 1000:g} ms, {self.loss} %"


def grid(rates=RATES_MBPS, rtts=RTTS_US, losses=LOSSES_PERCENT):
    return [Cell(rate, rtt, loss) for rate in rates for rtt in rtts for loss in losses]


# What `make vm-test` measures of the grid: each rate with each loss once, with the RTT that the two choose, so that each level of each of the
# three occurs. It was fixed before anything was measured.
SAMPLE = [Cell(rate, RTTS_US[(r + 2 * n) % len(RTTS_US)], loss) for r, rate in enumerate(RATES_MBPS) for n, loss in enumerate(LOSSES_PERCENT)]
# And `make test`: all but two cells of 1 Gbit/s, which take more than half of the processor time.
QUICK = [cell for cell in SAMPLE if cell.frames <= 30000]
REQUEST_CELLS = grid((REQUEST_RATE_MBPS,), RTTS_US, REQUEST_LOSSES_PERCENT)
# The machines of one algorithm: name -> cells of bulk, cells of requests.
PARTS = {**{f"bulk-{rate}": (grid((rate,)), []) for rate in RATES_MBPS}, "requests": ([], REQUEST_CELLS)}


def words(algorithms, bulk, requests, tell=()):
    """What the kernel's command line tells harm.sh."""
    return " ".join(f"{name}={','.join(values)}" for name, values in (
        ("algorithms", algorithms), ("bulk", [cell.bulk_word for cell in bulk]),
        ("requests", [cell.request_word for cell in requests]), ("tell", tell)) if values)


def environment(chosen, work=WORK):
    return {**os.environ, "DELAYCC_VM_KERNEL": SERIES, "DELAYCC_VM_WORK": str(work), "DELAYCC_VM_SHIFT": str(SHIFT), "DELAYCC_VM_WORDS": chosen}


class NotHere(Exception):
    """There is no such kernel on this machine, and it cannot be fetched."""


def prepare(work=WORK):
    done = owned.run([HERE / "run.sh", "--prepare", HERE / "harm.sh"], env=environment("", work), stalled_s=1800)
    if done.returncode == SKIPPED:
        raise NotHere(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        raise owned.GivenUp(f"run.sh --prepare ended with {done.returncode}: {done.stderr[-2000:]}", done.stdout)


def boot(chosen, work=WORK):
    """The console of a machine that ran these words."""
    done = owned.run([HERE / "run.sh", "--boot", HERE / "harm.sh"], env=environment(chosen, work), limit_s=LIMIT_S, silent_s=SILENT_S)
    if done.returncode:
        raise owned.GivenUp(f"run.sh ended with {done.returncode}: {done.stderr[-500:]}", done.stdout)
    return done.stdout.replace("\r", "")


def read(console):
    """{(kind, algorithm, Cell): {name: number}} of the lines BULK and REQUESTS; ValueError for a machine that did not end well."""
    if "PASS kernel_has_not_complained" not in console or "\nEND" not in console or "\nFAIL" in console:
        raise ValueError(f"the machine did not end well: {console[-1500:]}")
    figures = {}
    for kind, algorithm, mbps, rtt_us, loss, rest in re.findall(r"^(BULK|REQUESTS) (\S+) (\d+) (\d+) (\S+) (.*)$", console, re.MULTILINE):
        pairs = re.findall(r"(\w+)=(-?[0-9.]+)", rest)
        if not pairs:
            raise ValueError(f"no figures: {kind} {algorithm} {mbps} {rtt_us} {loss} {rest}")
        figures[kind, algorithm, Cell(int(mbps), int(rtt_us), loss)] = {name: float(value) for name, value in pairs}
    return figures


# ---- shares -------------------------------------------------------------------

def shares(figures, kind, name, algorithm, peers=PEERS):
    """{Cell: the algorithm's figure over the lower of its peers'} for the cells that all of them have; ValueError where a peer got nothing."""
    found = {}
    for cell in sorted(cell for k, a, cell in figures if k == kind and a == algorithm):
        beside = [figures[kind, peer, cell][name] for peer in peers if (kind, peer, cell) in figures]
        if len(beside) < len(peers):
            continue
        if min(beside) <= 0:
            raise ValueError(f"{cell}: {name}: one of {', '.join(peers)} got nothing")
        found[cell] = figures[kind, algorithm, cell][name] / min(beside)
    return found


def mean_share(found):
    """No cell counts for more than 1: a good one does not hide a bad one."""
    return sum(min(share, 1) for share in found.values()) / len(found)


# ---- the whole table ------------------------------------------------------------

def sha256(*parts):
    state = hashlib.sha256()
    for part in parts:
        state.update(part if isinstance(part, bytes) else part.encode())
        state.update(b"\0")
    return state.hexdigest()


def machines(algorithms):
    """[(algorithm, part, words)], for all algorithms part by part."""
    order = list(PARTS)
    return [(algorithm, part, words([algorithm], *PARTS[part])) for part in order for algorithm in algorithms]


def kept(file, key):
    """What an earlier run left, if all that it depends on is the same."""
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return result if result.get("key") == key else None


def measure(chosen, file, key):
    start = time.monotonic()
    console = boot(chosen)
    read(console)
    result = {"key": key, "seconds": round(time.monotonic() - start, 1), "console": console[console.index("BEGIN"):].splitlines()}
    # All or nothing: a run may be stopped at any time.
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    partial.replace(file)
    return result


def identity():
    """Of what every machine's result depends on, but for its words."""
    kernel = subprocess.run([HERE / "kernel.sh", SERIES], capture_output=True, text=True, check=True).stdout.strip()
    qemu = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout
    machine = (HERE / "run.sh").read_text(encoding="utf-8").split("# ---- the machine", 1)[1]
    return sha256((WORK / "initramfs").read_bytes(), (pathlib.Path(kernel) / "release").read_text(), machine, qemu, str(SHIFT))


def run_all(algorithms, jobs, say):
    """{(algorithm, part): result}; machines that failed are said and left out."""
    (WORK / "results").mkdir(parents=True, exist_ok=True)
    say("building modules and the initial file system")
    prepare()
    same = identity()
    results, waiting = {}, []
    for algorithm, part, chosen in machines(algorithms):
        file, key = WORK / "results" / f"{algorithm}-{part}.json", sha256(same, chosen)
        result = kept(file, key)
        if result:
            results[algorithm, part] = result
        else:
            waiting.append((algorithm, part, chosen, file, key))
    say(f"{len(results)} of {len(results) + len(waiting)} machines are done already")
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(measure, chosen, file, key): (algorithm, part) for algorithm, part, chosen, file, key in waiting}
        for n, done in enumerate(concurrent.futures.as_completed(running), 1):
            algorithm, part = running[done]
            left = (time.monotonic() - start) / n * (len(waiting) - n)
            try:
                results[algorithm, part] = done.result()
                how = f"{results[algorithm, part]['seconds']:.0f} s"
            except (owned.GivenUp, ValueError) as error:
                how = f"failed: {error}"
            say(f"{n} of {len(waiting)}: {algorithm} {part}: {how}; about {left / 60:.0f} min left")
    return results


def collect(results):
    figures = {}
    for result in results.values():
        figures.update(read("\n".join(result["console"])))
    return figures


# ---- the page ---------------------------------------------------------------------

BULK, REQUESTS = "BULK", "REQUESTS"
BULK_KEYS, REQUEST_KEYS = ("Mbit/s", "RTT, ms", "loss, %"), ("RTT, ms", "loss, %")
LIMITS = (0.9, 0.8, 0.5, 0.01)


def share_text(share):
    return "-" if share is None else f"{share:.3f}" if share < 0.0995 else f"{share:.2f}"


def sent_again(figures, algorithm):
    """Packets that the sender sent again, for each packet that arrived, over all bulk cells."""
    again = arrived = 0
    for (kind, name, cell), got in figures.items():
        if kind == BULK and name == algorithm:
            again += got["retrans"]
            arrived += (got["kbps"] + got["warm_kbps"] / 4) * cell.measure_ms / 8 / PAYLOAD_BYTES
    return again / arrived


def summary_table(figures, algorithms):
    rows = []
    for algorithm in algorithms:
        found = shares(figures, BULK, "kbps", algorithm)
        if not found:
            continue
        worst = min(found, key=found.get)
        rows.append([f"`{algorithm}`", share_text(mean_share(found)), f"{share_text(found[worst])} ({worst})",
                     *(str(sum(share < limit for share in found.values())) for limit in LIMITS), str(len(found)),
                     share_text(sent_again(figures, algorithm))])
    return page.table(["algorithm", "mean share", "worst cell", *(f"below {limit:g}" for limit in LIMITS), "cells", "sent again"], rows)


def measured(figures, kind, algorithms):
    """Those of the algorithms that have figures of this kind: a table may be written before all machines have run."""
    return [algorithm for algorithm in algorithms if any(k == kind and a == algorithm for k, a, _ in figures)]


def bulk_table(figures, algorithms):
    algorithms = measured(figures, BULK, algorithms)
    found = {algorithm: shares(figures, BULK, "kbps", algorithm) for algorithm in algorithms}
    rows = []
    for cell in grid():
        peers = [figures.get((BULK, peer, cell), {}).get("kbps") for peer in PEERS]
        rows.append([str(cell.mbps), f"{cell.rtt_us / 1000:g}", cell.loss,
                     *("-" if kbps is None else f"{kbps / 1000:.3g}" for kbps in peers),
                     *(share_text(found[algorithm].get(cell)) for algorithm in algorithms)])
    return page.table([*BULK_KEYS, *PEERS, *algorithms], rows)


def request_table(figures, algorithms, name):
    algorithms = measured(figures, REQUESTS, algorithms)
    found = {algorithm: shares(figures, REQUESTS, name, algorithm) for algorithm in algorithms}
    rows = []
    for cell in REQUEST_CELLS:
        peers = [figures.get((REQUESTS, peer, cell), {}).get(name) for peer in PEERS]
        rows.append([f"{cell.rtt_us / 1000:g}", cell.loss,
                     *("-" if each is None else f"{each:.0f}" if each >= 1000 else f"{each:.3g}" for each in peers),
                     *(share_text(found[algorithm].get(cell)) for algorithm in algorithms)])
    return page.table([*REQUEST_KEYS, *PEERS, *algorithms], rows)


def write_page(figures, algorithms):
    """With some of the algorithms alone: their rows and columns. The peers' figures, which their shares are of, then stay those of the others."""
    shown = page.Page(PAGE)
    every = set(algorithms) == set(OURS + PAPERS)

    def put(name, made, merge):
        shown.put(name, "make harm-table", made, None if every else merge)

    def columns(keys):
        return lambda new, old: page.columns(new, old, len(keys), algorithms)

    put("summary", summary_table(figures, algorithms), page.rows_by_name)
    put("bulk", bulk_table(figures, algorithms), columns(BULK_KEYS))
    for name in ("small", "large", "redis"):
        put(name, request_table(figures, algorithms, name), columns(REQUEST_KEYS))
    shown.save()


def save(figures):
    # A flow's own RTT has the name of the cell's.
    rows = [{"kind": kind, "algorithm": algorithm, **{"flow_" + name: value for name, value in values.items()}, **dataclasses.asdict(cell)}
            for (kind, algorithm, cell), values in sorted(figures.items())]
    (WORK / "table.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="machines at a time (%(default)s)")
    parser.add_argument("--algorithms", metavar="NAME,...", default=",".join(OURS + PAPERS), help="beside cubic and bbr (%(default)s)")
    parser.add_argument("--page", action="store_true",
                        help="write the tables into docs/research/does-no-harm.md; with --algorithms their rows and columns alone")
    arguments = parser.parse_args()
    chosen = arguments.algorithms.split(",")
    unknown = [name for name in chosen if name not in OURS + PAPERS]
    if unknown or arguments.jobs < 1:
        parser.error(f"{', '.join(unknown)}: there are {', '.join(OURS + PAPERS)}" if unknown else "--jobs is at least 1")
    results = run_all([*PEERS, *chosen], arguments.jobs, lambda line: print(line, flush=True))
    figures = collect(results)
    save(figures)
    print(summary_table(figures, chosen))
    if arguments.page:
        write_page(figures, chosen)
    return 0 if len(results) == len(machines([*PEERS, *chosen])) else 1


if __name__ == "__main__":
    sys.exit(main())
