# SPDX-License-Identifier: Apache-2.0
"""The path model (kernel/core/path) and what dcc_tcp.h makes of it, on the scenarios path/* and host-late."""

ALGORITHMS = ["oscar", "ccc", "sqcc", "prioplus", "swift"]
MODULES = ["delaycc", "delaycc_count", "tcp_oscar", "tcp_ccc", "tcp_sqcc", "tcp_prioplus", "tcp_swift"]

# name: (scenario, settings, whole sweep, trials).  The main case of each.
SCENARIOS = ["acks", "clean", "configured", "gamma", "line-unknown", "long", "longer", "longer-twice", "many", "receiver", "some-hosts", "together",
             "two-values"]
CASES = {f"path/{name}": (f"path/{name}", [], False, 6) for name in SCENARIOS}
CASES["path/line-unknown 0.4 Gbit/s"] = ("path/line-unknown", ["gbps=0.4"], False, 6)
CASES["path/longer 10 Gbit/s"] = ("path/longer", ["link.rate_gbps=10"], False, 6)
CASES["path/line-unknown 0.1 Gbit/s 1 ms"] = ("path/line-unknown", ["gbps=0.1", "topology.base_rtt_ns=1000000"], False, 6)
CASES["path/many 3 us"] = ("path/many", ["noise_ns=3000"], False, 6)
CASES["host-late"] = ("host-late", [], False, 6)
CASES["host-late, cold cache"] = ("host-late", ["from=senders[4-7]"], False, 6)
CASES["host-late, 12, cold cache"] = ("host-late", ["from=senders[4-7]", "n=12", "measure.duration_us=60000", "measure.from_us=40000"], False, 4)
CASES["ccc-tab01-s2"] = ("ccc-tab01-s2", [], False, 6, ["oscar", "swift"])
CASES["oscar-half"] = ("oscar-half", [], False, 6)
METRICS = {scenario: ["utilisation", "jain", "queue_mean_bytes", "recover_us"] for scenario, *_ in CASES.values()}
METRICS["ccc-tab01-s2"] = ["utilisation", "jain", "rtt_p50_us", "rtt_p999_us"]
LATE, SLOW, FEW = "host-late", "path/line-unknown 0.4 Gbit/s", "path/longer 10 Gbit/s"
START, HALF, COLD, TWELVE = "path/line-unknown 0.1 Gbit/s 1 ms", "oscar-half", "host-late, cold cache", "host-late, 12, cold cache"


def on(*names):
    """Those cases, and two that no rule may make worse."""
    return [*(name if name in CASES else f"path/{name}" for name in names), "path/clean", "path/together"]


BASE, NOISE, SHARE, PROBE, DRAIN, LINE, MODEL, TCP = (
    "path/base_rtt.h", "path/noise.h", "path/share.h", "path/probe.h", "path/drain.h", "path/line_rate.h", "path/model.h", "dcc_tcp.h")

