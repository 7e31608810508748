# SPDX-License-Identifier: Apache-2.0
"""tc in the lab: for the links of a Mininet script it changes the lab's port as Linux's qdiscs would change the link; the rest is tc's own.

What Linux refuses is refused with tc's words. What the lab does not do is an error, too, and the command delaycc names it at its end.
"""

import fcntl
import json
import os
import shlex
import socket
import sys
import time

from . import labnet, qdiscs
from .qdiscs import Invalid, Unable

OBJECTS = ("qdisc", "class", "filter", "chain", "action", "actions", "monitor", "exec")
VERBS = {"add": "add", "delete": "del", "change": "change", "replace": "replace", "link": "link", "show": "show", "list": "show", "lst": "show",
         "get": "show"}
SETS = ("add", "change", "replace", "link")
# Of virtual time, in which a shell's next command comes.
MENDED_S = 0.0001


def full(word, words):
    """tc takes the beginning of a word."""
    return next((known for known in words if known.startswith(word)), word)


def whole_id(text):
    """5, 5: and 5:0 are "5:", 05:01 is "5:1"."""
    major, _, minor = text.partition(":")
    try:
        major, minor = int(major or "0", 16), int(minor or "0", 16)
    except ValueError:
        raise Invalid(f'invalid class ID "{text}"') from None
    return f"{major:x}:" + (f"{minor:x}" if minor else "")


# ---- changes ----


def _drop_below(tree, parent):
    for qdisc in [q for q in tree["qdiscs"] if q["parent"] == parent]:
        tree["qdiscs"].remove(qdisc)
        _drop_below(tree, qdisc["handle"] + "1")
        for of in [c for c in tree["classes"] if c["classid"].startswith(qdisc["handle"])]:
            tree["classes"].remove(of)
            _drop_below(tree, of["classid"])


def _options(kind, words, before):
    if kind in qdiscs.INSIDE:
        return {}
    values = qdiscs.OPTIONS[kind](words)
    if kind == "netem" and before:
        # What the kernel keeps where a change does not name it.
        kept = [what for what in ("corrupt", "reorder") if what in before["unlike"] and what not in words]
        if kept:
            raise Unable(f"{kept[0]} was set, and stays on Linux: name it again")
        if "rate_bps" in before and "rate_bps" not in values:
            values["rate_bps"] = before["rate_bps"]
    return values


def change_qdisc(tree, verb, words):
    handle = parent = kind = None
    left = list(words)
    while left and kind is None:
        word = left.pop(0)
        if word in ("dev", "handle", "parent", "ingress_block", "egress_block", "estimator"):
            if not left:
                raise Invalid(f"Command line is not complete: {word}")
            value = left.pop(0)
            if word == "handle":
                handle = whole_id(value)
            elif word == "parent":
                parent = whole_id(value)
        elif word == "root":
            parent = "root"
        elif word in ("ingress", "clsact"):
            raise Unable(f"a qdisc of {word} is not offered")
        else:
            kind = word
    above = next((q for q in tree["qdiscs"] if parent and q["handle"] == parent), None)
    if above and above["kind"] in ("netem", "tbf", *qdiscs.INSIDE):
        parent += "1"
    if parent is None and handle is None:
        raise Invalid("Parent Qdisc doesn't exists." if verb != "del" else "Cannot delete qdisc with handle of zero.")
    there = next((q for q in tree["qdiscs"] if (q["parent"] == parent if parent else q["handle"] == handle)), None)
    if verb == "del":
        if there is None:
            raise Invalid("Cannot delete qdisc with handle of zero." if parent == "root" else "Failed to find qdisc with specified classid.")
        if handle not in (None, there["handle"]):
            raise Invalid("Invalid handle.")
        _drop_below(tree, there["parent"])
        return
    if kind == "noqueue" and parent == "root":
        _drop_below(tree, "root")
        return
    if kind is None:
        raise Invalid("Qdisc kind is missing.")
    if kind not in qdiscs.OPTIONS and kind not in qdiscs.INSIDE:
        raise Unable(f"the lab's links have no {kind}: there are {', '.join(sorted([*qdiscs.OPTIONS, *qdiscs.INSIDE]))}")
    same = there is not None and there["kind"] == kind and handle in (None, there["handle"])
    if verb in ("change", "link") or (verb == "replace" and same):
        if there is None:
            raise Invalid("Qdisc not found. To create specify NLM_F_CREATE flag.")
        if not same:
            raise Invalid("Invalid qdisc name: must match existing qdisc." if there["kind"] != kind else "Invalid handle.")
        values = {"parent": there["parent"], "handle": there["handle"], "kind": kind, "words": left, **_options(kind, left, there)}
        there.clear()
        there.update(values)
        return
    if parent is None:
        raise Invalid("Parent Qdisc doesn't exists.")
    if parent != "root" and not any(c["classid"] == parent for c in tree["classes"]) and not any(
            q["handle"] + "1" == parent and q["kind"] not in ("htb", "hfsc") for q in tree["qdiscs"]):
        raise Invalid("Failed to find specified qdisc or class.")
    if there is not None and verb == "add" or any(q["handle"] == handle and q is not there for q in tree["qdiscs"]):
        raise Invalid("Exclusivity flag on, cannot modify.")
    values = _options(kind, left, None)
    if handle is None:
        handle, tree["next"] = f"{tree['next']:x}:", tree["next"] + 1
    _drop_below(tree, parent)
    qdiscs.add(tree, kind, handle, parent, **{**values, "words": left})


