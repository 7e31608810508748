# SPDX-License-Identifier: Apache-2.0
"""sch_dccport keeps time to the nanosecond, and drops, marks and logs as dccport.h says.

Functions named in_lab_* run inside the lab; the tests ask it to run them.
"""

import math
import time
from fractions import Fraction

import pytest

import inlab

GBPS = 10**9


def rows(events, *fields):
    return [[getattr(e, f) for f in fields] for e in events]


# ---- time ----


def in_lab_back_to_back(rate_bps, lengths, packets):
    wire = inlab.Wire(rate_bps=rate_bps)
    for i in range(packets):
        wire.send(i, lengths[i % len(lengths)])
    time.sleep(1)
    return rows(inlab.events(), "arrival_ns", "depart_ns", "len_bytes", "backlog_bytes", "seq")


@pytest.mark.ci
@pytest.mark.parametrize("rate_bps", [GBPS, 10 * GBPS, 100 * GBPS, 400 * GBPS, 800 * GBPS, 99_999_999_977])
def test_departures_are_exact_to_the_nanosecond(lab, rate_bps):
    events = lab("in_lab_back_to_back", rate_bps, [1514, 1514, 66, 1000], 3000)
    assert len(events) == 3000
    end = Fraction(0)
    queue = []
    for number, (arrival, depart, length, backlog, seq) in enumerate(events):
        assert seq == number
        end = max(end, Fraction(arrival)) + Fraction(length * 8 * 10**9, rate_bps)
        assert depart == math.ceil(end)
        queue = [(d, n) for d, n in queue if d > arrival] + [(depart, length)]
        assert backlog == sum(n for _, n in queue)
    # Most must have found a queue, or nothing was tested.
    assert sum(e[3] > e[2] for e in events) > 2500 or rate_bps > 100 * GBPS


def in_lab_long_burst(rate_bps, packets):
    wire = inlab.Wire(rate_bps=1000 * GBPS, log_flags=0)
    wire.port(rate_bps=1000)  # nothing leaves while the queue builds up
    for i in range(packets):
        wire.send(i, 1514)
    wire.port(rate_bps=rate_bps, log_flags=3)
    before = wire.stats()
    got = wire.receive(wait_s=20)
    return before["qlen"], [t for t, _ in got]


@pytest.mark.ci
def test_rounding_never_adds_up(lab):
    # 1514 bytes at 800 Gbit/s are 15.14 ns; the first packet leaves at 1000 bit/s.
    waiting, times = lab("in_lab_long_burst", 800 * GBPS, 20000, mem="1G")
    assert waiting == 20000
    assert len(times) == 20000
    for i, t in enumerate(times):
        assert t - times[0] == math.ceil(Fraction(i * 1514 * 8 * 10**9, 800 * GBPS))


def in_lab_delays(ipv6):
    wire = inlab.Wire(rate_bps=100 * GBPS, delay_ns=5931)
    for i in range(200):
        wire.send(i, 1514 - i, ipv6=ipv6)
        time.sleep(1e-6 * (i % 3))
    got = wire.receive()
    return inlab.wall_clock_offset(), rows(inlab.events(), "depart_ns", "seq"), [(t, inlab.seq_of(d)) for t, d in got]


@pytest.mark.parametrize("ipv6", [False, True])
def test_delivery_is_departure_plus_delay(lab, ipv6):
    offset, events, got = lab("in_lab_delays", ipv6)
    assert len(got) == 200
    assert [(depart + 5931 + offset, seq) for depart, seq in events] == [(t, s) for t, s in got]


def in_lab_infinitely_fast():
    wire = inlab.Wire(delay_ns=1000)
    for i in range(50):
        wire.send(i, 1514)
    return rows(inlab.events(), "arrival_ns", "depart_ns", "backlog_bytes"), len(wire.receive())


def test_rate_zero_is_infinitely_fast(lab):
    events, received = lab("in_lab_infinitely_fast")
    assert received == 50
    assert all(arrival == depart and backlog == 1514 for arrival, depart, backlog in events)


# ---- drops, marks, loss, order ----


