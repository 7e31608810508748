# SPDX-License-Identifier: Apache-2.0
"""OSCAR's default law: what harness/tools/ablation.py measures it without."""

ALGORITHMS = ["oscar"]
MODULES = ["tcp_oscar"]


def dumbbell(gbps, base_ns):
    """Settings of a dumbbell of another rate or base RTT."""
    sysctl = "algorithms.oscar.sysctl.net.ipv4.delaycc"
    return [f"link.rate_gbps={gbps}", f"link.ecn_threshold_bytes={gbps * base_ns // 16}", f"topology.base_rtt_ns={base_ns}",
            f"{sysctl}.line_rate_mbps={gbps * 1000}", f"{sysctl}.base_rtt_ns={base_ns}"]


# name: (scenario, settings, whole sweep, trials)
CASES = {
    "oscar-fig07": ("oscar-fig07", [], True, 4),
    "oscar-fig07 30 us, k = 9": ("oscar-fig07", ["k=9", *dumbbell(100, 30000)], False, 4),
    "oscar-fig07 100 us, k = 2": ("oscar-fig07", ["k=2", *dumbbell(100, 100000)], False, 4),
    "oscar-fig07 25 Gbit/s, 20 us, k = 5": ("oscar-fig07", ["k=5", *dumbbell(25, 20000)], False, 4),
    "oscar-half": ("oscar-half", [], False, 12),
    "oscar-half 40 Gbit/s": ("oscar-half", dumbbell(40, 12000), False, 12),
    "oscar-stagger": ("oscar-stagger", [], False, 12),
    "oscar-stagger 13 x 250 KB, 15 us apart": (
        "oscar-stagger",
        ["topology.senders=14", "flows.1.count=13", "flows.1.from=senders[1-13]", "flows.1.stagger_us=15", "flows.1.size_bytes=250000"], False, 12),
    "oscar-mice": ("oscar-mice", [], False, 12),
    "oscar-fig06b": ("oscar-fig06b", [], False, 4),
    "oscar-fig02": ("oscar-fig02", [], False, 8),
    "oscar-fig09": ("oscar-fig09", [], False, 12),
    "oscar-fig20": ("oscar-fig20", [], False, 2),
}
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