def change_class(tree, verb, words):
    parent = classid = kind = None
    left = list(words)
    while left and kind is None:
        word = left.pop(0)
        if word in ("dev", "parent", "classid", "estimator"):
            if not left:
                raise Invalid(f"Command line is not complete: {word}")
            value = left.pop(0)
            if word == "classid":
                classid = whole_id(value)
            elif word == "parent":
                parent = whole_id(value)
        elif word == "root":
            parent = "root"
        else:
            kind = word
    if classid is None:
        raise Invalid("Class ID is missing (classid).")
    qdisc = next((q for q in tree["qdiscs"] if classid.startswith(q["handle"])), None)
    if qdisc is None or qdisc["kind"] not in ("htb", "hfsc"):
        raise Invalid("Failed to find specified qdisc.")
    there = next((c for c in tree["classes"] if c["classid"] == classid), None)
    if verb == "del":
        if there is None:
            raise Invalid("Specified class not found.")
        if any(c["parent"] == classid for c in tree["classes"]):
            raise Invalid("Device or resource busy")
        tree["classes"].remove(there)
        _drop_below(tree, classid)
        return
    if kind != qdisc["kind"]:
        raise Invalid("Invalid class name.")
    if there is None and verb in ("change", "link"):
        raise Invalid("No such file or directory")
    if there is not None and verb == "add":
        raise Invalid("File exists")
    values = qdiscs.CLASS_OPTIONS[kind](left)
    # What the link was made with has Linux's limits once a script changes it.
    qdisc.pop("link", None)
    if there is not None:
        there.update(values)
        return
    if parent == "root":
        parent = qdisc["handle"]
    if parent != qdisc["handle"] and not any(c["classid"] == parent for c in tree["classes"]):
        raise Invalid("Failed to find specified class.")
    _drop_below(tree, parent)
    tree["classes"].append({"kind": kind, "classid": classid, "parent": parent, **values})


# ---- what is shown ----


def rate_text(bps):
    for unit in ("", "K", "M", "G"):
        if bps < 1000 or (bps % 1000 and bps < 1_000_000):
            break
        bps //= 1000
    else:
        unit = "T"
    return f"{bps}{unit}bit"


def time_text(ns):
    return f"{ns / 1e9:.3g}s" if ns >= 10**9 else f"{ns / 1e6:.3g}ms" if ns >= 10**6 else f"{ns / 1e3:.3g}us"


