# SPDX-License-Identifier: Apache-2.0
"""A link's end as tc sees it on Linux (noqueue, or htb, hfsc, tbf, netem and what is inside), and the lab's port that does the same.

A tree is {"qdiscs": [{"kind", "handle", "parent", ...}], "classes": [{"classid", "parent", ...}]}; "handle" is "5:", "parent" "root" or "5:1".
The state of each link's end (its tree, what its port has otherwise) is a file, which the script's process and each tc of the lab share.
Standard library only, and nothing of Mininet: each tc of the lab starts with it.
"""

import json
import os
import re
import struct

from . import labnet

FOLDER = "/dev/delaycc"
# The program itself, where the lab's stands over it.
REAL_TC = FOLDER + "/real-tc"
# Lines: what a script asked of tc and the lab did not do.
REFUSED = FOLDER + "/refused"
# Of a link without a rate. Where a processor takes no time, an infinitely fast link would carry for ever without time passing.
DEFAULT_RATE_BPS = 10_000_000_000
DEFAULT_DELAY_NS = 1000
FULL_PACKET_BYTES = 1514
# Of netem, and of a class of htb without a qdisc (txqueuelen of a veth).
DEFAULT_LIMIT_PACKETS = 1000
QUANTILES, PPM = 64, 1_000_000
DISTRIBUTIONS = ("/usr/lib/tc", "/usr/share/tc", "/usr/lib/x86_64-linux-gnu/tc")
# What the kernel runs inside the port, in front of its rate.
INSIDE = ("fq", "fq_codel", "red")


class Invalid(Exception):
    """What tc refuses on Linux, too: its words."""


class Unable(Exception):
    """What Linux does and the lab does not."""


# ---- tc's units ----

_RATES = {"": 1, "bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12, "kibit": 2**10, "mibit": 2**20, "gibit": 2**30,
          "bps": 8, "kbps": 8 * 10**3, "mbps": 8 * 10**6, "gbps": 8 * 10**9, "tbps": 8 * 10**12, "kibps": 2**13, "mibps": 2**23}
_TIMES = {"": 10**3, "s": 10**9, "sec": 10**9, "secs": 10**9, "ms": 10**6, "msec": 10**6, "msecs": 10**6, "us": 10**3, "usec": 10**3,
          "usecs": 10**3, "ns": 1, "nsec": 1, "nsecs": 1}
_SIZES = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30, "kbit": 2**7, "mbit": 2**17}


def _scaled(word, units, what):
    found = re.fullmatch(r"([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)([a-z]*)", word.lower())
    if not found or found[2] not in units:
        raise Invalid(f'Illegal "{what}"')
    return round(float(found[1]) * units[found[2]])


def rate_bps(word):
    return _scaled(word, _RATES, "rate")


def time_ns(word):
    return _scaled(word, _TIMES, "time")


def size_bytes(word):
    return _scaled(word.split("/")[0], _SIZES, "size")


def percent_ppm(word):
    value = _scaled(word[:-1] if word.endswith("%") else word, {"": 10_000}, "percent")
    if value > PPM:
        raise Invalid('Illegal "percent"')
    return value


def number(word):
    return _scaled(word, {"": 1}, "number")


# ---- options of each kind ----


class Words:
    def __init__(self, words):
        self._left = list(words)

    def __bool__(self):
        return bool(self._left)

    def next(self, what="option"):
        if not self._left:
            raise Invalid(f'Command line is not complete. Try option "help": {what} is missing')
        return self._left.pop(0)

    def is_next(self, pattern):
        return bool(self._left) and re.fullmatch(pattern, self._left[0]) is not None


NUMBER = r"[0-9.]+(?:e[+-]?[0-9]+)?"