# name: (what goes, [(file below kernel/core, text, text in its place)], what is the rule's own if not what is edited, cases if not all)
MECHANISMS = {
    "rate-unbiased": ("9: rate over n - 1 intervals", [
        ("oscar/model.h", "return dcc_oscar_rate_ratio(s, e->acked_after_first_bytes, e->last_ns - e->first_ns,\n\t\t\t\t    e->gradient_q16);",
         "return dcc_oscar_rate_ratio(s, e->acked_bytes, e->last_ns - e->start_ns, e->gradient_q16);")], ["dcc_oscar_rate_ratio_unbiased"]),
    "pause": ("10: a batch ends at a pause in sending, and so does the ring", [
        ("oscar/model.h", "if (s->scale.params.paper) {", "if (1) {")]),
    "forget-points": ("10: the ring of delays alone ends at a pause", [
        ("oscar/default.h", "> s->batch.gap_ns)\n\t\tdcc_oscar_forget_points(s);", "> s->batch.gap_ns)\n\t\t;")]),
    "band": ("11: brakes within 0.5 us below D_target", [
        ("oscar/params.h", "return dcc_min_u32(DCC_OSCAR_BAND_NS, (c->target_ns - c->base_ns) / 8);", "return 0;")]),
    "drain": ("12: the drain's prediction", [
        ("oscar/default.h", "if (d->predicted_q24 && rtt_ns <= s->scale.empty_ns)", "if (0)")],
        [("oscar/drain.h", "#define DCC_OSCAR_RISE_NS", "#endif"), "dcc_oscar_refill"]),
    "probe": ("12: rate probes; u grows by U_HAI in their place", [
        ("oscar/probe.h", "if (p->phase != DCC_OSCAR_PROBE_NONE || s->u_q24 >= DCC_RATIO_ONE)", "if (1)"),
        ("oscar/default.h", "return s->u_q24 + s->scale.u_ai_q24;\n\t}", "return s->u_q24 + dcc_ppm_to_q24(10000);\n\t}")],
        [("oscar/probe.h", "#define DCC_OSCAR_PROBE_PACKETS", "#endif")]),
    "probe-after-refill": ("12: a probe after the predicted share is taken", [
        ("oscar/default.h", "DCC_OSCAR_REFILL);\n\tdcc_oscar_probe_begin(s, ack->now_ns);", "DCC_OSCAR_REFILL);")]),
    "probe-again": ("12: a next probe where the first met no queue", [
        ("oscar/probe.h", "\tdcc_oscar_probe_begin(s, ack->now_ns);\n", "")]),
    "fill": ("12: phase FILL; STEER in its place", [
        ("oscar/default.h", "? DCC_OSCAR_PHASE_FILL :", "? DCC_OSCAR_PHASE_STEER :")], ["dcc_oscar_fill"]),
    "hold": ("12: phase HOLD; STEER in its place", [
        ("oscar/default.h", ":\n\t\t\t\t\t\t\t DCC_OSCAR_PHASE_HOLD;", ":\n\t\t\t\t\t\t\t DCC_OSCAR_PHASE_STEER;")], ["dcc_oscar_hold"]),
    "hold-excess": ("12: HOLD aims lower by the mean excess", [
        ("oscar/default.h", "if (s->steer.excess_ns > 0)", "if (0)")]),
    "hold-half": ("12: HOLD keeps half of the ratio in force", [
        ("oscar/default.h", "return u_q24 / 2 + s->u_q24 / 2;", "return u_q24;")]),
    "half-step": ("13: half of U_AI in FILL and HOLD", [
        ("oscar/default.h", "u_q24 = dcc_oscar_fill(s, e, us_q24);\n\t\tai_q24 /= 2;", "u_q24 = dcc_oscar_fill(s, e, us_q24);"),
        ("oscar/default.h", "u_q24 = dcc_oscar_hold(s, e, us_q24);\n\t\tai_q24 /= 2;", "u_q24 = dcc_oscar_hold(s, e, us_q24);")], [
        ("oscar/default.h", "ai_q24 /= 2;\n\t\tbreak;\n\tcase", "2;"), ("oscar/default.h", "ai_q24 /= 2;\n\t\tbreak;\n\tdefault", "2;")]),
    "ai-since": ("13: U_AI once per tau since the reference state", [
        ("oscar/default.h", "ai_q24 = dcc_oscar_ai_since(s, e->first_ns, ack->now_ns);", "ai_q24 = dcc_oscar_ai_step(s);")], ["dcc_oscar_ai_since"]),
    "ai-few": ("13: larger steps where few flows share", [
        ("oscar/default.h", "return dcc_max_u32(u_ai_q24, dcc_min_u32(many_q24, few_q24));", "(void)many_q24; (void)few_q24; return u_ai_q24;")],
        ["dcc_oscar_ai_step"]),
    "exact": ("14: the window ratio from the ratio in force", [
        ("oscar/default.h", "u_w = dcc_oscar_window_ratio_exact(s, e, us_q24);", "u_w = dcc_oscar_window_ratio(s, e);")]),
    "exact-paced": ("14: the same, where pacing was the limit", [
        ("oscar/default.h", "if (dcc_oscar_within(inflight, (u64)us_q24 * e->delay_ns, c->packet_ns_q24))", "if (0)")]),
    "exact-windowed": ("14: the same, where the window was the limit", [
        ("oscar/default.h", "if (dcc_oscar_within(inflight, (u64)us_q24 * c->target_ns, c->packet_ns_q24))", "if (0)")]),
    "wait-drain": ("no second cut before the first can have drained the queue", [
        ("oscar/default.h", "if (dcc_oscar_draining(s, e))", "if (0 && dcc_oscar_draining(s, e))")]),
    "calm-steer": ("below the target the rate loop is heard only while it is calm", [
        ("oscar/default.h", "if (!accelerate || dcc_oscar_calm(s, e->last_ns))", "if (1)")]),
    "calm-refill": ("the predicted share is taken only while it is calm", [
        ("oscar/default.h", "|| !dcc_oscar_calm(s, ack->send_ns))", ")")]),
    "keep": ("KEEP: an older batch does not undo a rise", [
        ("oscar/default.h", "if (e->first_ns < s->steer.raised_ns &&", "if (0 &&")]),
    "probe-news": ("an empty batch from before the last rise begins no probe", [
        ("oscar/default.h", "if (e->first_ns > s->steer.raised_ns && dcc_oscar", "if (dcc_oscar")]),
    "margin": ("15: more than the predicted share", [
        ("oscar/default.h", "share_q24 += (u32)dcc_scale_q24(share_q24, dcc_oscar_margin_q24(s));", "(void)dcc_oscar_margin_q24;")]),
    "margin-rare": ("15: up to four times more where packets are rare", [
        ("oscar/drain.h", "if (margin_q24 < DCC_RATIO_ONE || dcc_oscar_drop_is_sure(s))", "(void)dcc_oscar_drop_is_sure;")]),
    "margin-sure": ("15: not if one interval was wholly within the drain", [
        ("oscar/drain.h", "|| dcc_oscar_drop_is_sure(s))", ")")]),
    "margin-square": ("15: the margin by the rarity of packets; a quarter in its place", [
        ("oscar/drain.h", "* rare_q12), DCC_OSCAR_MARGIN_MIN);", "* rare_q12), DCC_OSCAR_MARGIN_SURE);")]),
    "drain-rise": ("a rise of the delay ends a drain", [
        ("oscar/default.h", "if (d->predicted_q24 && rtt_ns > (u64)", "if (0 && rtt_ns > (u64)")]),
    "drain-least": ("a drop has a least size", [
        ("oscar/params.h", "return c->queue_ns / 5 * 2;", "return 1;")]),
    "drain-steep": ("a slope is -0.3 or steeper", [
        ("oscar/drain.h", "|| (u64)drop_ns * 10 < span_ns * 3 ||", "||")]),
    "drain-span": ("a span is four tau at most", [
        ("oscar/drain.h", "span_ns > (u64)c->tau_ns * 4)", "0)")]),
    "drain-high": ("a span begins below 1.125 D_target", [
        ("oscar/drain.h", "if (delay_ns > c->high_ns)\n\t\t\tcontinue;", ""),
        ("oscar/drain.h", "if (ack->rtt_ns <= s->scale.high_ns)\n\t\td->peak_ns", "d->peak_ns")]),
    "drain-ratio": ("the measured rate is at most the ratio in force", [
        ("oscar/drain.h", "u_q24 = dcc_min_u32(u_q24, dcc_oscar_ratio_at(s, d->point_send_ns[i]));", "")]),
}