def qdisc_text(q):
    if q["kind"] == "netem":
        jitter = f"  {time_text(q['jitter_ns'])}" if q["jitter_ns"] else ""
        return ("" if q["limit"] is None else f" limit {q['limit']}") + (
            f" delay {time_text(q['delay_ns'])}{jitter}" if q["delay_ns"] or q["jitter_ns"] else "") + (
            f" loss {q['loss_ppm'] / 10_000:g}%" if q["loss_ppm"] else "") + (
            f" rate {rate_text(q['rate_bps'])}" if "rate_bps" in q else "") + (
            f" ({' '.join(q['words'])})" if q["unlike"] else "")
    if q["kind"] == "tbf":
        return f" rate {rate_text(q['rate_bps'])} burst {q['burst']}b limit {q['limit_bytes']}b"
    if q["kind"] == "htb":
        return f" r2q 10 default 0x{q['default']:x} direct_packets_stat 0 direct_qlen 1000"
    if q["kind"] == "hfsc":
        return f" default {q['default']:x}"
    return "".join(" " + word for word in q["words"]) + (f" limit {q['limit']}" if "limit" in q else "")


def statistics_text(stats):
    return (f" Sent {stats['bytes']} bytes {stats['packets']} pkt (dropped {stats['drops']}, overlimits {stats['overlimits']} requeues 0) \n"
            f" backlog {stats['backlog']}b {stats['qlen']}p requeues 0\n")


def place(parent):
    return "root refcnt 2" if parent == "root" else f"parent {parent}"


def shown(what, name, tree, statistics):
    """Text of `tc qdisc show` or `tc class show` of one device; "" for another's."""
    numbers = statistics_text(labnet.port_stats(name)) if statistics else ""
    if what == "qdisc":
        rows = [f"qdisc {q['kind']} {q['handle']} dev {name} {place(q['parent'])}{qdisc_text(q)} \n" for q in tree["qdiscs"]]
        return "".join(row + numbers for row in rows) or f"qdisc noqueue 0: dev {name} root refcnt 2 \n"
    if what != "class":
        return ""
    rows = []
    for c in tree["classes"]:
        leaf = next((f"leaf {q['handle']} " for q in tree["qdiscs"] if q["parent"] == c["classid"]), "")
        above = "root" if c["parent"].endswith(":") else f"parent {c['parent']}"
        rates = (f"prio 0 rate {rate_text(c['rate_bps'])} ceil {rate_text(c['ceil_bps'])}" if c["kind"] == "htb" else
                 f"sc m1 0bit d 0us m2 {rate_text(c['rate_bps'])} ul m1 0bit d 0us m2 {rate_text(c['ceil_bps'])}")
        rows.append(f"class {c['kind']} {c['classid']} dev {name} {above} {leaf}{rates} \n" + numbers)
    return "".join(rows)