def netem(words):
    """Its options; what a port does not do is named in "unlike": the kernel's netem does it."""
    out = {"limit": DEFAULT_LIMIT_PACKETS, "delay_ns": 0, "jitter_ns": 0, "loss_ppm": 0, "unlike": []}
    left = Words(words)
    while left:
        word = left.next()
        if word in ("delay", "latency"):
            out["delay_ns"] = time_ns(left.next(word))
            if left.is_next(NUMBER + "[a-zA-Z]*"):
                out["jitter_ns"] = time_ns(left.next())
                if left.is_next(NUMBER + "%?") and percent_ppm(left.next()):
                    out["unlike"].append("correlation of delays")
        elif word == "limit":
            out["limit"] = number(left.next(word))
        elif word == "distribution":
            out["distribution"] = left.next(word)
        elif word in ("loss", "drop"):
            if left.is_next("state|gemodel"):
                out["unlike"].append(f"loss {left.next()}")
                while left.is_next(NUMBER + "%?"):
                    left.next()
            else:
                if left.is_next("random"):
                    left.next()
                out["loss_ppm"] = percent_ppm(left.next(word))
                if left.is_next(NUMBER + "%?") and percent_ppm(left.next()):
                    out["unlike"].append("correlation of losses")
        elif word == "rate":
            out["rate_bps"] = rate_bps(left.next(word))
            while left.is_next("-?" + NUMBER):
                if number(left.next().lstrip("-")):
                    out["unlike"].append("overhead or cells of a rate")
        elif word in ("duplicate", "corrupt", "reorder", "gap"):
            value = left.next(word)
            if left.is_next(NUMBER + "%?"):
                left.next()
            if value.strip("0.%"):
                out["unlike"].append(word)
        elif word in ("slot", "ecn"):
            out["unlike"].append(word)
            while left and not left.is_next("delay|latency|limit|loss|drop|rate|duplicate|corrupt|reorder|gap|ecn"):
                left.next()
        else:
            raise Invalid(f'What is "{word}"?')
    if "distribution" in out and not out["jitter_ns"]:
        raise Invalid("distribution specified but no latency and jitter values")
    return out


def tbf(words):
    out, left = {}, Words(words)
    while left:
        word = left.next()
        if word == "rate":
            out["rate_bps"] = rate_bps(left.next(word))
        elif word in ("burst", "buffer", "maxburst"):
            out["burst"] = size_bytes(left.next(word))
        elif word == "limit":
            out["limit_bytes"] = size_bytes(left.next(word))
        elif word == "latency":
            out["latency_ns"] = time_ns(left.next(word))
        elif word in ("mtu", "minburst", "mpu", "overhead", "linklayer", "peakrate"):
            left.next(word)
            if word in ("peakrate", "overhead", "linklayer"):
                raise Unable(f"tbf's {word} is not offered")
        else:
            raise Invalid(f'What is "{word}"?')
    if not out.get("rate_bps"):
        raise Invalid('"rate" is required.')
    if "burst" not in out:
        raise Invalid('"burst" is required.')
    if "latency_ns" in out and "limit_bytes" not in out:
        out["limit_bytes"] = out["rate_bps"] * out["latency_ns"] // (8 * 10**9) + out["burst"]
    if "limit_bytes" not in out:
        raise Invalid('Either "limit" or "latency" is required.')
    return out


def htb(words):
    out, left = {"default": 0}, Words(words)
    while left:
        word = left.next()
        if word in ("default", "r2q", "direct_qlen"):
            value = left.next(word)
            if word == "default":
                out["default"] = int(value, 16)
        elif word not in ("debug", "offload"):
            raise Invalid(f'What is "{word}"?')
    return out


def htb_class(words):
    out, left = {}, Words(words)
    while left:
        word = left.next()
        if word == "rate":
            out["rate_bps"] = rate_bps(left.next(word))
        elif word == "ceil":
            out["ceil_bps"] = rate_bps(left.next(word))
        elif word in ("burst", "buffer", "maxburst", "cburst", "cbuffer", "cmaxburst", "prio", "mtu", "quantum", "mpu"):
            left.next(word)
        elif word in ("overhead", "linklayer"):
            raise Unable(f"htb's {word} is not offered")
        else:
            raise Invalid(f'What is "{word}"?')
    if not out.get("rate_bps"):
        raise Invalid('"rate" is required.')
    return {"ceil_bps": out["rate_bps"], **out}


def hfsc_class(words):
    out, left = {}, Words(words)
    while left:
        word, of = left.next(), left.next("rate")
        if word not in ("sc", "rt", "ls", "ul") or of not in ("rate", "m2"):
            raise Unable("of hfsc's curves sc, rt, ls and ul with a rate alone are offered")
        out["ceil_bps" if word == "ul" else "rate_bps"] = rate_bps(left.next("rate"))
    if "ceil_bps" not in out:
        raise Unable("a class of hfsc without an upper limit (ul rate) is not offered")
    return {"rate_bps": out["ceil_bps"], **out}


def fifo(words):
    out, left = {}, Words(words)
    while left:
        if left.next() != "limit":
            raise Invalid('What is this? A fifo has "limit"')
        out["limit"] = left.next("limit")
    return out


OPTIONS = {"netem": netem, "tbf": tbf, "htb": htb, "hfsc": htb, "pfifo": fifo, "bfifo": fifo, "pfifo_fast": fifo}
CLASS_OPTIONS = {"htb": htb_class, "hfsc": hfsc_class}


def new_tree():
    return {"qdiscs": [], "classes": [], "next": 0x8001}