def in_lab_fill(limit_bytes):
    wire = inlab.Wire(rate_bps=GBPS // 1000, limit_bytes=limit_bytes)
    for i in range(100):
        wire.send(i, 1514)
    stats = wire.stats()
    events = rows(inlab.events(), "flags", "backlog_bytes", "depart_ns")
    return events, stats, len(wire.receive(5))


def test_drops_at_the_tail_beyond_the_limit(lab):
    events, stats, received = lab("in_lab_fill", 15140)
    assert len(events) == 100
    assert [backlog for _, backlog, _ in events[:10]] == [1514 * (i + 1) for i in range(10)]
    for flags, backlog, depart in events[10:]:
        assert flags == inlab.DROP_TAIL and backlog == 15140 and depart == 0
    assert stats["drops"] == 90 and stats["backlog"] == 15140 and stats["qlen"] == 10
    assert received == 10


def test_no_limit_means_no_drops(lab):
    events, stats, received = lab("in_lab_fill", 0)
    assert stats["drops"] == 0 and received == 100
    assert events[-1][1] == 100 * 1514


def in_lab_mark(ipv6):
    wire = inlab.Wire(rate_bps=GBPS // 1000, ecn_bytes=15140)
    for i in range(40):
        wire.send(i, 1514, ecn=i % 4, ipv6=ipv6)
    stats = wire.stats()
    got = [(inlab.seq_of(d), list(d[14:54])) for _, d in wire.receive(5)]
    return rows(inlab.events(), "flags"), stats, got


@pytest.mark.parametrize("ipv6", [False, True])
def test_marks_only_ect_at_the_threshold(lab, ipv6):
    events, stats, got = lab("in_lab_mark", ipv6)
    # Packet i finds i packets, so the threshold is met from the 10th on; ECN fields go 0 (not ECT), 1, 2, 3 (CE).
    expected = [i >= 10 and i % 4 in (1, 2) for i in range(40)]
    assert [bool(flags & inlab.MARKED) for (flags,) in events] == expected
    assert stats["overlimits"] == sum(expected) and stats["drops"] == 0
    assert len(got) == 40
    for seq, header in got:
        ecn = header[1] >> 4 & 3 if ipv6 else header[1] & 3
        assert ecn == (3 if expected[seq] else seq % 4)
        if not ipv6:
            assert inlab.checksum(bytes(header[:20])) == 0


def in_lab_lossy(seed, loss_ppm, packets):
    wire = inlab.Wire(rate_bps=100 * GBPS, loss_ppm=loss_ppm, seed=seed)
    for i in range(packets):
        wire.send(i, 100)
    received = len(wire.receive())
    lost = [e.seq for e in inlab.events() if e.flags & inlab.DROP_LOSS]
    assert received == packets - len(lost)
    return lost


@pytest.mark.ci
def test_loses_the_share_asked_for_the_same_by_seed(lab):
    lost = lab("in_lab_lossy", 5, 20000, 10000)
    assert 200 - 5 * 14 < len(lost) < 200 + 5 * 14  # 5 standard deviations
    assert lab("in_lab_lossy", 5, 20000, 10000) == lost
    # The port's seed decides, not the lab's.
    assert lab("in_lab_lossy", 5, 20000, 10000, seed=99) == lost
    assert lab("in_lab_lossy", 6, 20000, 10000) != lost
    assert len(lab("in_lab_lossy", 6, 1000000, 100)) == 100


def in_lab_reorder():
    wire = inlab.Wire(rate_bps=100 * GBPS, delay_ns=2000, reorder_ppm=100000, reorder_delay_ns=700, seed=3)
    for i in range(1000):
        wire.send(i, 1514)
    got = wire.receive()
    return inlab.wall_clock_offset(), rows(inlab.events(), "seq", "depart_ns", "flags"), [(inlab.seq_of(d), t) for t, d in got]


def test_reordered_packets_come_later_by_the_extra_delay(lab):
    offset, events, got = lab("in_lab_reorder")
    arrival = dict(map(tuple, got))
    assert len(arrival) == 1000
    for seq, depart, flags in events:
        extra = 700 if flags & inlab.REORDERED else 0
        assert arrival[seq] == depart + 2000 + extra + offset
    assert 60 < sum(bool(f & inlab.REORDERED) for _, _, f in events) < 140
    assert [t for _, t in got] == sorted(t for _, t in got)
    assert [s for s, _ in got] != sorted(s for s, _ in got)


NOISE = [[0, 100], [500000, 200], [990000, 1000], [1000000, 5000]]


def in_lab_noise(noise, seed, packets, gap_s):
    wire = inlab.Wire(rate_bps=100 * GBPS, delay_ns=2000, noise=noise, seed=seed)
    for i in range(packets):
        wire.send(i, 100)
        if gap_s:
            time.sleep(gap_s)
    arrival = {inlab.seq_of(d): t - inlab.wall_clock_offset() for t, d in wire.receive()}
    late = [arrival[e.seq] - e.depart_ns - 2000 for e in inlab.events()]
    return late, wire.stats()["noise"]


def test_noise_has_the_distribution_asked_for_the_same_by_seed(lab):
    late, told = lab("in_lab_noise", NOISE, 7, 4000, 10e-6)
    assert told == NOISE
    late_sorted = sorted(late)
    assert late_sorted[0] >= 100 and late_sorted[-1] <= 5000
    # A quantile's rank is within five standard deviations of a binomial's.
    for ppm, value in [(250000, 150), (500000, 200), (745000, 600), (990000, 1000)]:
        share = sum(x < value for x in late) / 4000
        assert abs(share - ppm / 1e6) < 5 * (ppm / 1e6 * (1 - ppm / 1e6) / 4000) ** 0.5
    assert lab("in_lab_noise", NOISE, 7, 100, 10e-6)[0] == late[:100]
    assert lab("in_lab_noise", NOISE, 8, 100, 10e-6)[0] != late[:100]
    assert set(lab("in_lab_noise", [], 7, 100, 10e-6)[0]) == {0}


def test_noise_keeps_the_order(lab):
    late, _ = lab("in_lab_noise", [[0, 0], [1000000, 50000]], 7, 500, 0)
    # Packets leave about every 8 ns: whoever is behind a late one is as late.
    assert max(late) > 40000
    assert all(b >= a - 2000 for a, b in zip(late, late[1:]))


# ---- a wire that becomes longer and shorter ----


def in_lab_steps(steps, parms):
    wire = inlab.Wire(rate_bps=100 * GBPS)
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 10_000
    wire.port(rate_bps=100 * GBPS, delay_ns=5000, log_flags=3, delays=[(begin + at, delay) for at, delay in steps], **parms)
    for seq in range(600):
        wire.send(seq, 1514)
        if seq % 50 == 49:
            at = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            inlab.sleep_until(at + 3000)
    got = [(inlab.seq_of(d), t) for t, d in wire.receive()]
    shown = [(at - begin, delay) for at, delay in wire.stats()["delays"]]
    return begin, inlab.wall_clock_offset(), rows(inlab.events(), "seq", "depart_ns"), got, shown


STEPS = [[9_000, 12_345], [25_001, 300], [25_002, 4000], [60_000, 0]]


def test_a_wire_changes_its_delay_at_the_nanosecond_and_keeps_the_order(lab):
    begin, offset, events, got, shown = lab("in_lab_steps", STEPS, {})
    assert shown == STEPS and len(got) == 600
    last, used = 0, set()
    for (seq, depart), arrival in zip(events, got):
        delay = [5000, *(delay for at, delay in STEPS if begin + at <= depart)][-1]
        used.add(delay)
        last = max(last, depart + delay)
        assert list(arrival) == [seq, last + offset]
    assert used >= {5000, 12_345, 4000, 0}
    assert lab("in_lab_steps", STEPS, {})[3] == got


def test_noise_and_interrupts_come_on_top_of_a_step(lab):
    parms = {"noise": [[0, 70], [1_000_000, 70]], "interrupt_gap_ns": 2500}
    begin, offset, events, got, _ = lab("in_lab_steps", STEPS[:1], parms)
    comes = [(depart + 70 + (12_345 if depart >= begin + 9000 else 5000) + offset, seq) for seq, depart in events]
    assert [list(row) for row in got] == moderated(comes, 2500)


# ---- interrupts of the far end's NIC ----


def in_lab_interrupts(gap_ns, pauses_ns, parms):
    wire = inlab.Wire(rate_bps=100 * GBPS, delay_ns=2000, interrupt_gap_ns=gap_ns, **parms)
    for seq in range(400):
        wire.send(seq, 1514)
        at = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        inlab.sleep_until(at + pauses_ns[seq % len(pauses_ns)])
    got = [(inlab.seq_of(d), t) for t, d in wire.receive()]
    return inlab.wall_clock_offset(), rows(inlab.events(), "seq", "depart_ns", "flags"), got, wire.stats()


def moderated(comes, gap_ns):
    """What a NIC makes of packets, (time, seq), that come in this order."""
    last, out = None, []
    for at, seq in comes:
        if last is None or at > last:
            last = at if last is None else max(at, last + gap_ns)
        out.append([seq, last])
    return out


# Beside the gap, before and behind it; bursts that share an interrupt.
PAUSES = [50, 50, 3000, 9000, 40_000, 6930, 7000, 7070, 200, 20_000]


@pytest.mark.parametrize("gap_ns", [0, 1, 7000, 90_001])
@pytest.mark.parametrize("reorder", [False, True])
def test_interrupts_are_so_far_apart_and_bring_all_that_waits(lab, gap_ns, reorder):
    parms = {"reorder_ppm": 150_000, "reorder_delay_ns": 5100, "seed": 4} if reorder else {}
    offset, events, got, stats = lab("in_lab_interrupts", gap_ns, PAUSES, parms)
    assert stats["interrupt_gap_ns"] == gap_ns and stats["qlen"] == stats["drops"] == 0
    comes = sorted((depart + 2000 + (5100 if flags & inlab.REORDERED else 0), bool(flags & inlab.REORDERED), seq)
                   for seq, depart, flags in events)
    expected = moderated([(at, seq) for at, _, seq in comes], gap_ns)
    assert [[seq, at - offset] for seq, at in got] == expected
    times = sorted({at for _, at in expected})
    assert all(b - a >= gap_ns for a, b in zip(times, times[1:]))
    # Packets shared interrupts, and others had one of their own at once.
    alone = sum(at == came for (_, at), (came, _, _) in zip(expected, comes))
    assert gap_ns < 7000 or len(times) < 350
    assert gap_ns > 7000 or alone > 10


def test_interrupts_come_after_noise_and_keep_the_order(lab):
    noise = [[0, 0], [900_000, 0], [900_001, 12_000], [1_000_000, 12_000]]
    offset, events, late, _ = lab("in_lab_interrupts", 0, PAUSES, {"noise": noise})
    assert max(t - offset - depart - 2000 for (_, t), (_, depart, _) in zip(late, events)) == 12_000
    _, _, got, stats = lab("in_lab_interrupts", 7000, PAUSES, {"noise": noise})
    assert stats["noise"] == noise
    # The same noise, in batches.
    assert [list(row) for row in got] == moderated([(at, seq) for seq, at in late], 7000)


def in_lab_change_gap():
    wire = inlab.Wire(rate_bps=100 * GBPS, interrupt_gap_ns=50_000_000)
    for seq in range(10):
        wire.send(seq, 1514)
    time.sleep(1e-3)
    before = wire.stats()["qlen"]
    wire.port(rate_bps=100 * GBPS, log_flags=3)
    times = [t for t, _ in wire.receive()]
    return before, len(times), times[-1] - times[0]


def test_what_waits_for_an_interrupt_is_delivered_when_there_is_no_gap_any_more(lab):
    waiting, received, span_ns = lab("in_lab_change_gap")
    assert waiting == 9 and received == 10
    assert 990_000 < span_ns < 1_100_000


# ---- change on the fly ----


def in_lab_change():
    wire = inlab.Wire(rate_bps=GBPS)
    for i in range(10):
        wire.send(i, 1250)  # 10 us each
    time.sleep(34e-6)
    wire.port(rate_bps=10 * GBPS, log_flags=3)
    wire.port(rate_bps=10 * GBPS, log_flags=3, delay_ns=10**6)
    wire.send(10, 1250)
    got = wire.receive()
    return rows(inlab.events(), "arrival_ns", "depart_ns"), len(got)


def test_a_new_rate_serves_what_waits_and_loses_nothing(lab):
    events, received = lab("in_lab_change")
    assert received == 11
    start = events[0][0]
    # Packets 0 to 2 have left; 3 is being served and ends as planned; the rest takes 1 us each.
    departures = [depart - start for _, depart in events]
    assert departures[:4] == [10_000, 20_000, 30_000, 40_000]
    assert departures[4:] == [41_000 + 1000 * i for i in range(7)]


def in_lab_bad(field, value):
    wire = inlab.Wire()
    wire.port(rate_bps=7 * GBPS)
    try:
        wire.port(**{field: value})
    except OSError as error:
        return error.errno, str(error), wire.stats()["parms"]
    return 0, "", {}


@pytest.mark.parametrize("field, value, text", [
    ("rate_bps", 999, "rate_bps must be 0 or at least 1000"),
    ("delay_ns", 10**12 + 1, "delay_ns must be at most 1000 s"),
    ("reorder_delay_ns", 2**64 - 1, "reorder_delay_ns must be at most 1000 s"),
    ("loss_ppm", 1000001, "loss_ppm must be at most 1000000"),
    ("reorder_ppm", 2**32 - 1, "reorder_ppm must be at most 1000000"),
    ("port_id", 65536, "port_id must be at most 65535"),
    ("log_flags", 32, "log_flags has an unknown flag"),
    ("noise", [[0, 0]], "noise must be quantiles"),
    ("noise", [[0, 0], [999999, 1]], "noise must be quantiles"),
    ("noise", [[0, 9], [1000000, 8]], "noise must be quantiles"),
    ("delays", [[5, 5], [5, 6]], "delays must be of rising times"),
    ("delays", [[5, 10**12 + 1]], "delays must be of rising times, each at most 1000 s"),
    ("interrupt_gap_ns", 10**9 + 1, "interrupts must be at most 1 s apart"),
    ("interrupt_gap_ns", 2**32 - 1, "interrupts must be at most 1 s apart"),
])
def test_a_parameter_out_of_range_is_refused_and_changes_nothing(lab, field, value, text):
    number, message, parms = lab("in_lab_bad", field, value)
    assert number == 22 and text in message
    assert parms["rate_bps"] == 7 * GBPS


# ---- a child qdisc ----


def in_lab_priorities(rate_bps, bands, dscps, ipv6):
    wire = inlab.Wire(rate_bps=rate_bps, delay_ns=1000, log_flags=inlab.DATA | inlab.ACKS | inlab.DSCP_PRIORITY)
    with wire.a:
        inlab.queue_length("a0")
        inlab.prio("a0", bands)
    for burst in range(3):
        for i in range(len(dscps)):
            wire.send(burst * len(dscps) + i, 1514 - 100 * (i % 3), ecn=dscps[i] << 2, ipv6=ipv6)
        time.sleep(1e-3)
    before = wire.stats()
    waiting = [e.depart_ns == inlab.NOT_DEPARTED for e in inlab.events()]
    got = wire.receive(20)
    events = rows(inlab.events(), "arrival_ns", "depart_ns", "len_bytes", "backlog_bytes", "seq", "flags")
    return events, [[t, inlab.seq_of(d)] for t, d in got], inlab.wall_clock_offset(), before, sum(waiting), wire.stats()


@pytest.mark.parametrize("bands, ipv6", [(8, False), (2, False), (4, True)])
@pytest.mark.parametrize("rate_bps", [GBPS // 3, 7 * GBPS])
def test_a_prio_child_says_who_is_next_and_the_server_has_no_gap(lab, rate_bps, bands, ipv6):
    dscps = [(7 * i) % 11 for i in range(150)]
    events, got, offset, before, waiting, after = lab("in_lab_priorities", rate_bps, bands, dscps, ipv6)
    assert len(events) == len(got) == 450
    # What a strict server does that is not interrupted.
    band = {seq: bands - 1 - min(dscps[seq % 150], bands - 1) for _, _, _, _, seq, _ in events}
    left = sorted(events, key=lambda e: (e[0], e[4]))
    queue, free, expected, overtaken = [], Fraction(0), {}, 0
    while left or queue:
        if not queue and left[0][0] >= free:  # the server has been waiting for it
            free = Fraction(left[0][0])
            queue.append(left.pop(0))
        else:
            while left and left[0][0] <= math.ceil(free):
                queue.append(left.pop(0))
        chosen = min(queue, key=lambda e: (band[e[4]], e[0], e[4]))
        overtaken += chosen is not queue[0]
        queue.remove(chosen)
        free += Fraction(chosen[2] * 8 * 10**9, rate_bps)
        expected[chosen[4]] = math.ceil(free)
    assert {e[4]: e[1] for e in events} == expected
    assert overtaken > 100 or rate_bps > GBPS
    assert got == [[depart + 1000 + offset, seq] for depart, seq in sorted((e[1], e[4]) for e in events)]
    # The backlog is that of child and server.
    for arrival, _, length, backlog, seq, _ in events:
        held = sum(e[2] for e in events if (e[0], e[4]) <= (arrival, seq) and e[1] > arrival)
        assert backlog == held
    assert before["qlen"] >= waiting and (waiting > 0 or rate_bps > GBPS)
    assert after["qlen"] == after["backlog"] == after["drops"] == 0


def in_lab_child_limits(limit_bytes, queue_packets):
    wire = inlab.Wire(rate_bps=GBPS // 1000, limit_bytes=limit_bytes, ecn_bytes=3028,
                      log_flags=inlab.DATA | inlab.DSCP_PRIORITY)
    with wire.a:
        inlab.queue_length("a0", queue_packets)
        inlab.prio("a0", 4)
    for i in range(40):
        wire.send(i, 1514, ecn=(i % 4) << 2 | 2)
    stats = wire.stats()
    wire.port(rate_bps=GBPS, log_flags=3)  # a new rate with packets in child and server
    received = len(wire.receive(20))
    return rows(inlab.events(), "flags", "backlog_bytes", "depart_ns"), stats, received


@pytest.mark.parametrize("limit_bytes, queue_packets, kept", [(15140, 1000, 10), (0, 3, 13)])
def test_the_limit_holds_for_child_and_server_together(lab, limit_bytes, queue_packets, kept):
    events, stats, received = lab("in_lab_child_limits", limit_bytes, queue_packets)
    dropped = [e for e in events if e[0] & inlab.DROP_TAIL]
    # Without a limit of its own the child drops: three wait in each band and one is in service.
    assert len(events) == 40 and len(dropped) == 40 - kept == stats["drops"]
    assert all(depart == 0 for _, _, depart in dropped)
    assert stats["qlen"] == kept and stats["backlog"] == kept * 1514
    assert received == kept
    assert max(e[1] for e in events) == kept * 1514
    # Marks by the backlog of both.
    for flags, backlog, _ in events:
        found = backlog if flags & inlab.DROP_TAIL else backlog - 1514
        if not flags & inlab.DROP_TAIL:
            assert bool(flags & inlab.MARKED) == (found >= 3028)


def in_lab_child_goes():
    import socket

    wire = inlab.Wire(rate_bps=GBPS // 1000, log_flags=inlab.DATA)
    for i in range(5):
        wire.send(i, 1514)
    with wire.a:
        inlab.prio("a0", 2)
    for i in range(5, 20):
        wire.send(i, 1514)
    with wire.a:  # back to the port's own queue: what waits in the child is lost
        inlab.netlink(37, 0, struct_tcmsg(socket.if_nametoindex("a0")))
    stats = wire.stats()
    for i in range(20, 25):
        wire.send(i, 1514)
    return stats, [inlab.seq_of(d) for _, d in wire.receive(20)], wire.stats()


def struct_tcmsg(index):
    import struct

    return struct.pack("=BxxxiIII", 0, index, 0x20000, 0x10001, 0)


def test_a_child_comes_and_goes_under_traffic(lab):
    stats, received, after = lab("in_lab_child_goes")
    assert received == list(range(5)) + list(range(20, 25))
    assert stats["qlen"] == 5 and stats["backlog"] == 5 * 1514
    assert after["qlen"] == after["backlog"] == 0


# ---- log ----


def in_lab_log():
    wire = inlab.Wire(rate_bps=GBPS)
    for i in range(5000):
        wire.send(i, 100)
    with open("/proc/dccport_log", "rb") as file:
        whole = file.read()
    with open("/proc/dccport_log", "rb", buffering=0) as file:
        pieces = b"".join(iter(lambda: file.read(1000), b""))
        file.seek(48 * 4000)
        middle = file.read(48)
    inlab.clear_log()
    with open("/proc/dccport_log", "rb") as file:
        empty = file.read()
    wire.send(7777, 100)
    # Packets of before the clearing are still queued and must not touch the new log when they are planned anew.
    wire.port(rate_bps=10 * GBPS, log_flags=3)
    return len(whole), pieces == whole, middle == whole[48 * 4000 : 48 * 4001], len(empty), rows(inlab.events(), "seq")


def test_log_is_read_in_pieces_sought_and_cleared(lab):
    size, same, sought, empty, after = lab("in_lab_log")
    assert size == 5000 * 48 and same and sought and empty == 0 and after == [[7777]]


def in_lab_selection(log_flags):
    wire = inlab.Wire(log_flags=log_flags)
    wire.send(1, 54)  # no payload
    wire.send(2, 100)
    wire.send(3, 54, flags=0x02)
    wire.send(4, 54, flags=0x11)
    wire.send(5, 54, flags=0x14)
    wire.send(6, 74, ipv6=True)
    wire.send(7, 100, ipv6=True)
    return rows(inlab.events(), "seq", "payload_bytes", "flags", "port_id", "sport", "dport")


def test_logs_data_or_acks_as_asked(lab):
    data = [[2, 46, 0], [3, 0, inlab.SYN], [4, 0, inlab.FIN], [7, 26, 0]]
    acks = [[1, 0, 0], [5, 0, inlab.RST], [6, 0, 0]]
    rest = [3, 1000, 2000]
    assert lab("in_lab_selection", inlab.DATA) == [e + rest for e in data]
    assert lab("in_lab_selection", inlab.ACKS) == [e + rest for e in acks]
    assert lab("in_lab_selection", inlab.DATA | inlab.ACKS) == sorted(e + rest for e in data + acks)
    assert lab("in_lab_selection", 0) == []


def in_lab_resets(log_flags):
    wire = inlab.Wire(log_flags=log_flags)
    wire.send(1, 100)
    wire.send(2, 54, flags=0x14)
    wire.send(3, 54, flags=0x04)
    received = [inlab.seq_of(data) for _, data in wire.receive()]
    return received, rows(inlab.events(), "seq"), wire.stats()["drops"]


def test_drops_resets_if_asked(lab):
    assert lab("in_lab_resets", inlab.DATA | inlab.ACKS) == [[1, 2, 3], [[1], [2], [3]], 0]
    assert lab("in_lab_resets", inlab.DATA | inlab.DROP_RST) == [[1], [[1]], 2]


def in_lab_other_protocols():
    import socket

    a, b = inlab.pair(left=dict(rate_bps=GBPS, delay_ns=1000, log_flags=3), right=dict(log_flags=3))
    done = []
    for family, address in ((socket.AF_INET, "10.0.0.2"), (socket.AF_INET6, "fd00::2")):
        with b:
            server = socket.socket(family, socket.SOCK_DGRAM)
            server.bind((address, 9))
        with a:
            client = socket.socket(family, socket.SOCK_DGRAM)
            client.sendto(b"x" * 1000, (address, 9))
        done.append(len(server.recv(2000)))
    return done, len(inlab.events())


def test_other_protocols_pass_and_are_not_logged(lab):
    assert lab("in_lab_other_protocols") == [[1000, 1000], 0]


# ---- the whole stack ----


def in_lab_flow(size, gso):
    a, b = inlab.pair(left=dict(rate_bps=100 * GBPS, delay_ns=6000, log_flags=1), right=dict(rate_bps=100 * GBPS, delay_ns=6000))
    if not gso:
        for ns, name in ((a, "a0"), (b, "b0")):
            with ns:
                inlab.gso_max_segs(name, 1)
    client, server = inlab.connection(a, b)
    inlab.transfer(client, server, 4 << 20)  # past slow start
    inlab.clear_log()
    inlab.transfer(client, server, size)
    return rows([e for e in inlab.events() if e.payload_bytes], "arrival_ns", "depart_ns", "len_bytes", "payload_bytes", "flags")


@pytest.mark.parametrize("gso", [False, True])
def test_one_flow_fills_100_gbit_per_second(lab, gso):
    events = lab("in_lab_flow", 20 << 20, gso)
    assert sum(e[3] for e in events) == 20 << 20  # no retransmission
    assert max(e[2] for e in events) == 1514
    # Leave out the first and last tenth.
    middle = events[len(events) // 10 : -len(events) // 10]
    rate = sum(e[2] for e in middle[1:]) * 8 / (middle[-1][1] - middle[0][1])
    assert 99 <= rate <= 100.001


def in_lab_slow_start(delay_ns, size):
    a, b = inlab.pair(left=dict(rate_bps=10 * GBPS, delay_ns=delay_ns, log_flags=1), right=dict(rate_bps=10 * GBPS, delay_ns=delay_ns))
    with a:
        inlab.gso_max_segs("a0", 1)
    client, server = inlab.connection(a, b)
    inlab.transfer(client, server, size)
    return rows([e for e in inlab.events() if e.payload_bytes], "arrival_ns")


# While its rate is low TCP holds a socket back that has two packets in the port; they leave it after 2 us, and are on the wire for 20 ms.
def test_packets_on_the_wire_hold_no_socket_back(lab):
    events = lab("in_lab_slow_start", 20_000_000, 600_000)
    # 10, 20, 40 ... packets in each round trip of 40 ms; 45 until the receiver's window has grown.
    assert events[-1][0] - events[0][0] < 7 * 40_000_000