def json_shown(name, tree):
    rows = []
    for q in tree["qdiscs"] or [{"kind": "noqueue", "handle": "0:", "parent": "root"}]:
        options = {key: q[key] for key in ("limit", "default", "burst") if q.get(key) is not None}
        if q["kind"] == "netem":
            options["delay"] = {"delay": q["delay_ns"] / 1e9, "jitter": q["jitter_ns"] / 1e9, "correlation": 0}
            options["loss-random"] = {"loss": q["loss_ppm"] / 1e6, "correlation": 0}
        if "rate_bps" in q:
            options["rate"] = {"rate": q["rate_bps"] // 8} if q["kind"] == "netem" else q["rate_bps"] // 8
        where = {"root": True} if q["parent"] == "root" else {"parent": q["parent"]}
        rows.append({"kind": q["kind"], "handle": q["handle"], "dev": name, **where, "options": options})
    return rows


# ---- the command ----


def note(line):
    with open(qdiscs.REFUSED, "a") as file:
        file.write(line + "\n")


def line_of(words):
    name = words[words.index("dev") + 1] + ": " if "dev" in words[:-1] else ""
    return f"{name}tc {' '.join(words)}: "


def real(options, words):
    code = os.spawnv(os.P_WAIT, qdiscs.REAL_TC, ["tc", *options, *words])
    # Whatever else it is, a word that tc does not know included, it asked for something.
    if code and words and VERBS.get(full(words[1], VERBS) if len(words) > 1 else "show") not in ("show", "del"):
        note(line_of(words) + f"tc ended with {code}")
    return code


def tell_line_rate(state):
    knob = "/proc/sys/net/ipv4/delaycc/line_rate_mbps"
    if state["tells"] and os.path.exists(knob):
        fastest_bps = max(of["rates_bps"][-1] for of in qdiscs.states(of_this_namespace=True))
        labnet.write(knob, str(min(800_000, max(1, fastest_bps // 10**6))))


def still_failed(state, verb):
    """What failed is mended by the next command that sets the link (change || add), unless time has passed, with the link as it was."""
    return [failure for failure in state["failed"] if verb not in SETS or time.monotonic() - failure["at_s"] > MENDED_S]


def change(what, verb, words, name, path, state):
    """On a link of the script. Returns tc's exit code."""
    line = line_of([what, verb, *words])
    tree = json.loads(json.dumps(state["tree"]))
    try:
        if what == "filter":
            raise Unable("the lab has no classifiers: all packets of a link meet the same")
        (change_qdisc if what == "qdisc" else change_class)(tree, verb, words)
        qdiscs.apply(name, changed := {**state, "tree": tree, "failed": still_failed(state, verb)})
    except Invalid as error:
        print(f"Error: {error}", file=sys.stderr)
        if verb in SETS:
            failure = {"line": line + f"Error: {error}", "at_s": time.monotonic()}
            qdiscs.write_state(path, {**state, "failed": [*state["failed"], failure]})
        return 2
    except Unable as error:
        print(f"Error: {error}", file=sys.stderr)
        note(line + str(error))
        return 2
    qdiscs.write_state(path, changed)
    tell_line_rate(changed)
    return 0


def show(what, words, options):
    asked = words[words.index("dev") + 1] if "dev" in words[:-1] else None
    numbers = any(option.startswith("-s") for option in options)
    rows = []
    for index, name in socket.if_nameindex():
        if asked not in (None, name):
            continue
        state = qdiscs.read_state(qdiscs.state_path(index), name)
        if state is None:
            sys.stdout.flush()
            real(options, [what, "show", *words, *(() if asked else ("dev", name))])
        elif "-j" in options or "-json" in options:
            rows += json_shown(name, state["tree"]) if what == "qdisc" else []
        else:
            text = shown(what, name, state["tree"], numbers)
            # As tc: the device's name is left out where it was asked for.
            print(text.replace(f" dev {name} ", " ") if asked else text, end="")
    if rows:
        print(json.dumps(rows))
    sys.stdout.flush()
    return 0


def run(options, words):
    if not words or full(words[0], OBJECTS) not in ("qdisc", "class", "filter"):
        return real(options, words)
    what = full(words[0], OBJECTS)
    verb = VERBS.get(full(words[1], VERBS) if len(words) > 1 else "show", "help")
    name = words[words.index("dev") + 1] if "dev" in words[:-1] else None
    if verb == "help" or (verb != "show" and name is None):
        return real(options, words)
    try:
        path = qdiscs.state_path(socket.if_nametoindex(name)) if name else None
    except OSError:
        path = None
    if verb == "show" and (path or not name):
        return show(what, words[2:], options)
    with open(qdiscs.FOLDER + "/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if state := qdiscs.read_state(path, name) if path else None:
            return change(what, verb, words[2:], name, path, state)
    return real(options, words)


def batch(options, name, force):
    failed = 0
    with (sys.stdin if name == "-" else open(name)) as file:
        for line in file:
            words = shlex.split(line, comments=True)
            if words and run(options, words):
                failed = 1
                if not force:
                    break
    return failed


def main(words):
    asked, words, options, file, force = list(words), list(words), [], None, False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-b", "-batch"):
            file = words.pop(0) if words else "-"
        elif word in ("-n", "-netns"):
            with open(f"/run/netns/{words.pop(0)}") as ns:
                labnet.check(labnet.libc.setns(ns.fileno(), labnet.CLONE_NEWNET), "setns")
        elif word == "-force":
            force = True
        else:
            options.append(word)
    try:
        return batch(options, file, force) if file else run(options, words)
    except (OSError, ValueError, LookupError) as error:
        # A file that is not there, a number that is none.
        print(f"Error: {error}", file=sys.stderr)
        note(line_of(asked) + str(error))
        return 1