def add(tree, kind, handle, parent, **values):
    tree["qdiscs"].append({"kind": kind, "handle": handle, "parent": parent, "words": [], **values})


def tree_of_link(kind, rate, delay_ns, jitter_ns, loss_ppm, limit_bytes, latency_ms=None):
    """That which Mininet's TCIntf makes ("htb", "tbf" or "hfsc", and netem), or a netem alone ("netem"); None: not asked for."""
    tree, parent, values = new_tree(), "root", {}
    if kind == "netem":
        values = {} if rate is None else {"rate_bps": rate}
    elif rate is not None:
        if kind == "tbf":
            # TCIntf's own burst, and its latency unless it is given: 15000 bytes of each.
            waiting = 15000 if latency_ms is None else round(rate * latency_ms / 8000)
            add(tree, "tbf", "5:", parent, rate_bps=rate, burst=15000, limit_bytes=waiting + 15000)
        else:
            add(tree, kind, "5:", parent, default=1, link=True)
            tree["classes"].append({"kind": kind, "classid": "5:1", "parent": "5:", "rate_bps": rate, "ceil_bps": rate})
        parent = "5:1"
    if values or delay_ns is not None or jitter_ns or loss_ppm or limit_bytes:
        if limit_bytes:
            values["limit_bytes"] = limit_bytes
        add(tree, "netem", "8001:" if kind == "netem" else "10:", parent, delay_ns=delay_ns or 0, jitter_ns=jitter_ns, loss_ppm=loss_ppm,
            limit=max(1, limit_bytes // FULL_PACKET_BYTES) if limit_bytes else None, unlike=[], **values)
        tree["next"] += kind == "netem"
    return tree


# ---- what a tree comes to ----


def _class_rate_bps(tree, wanted):
    """A class alone: its own rate, or what it borrows up to its ceiling. (The topmost have nobody to borrow from.)"""
    lent = next((_class_rate_bps(tree, above) for above in tree["classes"] if above["classid"] == wanted["parent"]), 0)
    return min(wanted["ceil_bps"], max(wanted["rate_bps"], lent))


def delays_ns(delay_ns, jitter_ns, kind=None):
    """netem's delay with a jitter, by its quantiles: [(ppm, ns), ...]. A delay below 0 is none."""
    if kind in (None, "uniform"):
        points = [(0, delay_ns - jitter_ns), (PPM, delay_ns + jitter_ns)]
        if delay_ns < jitter_ns and PPM * (jitter_ns - delay_ns) // (2 * jitter_ns):
            points.insert(1, (PPM * (jitter_ns - delay_ns) // (2 * jitter_ns), 0))
    else:
        path = next((path for path in (f"{folder}/{kind}.dist" for folder in DISTRIBUTIONS) if os.path.exists(path)), None)
        if path is None:
            raise Invalid(f"No distribution data for {kind} ({DISTRIBUTIONS[0]}/{kind}.dist)")
        values = sorted(int(word) for line in labnet.read(path).splitlines() if not line.startswith("#") for word in line.split())
        last = len(values) - 1
        points = [(PPM * i // (QUANTILES - 1), delay_ns + values[last * i // (QUANTILES - 1)] * jitter_ns // 8192) for i in range(QUANTILES)]
    return [(ppm, max(0, ns)) for ppm, ns in points]


def effect(tree):
    """What a port has to have: rate_bps, delay_ns, limit_bytes (0: none), loss_ppm, noise; None for what the tree does not speak of.

    inside: words of the qdisc that runs inside the port. Raises Unable.
    """
    out = {"rate_bps": None, "delay_ns": None, "limit_bytes": None, "loss_ppm": 0, "noise": None, "inside": None}
    below, qdisc = "root", None

    def slower(bps):
        out["rate_bps"] = bps if out["rate_bps"] is None else min(out["rate_bps"], bps)

    def limit(size):
        out["limit_bytes"] = size if out["limit_bytes"] is None else min(out["limit_bytes"], size)

    while below:
        found = next((q for q in tree["qdiscs"] if q["parent"] == below), None)
        if found is None:
            # A class without a qdisc has a fifo.
            if qdisc and qdisc["kind"] in ("htb", "hfsc") and not qdisc.get("link"):
                limit(DEFAULT_LIMIT_PACKETS * FULL_PACKET_BYTES)
            break
        qdisc, below = found, None
        if qdisc["kind"] in ("htb", "hfsc"):
            inner = {c["parent"] for c in tree["classes"]}
            wanted = f"{qdisc['handle']}{qdisc['default']:x}"
            chosen = next((c for c in tree["classes"] if c["classid"] == wanted and wanted not in inner), None)
            if chosen:
                slower(_class_rate_bps(tree, chosen))
                below = wanted
        elif qdisc["kind"] == "tbf":
            slower(qdisc["rate_bps"])
            below = qdisc["handle"] + "1"
            if all(q["parent"] != below for q in tree["qdiscs"]):
                # Of its own fifo, unless there is another qdisc instead.
                limit(qdisc["limit_bytes"])
        elif qdisc["kind"] == "netem":
            _netem_effect(qdisc, out, slower, limit)
            below = qdisc["handle"] + "1"
        elif qdisc["kind"] in ("pfifo", "bfifo"):
            if "limit" in qdisc:
                limit(number(qdisc["limit"]) * FULL_PACKET_BYTES if qdisc["kind"] == "pfifo" else size_bytes(qdisc["limit"]))
        elif qdisc["kind"] in INSIDE:
            _inside(out, [qdisc["kind"], *qdisc["words"]])
    if out["inside"]:
        out["limit_bytes"] = 0
    return out


def _inside(out, words):
    if out["inside"]:
        raise Unable(f"{out['inside'][0]} and {words[0]} behind each other are not offered")
    out["inside"] = words


def _netem_effect(qdisc, out, slower, limit):
    if qdisc["unlike"]:
        _inside(out, ["netem", *qdisc["words"]])
        return
    if "rate_bps" in qdisc:
        slower(qdisc["rate_bps"])
    if qdisc["limit"] is not None:
        limit(qdisc.get("limit_bytes", qdisc["limit"] * FULL_PACKET_BYTES))
    out["loss_ppm"] = round(PPM - (PPM - out["loss_ppm"]) * (PPM - qdisc["loss_ppm"]) / PPM)
    delay = qdisc["delay_ns"]
    if qdisc["jitter_ns"]:
        if out["noise"]:
            raise Unable("two qdiscs with jitter behind each other are not offered")
        late = delays_ns(delay, qdisc["jitter_ns"], qdisc.get("distribution"))
        delay = late[0][1]
        out["noise"] = [(ppm, ns - delay) for ppm, ns in late]
    if delay or out["noise"]:
        out["delay_ns"] = (out["delay_ns"] or 0) + delay


# ---- the state of a link's end ----


def state_path(index, pid="self"):
    return f"{FOLDER}/links/{os.stat(f'/proc/{pid}/ns/net').st_ino}-{index}.json"


def read_state(path, name=None):
    """None: not a link of the script, or no longer; name: the device's, of the caller's network namespace."""
    try:
        state = json.loads(labnet.read(path))
        if name is not None:
            labnet.port_stats(name)["parms"]  # pylint: disable=expression-not-assigned
        return state
    except (OSError, KeyError, struct.error):
        return None


def write_state(path, state):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    labnet.write(path, json.dumps(state))


def states(of_this_namespace=False):
    """Of all link ends that were made."""
    folder = FOLDER + "/links"
    start = f"{os.stat('/proc/self/ns/net').st_ino}-" if of_this_namespace else ""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [read_state(f"{folder}/{name}") for name in sorted(names) if name.startswith(start)]


def real_tc(*words):
    """tc itself: what it printed on standard error, "" where it succeeded."""
    import subprocess  # pylint: disable=import-outside-toplevel
    done = subprocess.run([REAL_TC, *words], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or f"tc ended with {done.returncode}"


def apply(name, state):
    """Makes the port of this device, of the caller's network namespace, do what state's tree says. Raises Unable."""
    wanted = effect(state["tree"])
    parms = labnet.port_stats(name)["parms"]
    plain = wanted["rate_bps"] is None and wanted["delay_ns"] is None
    parms["rate_bps"] = DEFAULT_RATE_BPS if wanted["rate_bps"] is None else wanted["rate_bps"]
    parms["delay_ns"] = DEFAULT_DELAY_NS if plain else wanted["delay_ns"] or 0
    parms["limit_bytes"] = wanted["limit_bytes"] or 0
    parms["loss_ppm"] = wanted["loss_ppm"]
    noise = wanted["noise"] or [tuple(point) for point in state["noise"]]
    if wanted["inside"]:
        said = real_tc("qdisc", "replace", "dev", name, "parent", "1:1", *wanted["inside"])
        if said:
            raise Unable(said)
    elif state["inside"]:
        real_tc("qdisc", "del", "dev", name, "parent", "1:1")
    try:
        labnet.port(name, change=True, noise=noise, **parms)
    except OSError as error:
        raise Unable(error.strerror) from None
    state["inside"] = wanted["inside"]
    if parms["rate_bps"] != state["rates_bps"][-1]:
        state["rates_bps"].append(parms["rate_bps"])
    state["delay_ns"] = parms["delay_ns"]