# name: (what goes, [(file below kernel/core, text, text in its place)], what is the rule's own, cases); of its own are functions, structs and
# constants, and (file, text that it begins with, text that it ends with); nothing: what is edited.
MECHANISMS = {
    "handshake": ("the handshake bounds the base RTT", [
        (BASE, "u32 ns = b->handshake_ns ? dcc_base_of_handshake_ns(b, packet_ns) : 0;", "u32 ns = 0;")],
        ["dcc_base_note_handshake", "dcc_tcp_note_handshake", "dcc_tcp_note_least", "dcc_base_of_handshake_ns", "dcc_base_bound",
         "DCC_BASE_HANDSHAKE_LINKS"], on(LATE)),
    "cache": ("connections begin with what earlier ones have measured", [
        (MODEL, "return !dcc_base_is_configured(&m->base) && m->line.configured;", "return false;")],
        [("path/cache.h", "#define DCC_CACHE_NOTE_NS", "#endif"), "DCC_BASE_SLACK_SHIFT", "dcc_path_metrics",
         "dcc_base_allows_cached", "dcc_base_recall", (MODEL, "static inline bool dcc_model_may_recall", "#endif")], on(LATE)),
    "small": ("before a full packet, the RTT of small ones", [
        (BASE, "(small && b->source > DCC_BASE_SMALL))", "small)"),
        (BASE, "if (b->source <= DCC_BASE_SMALL &&", "if (0 &&")],
        ["dcc_base_guess_small", "dcc_model_guess", (BASE, "if (small && b->cached.rtt_min_ns)", "b->cached.rtt_min_ns);")], on(LATE)),
    "noise": ("noise is estimated at all", [
        (MODEL, "if (!dcc_base_is_configured(&m->base))\n\t\tdcc_noise_round(", "if (0)\n\t\tdcc_noise_round(")],
        ["dcc_noise_is_noisy", "dcc_noise_round", (MODEL, "if (!dcc_base_is_configured(&m->base))\n\t\tdcc_noise_round(", ";")],
        on("gamma", "acks")),
    "noise-turn": ("noise: a queue's steps make no more than its range", [
        (NOISE, "if (r->duration_ns <= most_ns + rtt_min_ns / 2)", "if (0)")], [], on("gamma", "two-values")),
    "noise-step": ("noise: a queue changes by a quarter of the time; of dense rounds the turn test alone, no other is noisy", [
        (NOISE, "u64 queue_ns = between_ns / DCC_NOISE_STEP_PART;", "u64 queue_ns = 1ULL << 40;")], [], on("gamma", "acks")),
    "noise-cap": ("noise: at most two base RTTs", [
        (NOISE, "x_ns = dcc_min_u64(x_ns, (u64)DCC_NOISE_BASES_MAX * rtt_min_ns);", "")], [], on("receiver")),
    "noise-spreads": ("noise: up to three spreads; one instead", [
        (NOISE, "#define DCC_NOISE_SPREADS 3U", "#define DCC_NOISE_SPREADS 1U")],
        [(NOISE, "x_ns = (u64)DCC_NOISE_SPREADS", ";")], on("gamma", "receiver")),
    "room": ("room: laws aim for queues that are longer by the noise", [
        (MODEL, "m->path.noise_ns = dcc_sub_sat_u32(m->path.base_rtt_ns, m->base.ns);", "m->path.noise_ns = 0;")], [],
        on("gamma", "acks")),
    "share": ("share: in noise, a small share of the line makes the base RTT longer", [
        (SHARE, "if (DCC_LIKELY(!octave_ns))", "if (1)")],
        [(SHARE, "#define DCC_SHARE_T_SHIFT", "#endif"), (MODEL, "m->share_ns = dcc_share_ns(", ";"),
         (MODEL, "u32 octave_ns = dcc_share_octave_ns(", ";")], on("gamma", "acks")),
    "share-quarter": ("share: T is a quarter of the path at most; in proportion to the noise without end instead", [
        (SHARE, "rtt_min_ns >> DCC_SHARE_T_SHIFT);", "~0U);")],
        ["DCC_SHARE_T_SHIFT", (SHARE, "rtt_min_ns >> DCC_SHARE_T_SHIFT);", ";")], on("gamma", "receiver")),
    "share-none": ("share: not for noise of a 32nd of the path", [
        (SHARE, "rtt_min_ns >> DCC_SHARE_NONE_SHIFT)", "0)")], ["DCC_SHARE_NONE_SHIFT"], on("gamma", "some-hosts")),
    "share-levels": ("share: it is no part of the noise for a law with levels", [
        (MODEL, "if (m->has_levels)", "if (0)")], [(MODEL, "if (m->has_levels)", ";")], on("gamma", "some-hosts", "path/many 3 us")),
    "share-most": ("share: seven halvings at most; three instead", [
        (SHARE, "#define DCC_SHARE_OCTAVES 7U", "#define DCC_SHARE_OCTAVES 3U")], ["DCC_SHARE_OCTAVES"], on("gamma", "receiver")),
    "probe": ("a base RTT is ever in doubt, and probed", [
        (MODEL, "if (DCC_LIKELY(!dcc_base_in_doubt(", "if (1 || DCC_LIKELY(!dcc_base_in_doubt(")],
        ["dcc_base_in_doubt", "dcc_base_replace", "dcc_model_doubt", "dcc_model_small_sample", "dcc_tcp_add_probe", "dcc_probe",
         (PROBE, "static inline bool dcc_probe_is_on", "#endif")], on("longer", "configured")),
    "probe-age": ("probe: a base RTT that was seen comes into doubt again", [
        (BASE, "return now_ns - b->seen_ns > (u64)b->ns * DCC_BASE_AGE_RTTS;", "return !b->seen_ns;")], [], on("longer", LATE)),
    "probe-passes": ("probe: four times no queue; once instead", [
        (PROBE, "#define DCC_PROBE_PASSES 4U", "#define DCC_PROBE_PASSES 1U")],
        [(PROBE, "p->looks = DCC_PROBE_LOOKS - 1;", "return false;"), "DCC_PROBE_PASSES"], on("longer", LATE, HALF)),
    "probe-looks": ("probe: RTTs have to be steady; one look instead of three", [
        (PROBE, "#define DCC_PROBE_LOOKS 3U", "#define DCC_PROBE_LOOKS 1U")],
        [(PROBE, "bool alike = p->looks", ";"), (PROBE, "p->looks = (u8)(alike", ";"), (PROBE, "p->looks = DCC_PROBE_LOOKS - 1;", ";"),
         "DCC_PROBE_LOOKS"], on("longer", LATE, HALF)),
    "probe-least": ("probe: the last look is near the least RTT", [
        (PROBE, "bool near = mean_ns <= (u64)p->least_ns + band_ns;", "bool near = true;")],
        [(PROBE, "bool near = mean_ns", ";"), (PROBE, "if (near || ++p->far_looks", "DCC_U32_MAX;"), (PROBE, "p->least_far_ns = (u32)", ";"),
         "DCC_PROBE_FAR_LOOKS"], on("longer", LATE, HALF)),
    "probe-far": ("probe: of the last 16 looks if none was near it; since the base RTT is in doubt instead", [
        (PROBE, "\t\tif (!near)\n\t\t\tp->least_ns = p->least_far_ns;\n", "")],
        [(PROBE, "if (near || ++p->far_looks", "DCC_U32_MAX;"), (PROBE, "p->least_far_ns = (u32)", ";"), "DCC_PROBE_FAR_LOOKS"],
        on("longer", "longer-twice", HALF)),
    "probe-first": ("probe: the first is of two packets; of four instead", [
        (PROBE, "#define DCC_PROBE_PACKETS_FIRST 2U", "#define DCC_PROBE_PACKETS_FIRST 4U")],
        ["DCC_PROBE_PACKETS_FIRST", (PROBE, "most = dcc_min_u64(most, p->passed", ";")], on("longer", LATE, HALF)),
    "probe-room": ("probe: an eighth of what the line holds; four packets instead", [
        (PROBE, "most = dcc_div_u64(base_ns, DCC_PROBE_ROOM_PART * packet_ns);", "most = DCC_PROBE_PACKETS;")],
        ["DCC_PROBE_ROOM_PART", (PROBE, "most = dcc_div_u64(base_ns", ";")], on(FEW)),
    "probe-hide": ("probe: the law does not see it", [
        (MODEL, "if (dcc_probe_disturbs(&m->probe, ack))\n\t\t\t\tack->flags |= DCC_ACK_NO_RTT;", "")],
        ["dcc_probe_disturbs"], on("longer", LATE, HALF)),
    "drain": ("drain: next to nothing in flight for a round trip, now and then", [
        (DRAIN, "if (flight_packets <= DCC_DRAIN_PACKETS)\n\t\treturn;", "return;")],
        [(DRAIN, "#define DCC_DRAIN_PACKETS", "#endif"), (MODEL, "if (dcc_drain_disturbs(", "} else if"),
         (MODEL, "dcc_drain_end(", "m->base.ns < base_ns);")],
        on("acks", COLD, "longer")),
    "drain-packets": ("drain: to four packets; to half of what was in flight instead", [
        (DRAIN, "half ? flight_packets / 2 : DCC_DRAIN_PACKETS", "flight_packets / 2")], [], on("acks", COLD)),
    "drain-half": ("drain: of a law with levels to half; to four packets instead", [
        (DRAIN, "half ? flight_packets / 2 : DCC_DRAIN_PACKETS", "DCC_DRAIN_PACKETS")], [], on("long", COLD)),
    "drain-hide": ("drain: neither the law nor a round has its RTTs", [
        (MODEL, "if (dcc_drain_disturbs(&m->drain, ack)) {", "if (0) {")],
        ["dcc_drain_disturbs", (MODEL, "if (dcc_drain_disturbs(", "} else if")], on("acks", "gamma", COLD)),
    "drain-anew": ("drain: soon after an RTT that is shorter than all before", [
        (DRAIN, "return !d->rtts || (shorter && d->rtts > DCC_DRAIN_RTTS);", "(void)shorter;\n\treturn !d->rtts;")],
        ["dcc_drain_is_anew"], on(COLD, TWELVE)),
    "drain-rare": ("drain: four times as rare each time, twice instead", [
        (DRAIN, "#define DCC_DRAIN_RTTS_SHIFT 2", "#define DCC_DRAIN_RTTS_SHIFT 1")], ["DCC_DRAIN_RTTS_SHIFT"], on("acks", "gamma", COLD)),
    "lasting": ("a window below one packet is spread over 12 base RTTs at the most", [
        (TCP, "return dcc_max_u64(dcc_min_u64(s->sampler.rtt_ns, most_ns), 1);", "(void)most_ns;\n\treturn s->sampler.rtt_ns;")],
        ["dcc_tcp_window_rtt_ns", "DCC_TCP_LASTING_RTTS"], on("ccc-tab01-s2")),
    "seen-target": ("probe: as short is within a quarter of the law's target, too", [
        (BASE, "return dcc_min_u32(base_ns >> DCC_BASE_SEEN_SHIFT,\n\t\t\t   target_ns >> DCC_BASE_SEEN_TARGET_SHIFT);",
         "(void)target_ns;\n\treturn base_ns >> DCC_BASE_SEEN_SHIFT;")], ["DCC_BASE_SEEN_TARGET_SHIFT"], on("configured", LATE)),
    "line-floor": ("line: a delay floor; 1 ns instead", [
        (LINE, "l->floor_ns = l->configured ? 0 : (u32)ns;", "l->floor_ns = l->configured ? 0 : 1;\n\t(void)ns;")],
        ["dcc_line_set_floor"], on("line-unknown", SLOW)),
    "line-packets": ("line: the floor is two packets at the flow's rate at least", [
        (LINE, "\tif (l->round_bps)\n", "\tif (0)\n")],
        [(LINE, "if (l->round_bps)", "base_rtt_ns);")], on("line-unknown", SLOW)),
    "line-follow": ("line: a device's rate follows what the path carries", [
        (LINE, "\tif (!used || r->min_rtt_ns", "\tif (1)\n\t\treturn;\n\tif (!used || r->min_rtt_ns")],
        [(LINE, "bool drains =", "bool used;"), (LINE, "l->min_before_ns = r->min_rtt_ns;", "DCC_PATH_RATE_MAX_BPS);")],
        on("line-unknown", SLOW)),
    "line-window": ("line: the window of START", [
        (TCP, "if (s->model.path.delay_floor_ns)\n\t\tcwnd = dcc_min_u64(cwnd, s->model.line.window);", "")],
        ["dcc_line_carried", (TCP, "if (s->model.path.delay_floor_ns)\n\t\tcwnd", ";")], on("line-unknown", START)),
    "line-bursts": ("line: bursts are a quarter of the window; a sixteenth of the base RTT in its place", [
        (TCP, "if (!s->model.path.delay_floor_ns)\n\t\tpackets", "if (1)\n\t\tpackets")],
        ["DCC_TCP_BURSTS_PER_WINDOW", (TCP, "u64 packets = dcc_min_u64(cwnd_q16", ";")], on("line-unknown", SLOW)),
}
