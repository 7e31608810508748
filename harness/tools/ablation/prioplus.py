# SPDX-License-Identifier: Apache-2.0
"""PrioPlus's rules R1 to R12, and differences that measure as rules do (kernel/core/dcc_prioplus.h)."""

ALGORITHMS = ["prioplus"]
MODULES = ["tcp_prioplus", "tcp_prioplus_ledbat"]

# name: (scenario, settings, whole sweep, trials, algorithms if not ALGORITHMS)
CASES = {
    "prio-fig08": ("prio-fig08", [], False, 6),
    "prio-fig10a": ("prio-fig10a", ["n=10", "step=2000"], False, 6),
    "prio-join": ("prio-join", [], False, 6),
    "prio-join n = 16": ("prio-join", ["n=16"], False, 6),
    "prio-fig11": ("prio-fig11", [], False, 6),
    "host-line, line rate unknown": ("host-line", ["mbps=0"], False, 6),
    "host-noise 5 us": ("host-noise", ["noise_ns=5000", "from=hosts", "base=automatic"], False, 6),
    "prio-fig08 on LEDBAT": ("prio-fig08", [], False, 6, ["prioplus_ledbat"]),
    "prio-join on LEDBAT": ("prio-join", [], False, 6, ["prioplus_ledbat"]),
}
METRICS = {
    "prio-fig08": ["takeover_us", "giveback_us", "top_share", "top_utilisation"],
    "prio-fig10a": ["takeover_us", "giveback_us", "top_share", "top_utilisation"],
    "prio-join": ["jain", "utilisation", "queue_mean_bytes"],
    "prio-fig11": ["fct_mean_us", "fct_p99_us", "slowdown_mean", "slowdown_p99"],
    "host-line": ["utilisation", "jain", "recover_us"],
    "host-noise": ["utilisation", "jain", "queue_mean_bytes"],
}
LEVELS = ["prio-fig08", "prio-fig10a"]
JOIN = ["prio-join", "prio-join n = 16"]
FLOWS = ["prio-fig11"]
UNKNOWN = ["host-line, line rate unknown"]
NOISY = ["host-noise 5 us"]
LEDBAT = ["prio-fig08 on LEDBAT", "prio-join on LEDBAT"]

# name: (what goes, [(file below kernel/core, text, text in its place)], what is the rule's own if not what is edited, cases if not all)
MECHANISMS = {
    "r1": ("R1: no flow is ever settled; with it go R2b, R2c, w_hold in R4 and R5, and R9", [
        ("dcc_prioplus.h", "\t\tf->settled++;\n", "\t\t;\n")], ["dcc_prioplus_settle"], JOIN + LEVELS),
    "r1-count": ("R1: N of a settled flow from its window", [
        ("dcc_prioplus.h", "dcc_prioplus_set_flows(s, dcc_prioplus_count_q8(s, used_q24 ? delay_ns : s->target_ns,\n\t\t\t\t\t\t\tf->hold_q24));",
         "")], [], JOIN + LEVELS),
    "r1-hold": ("R1: w_hold is the largest window of 16 RTTs; the newest in its place", [
        ("dcc_prioplus.h", "f->hold_q24 = dcc_max_u64(f->largest_q24, f->largest_before_q24);",
         "f->hold_q24 = used_q24 ? used_q24 : f->cwnd_q24;")], [], JOIN + LEVELS),
    "r1-used": ("R1: a flow that its own line limits is settled at what it uses", [
        ("dcc_prioplus.h", "if (!used_q24 && (delay_ns < s->low_ns || delay_ns >= s->limit_ns)) {",
         "if (delay_ns < s->low_ns || delay_ns >= s->limit_ns) {")], [], JOIN + LEVELS),
    "r2": ("R2: over the limit as the listing has it", [
        ("dcc_prioplus.h", "\tif (!s->params.paper) {\n\t\tif (!f->hold_q24 && f->cuts", "\tif (0) {\n\t\tif (!f->hold_q24 && f->cuts")],
        [], LEVELS + FLOWS),
    "r2a": ("R2a: up to three cuts of a flow that was never settled", [
        ("dcc_prioplus.h", "if (!f->hold_q24 && f->cuts < DCC_PRIOPLUS_CUTS &&\n\t\t    f->cwnd_q24 >= DCC_PRIOPLUS_CWND_STOP) {", "if (0) {")],
        [], LEVELS + FLOWS),
    "r2a-count": ("R2a: N from the second cut on", [
        ("dcc_prioplus.h", "if (f->cuts++)\n\t\t\t\tdcc_prioplus_set_flows(s, count_q8);", "f->cuts++;")], [], LEVELS + FLOWS),
    "r2a-first": ("R2a: not from the first cut on; at once in its place", [
        ("dcc_prioplus.h", "if (f->cuts++)\n\t\t\t\tdcc_prioplus_set_flows(s, count_q8);",
         "f->cuts++;\n\t\t\tdcc_prioplus_set_flows(s, count_q8);")], [], LEVELS + FLOWS),
    "r2b": ("R2b: a settled flow yields and keeps N and w_hold; R2c and R2d in its place", [
        ("dcc_prioplus.h", "if (dcc_prioplus_is_settled(s))\n\t\t\treturn dcc_prioplus_stop(s, ack->rtt_ns, DCC_PRIOPLUS_YIELD);", "")],
        [], LEVELS + FLOWS),
    "r2c": ("R2c: so does one that was settled once, at most at w_hold; R2d in its place", [
        ("dcc_prioplus.h", "if (f->hold_q24 && f->cwnd_q24 <= f->hold_q24) {", "if (0) {")], [], LEVELS + FLOWS),
    "r2c-step": ("R2c: N grows by a fifth and w_hold falls by a sixth", [
        ("dcc_prioplus.h", "dcc_prioplus_set_flows(s, (u64)f->flows_q8 + f->flows_q8 / 5);\n"
         "\t\t\tf->hold_q24 = dcc_max_u64(f->hold_q24 - dcc_div_u64(f->hold_q24, 6),\n\t\t\t\t\t\t  DCC_PRIOPLUS_CWND_MIN);\n",
         "")], [], LEVELS + FLOWS),
    "r3": ("R3: a flow that has yielded resumes like one that has stopped", [
        ("dcc_prioplus.h", "f->yielded = branch == DCC_PRIOPLUS_YIELD;", "f->yielded = 0;")], [], LEVELS + FLOWS),
    "r3-middle": ("R3: it does not resume in the middle of a queue", [
        ("dcc_prioplus.h", "if (f->yielded && ++f->middle < DCC_PRIOPLUS_MIDDLE_MAX)", "if (0)")], [], LEVELS + FLOWS),
    "r3-eight": ("R3: unless eight probes in a row find one; never in its place", [
        ("dcc_prioplus.h", "if (f->yielded && ++f->middle < DCC_PRIOPLUS_MIDDLE_MAX)", "if (f->yielded)")], [], LEVELS + FLOWS),
    "r3-confirm": ("R3: a second probe confirms", [
        ("dcc_prioplus.h", "if (f->yielded && !f->asked && (away || !f->seen)) {", "if (0) {")], [], LEVELS + FLOWS),
    "r3-first": ("R3: the very first probe without a queue is confirmed", [
        ("dcc_prioplus.h", "if (f->yielded && !f->asked && (away || !f->seen)) {", "if (f->yielded && !f->asked && away) {")], [], LEVELS + FLOWS),
    "r3-later": ("R3: the second probe comes later, the further away the long delay was", [
        ("dcc_prioplus.h", "(away ? 2ULL * s->base_ns * away : s->base_ns);", "s->base_ns;")], [], LEVELS + FLOWS),
    "r3-apart": ("R3: probes are two RTTs further apart for each level in between", [
        ("dcc_prioplus.h", "dcc_prioplus_random(&s->flow, s->base_ns) +\n\t       2ULL * s->base_ns * dcc_prioplus_away(s);",
         "dcc_prioplus_random(&s->flow, s->base_ns);")], [], LEVELS + FLOWS),
    "r3-away": ("R3: levels in between go first at all (r3-later and r3-apart, and whom a first probe is enough for)", [
        ("dcc_prioplus.h", "return dcc_min_u32(away - 1, DCC_PRIOPLUS_AWAY_MAX);", "(void)away;\n\treturn 0;")],
        ["dcc_prioplus_away"], LEVELS + FLOWS),
    "r3-falling": ("R3: the last but one long delay counts if the last was shorter", [
        ("dcc_prioplus.h", "f->falling = !f->falling && delay_ns < f->high_ns;", "f->falling = 0;")], [], LEVELS + FLOWS),
    "r4": ("R4: a flow resumes with more than W_LS / N", [
        ("dcc_prioplus.h", "if (!s->params.paper &&\n\t    (f->hold_q24 || f->flows_q8 > DCC_PRIOPLUS_FLOWS_ONE)) {", "if (0) {")],
        [], LEVELS + FLOWS),
    "r4-fill": ("R4: its part of what fills the queue to half of D_target", [
        ("dcc_prioplus.h", "\t\tcwnd_q24 = dcc_max_u64(cwnd_q24, dcc_prioplus_per_flow_q24(s, s->fill_q24));\n", "")], [], LEVELS + FLOWS),
    "r4-hold": ("R4: 80 % of the part of w_hold that stood in the queue", [
        ("dcc_prioplus.h", "\t\tcwnd_q24 = dcc_max_u64(cwnd_q24, dcc_scale_q24(f->hold_q24, s->hold_resume_q24));\n", "")], [], LEVELS + FLOWS),
    "r5": ("R5: the window doubles up to w_hold without a queue", [
        ("dcc_prioplus.h", "cwnd_q24 = dcc_max_u64(cwnd_q24, dcc_min_u64(2 * f->cwnd_q24, idle_q24));", "(void)idle_q24;")], [], LEVELS + FLOWS),
    "r6": ("R6: the adaptive increase is at least half of the flow's part of the gap", [
        ("dcc_prioplus.h", "f->step_q24 = dcc_max_u64(f->step_q24, part_q24);", "")], [
        ("dcc_prioplus.h", "part_q24 = dcc_min_u64(dcc_prioplus_half_gap_q24(s, gap_ns",
         "part_q24);\n\t}"), "dcc_prioplus_half_gap_q24"], JOIN + LEVELS),
    "r6-double": ("R6: it doubles each time that it did not reach the channel", [
        ("dcc_prioplus.h", "if (f->tries < DCC_PRIOPLUS_TRIES_MAX)\n\t\t\tf->tries++;\n", "")], [], JOIN + LEVELS),
    "r6-unknown": ("R6: a flow that knows nothing of N at most doubles", [
        ("dcc_prioplus.h", "if (!f->hold_q24 && f->flows_q8 == DCC_PRIOPLUS_FLOWS_ONE)\n", "if (0)\n")], [], JOIN + LEVELS),
    "r7": ("R7: a probe that finds a queue below D_target lets the flow resume with more than resume_milli", [
        ("dcc_prioplus.h", "if (!s->params.paper && delay_ns < s->target_ns)\n", "if (0)\n")], [], LEVELS + FLOWS),
    "r8": ("R8: the first sample over the limit does not shrink the window", [
        ("dcc_prioplus.h", "\tif (f->over && !s->params.paper)\n\t\treturn 0;\n", "")], [], LEVELS + FLOWS),
    "r9": ("R9: a settled flow's target and increase go by its share", [
        ("dcc_prioplus.h", "if (!dcc_prioplus_is_settled(s))\n\t\treturn s->target_ns;", "if (1)\n\t\treturn s->target_ns;"),
        ("dcc_prioplus.h", "if (dcc_prioplus_is_settled(s))\n\t\treturn dcc_scale_q24(s->flow.cwnd_q24, s->grow_q24);", "")],
        ["dcc_prioplus_aim_ns", ("dcc_prioplus.h", "if (dcc_prioplus_is_settled(s))\n\t\treturn dcc_scale", ";")], JOIN + LEVELS),
    "r9-aim": ("R9: its target alone", [
        ("dcc_prioplus.h", "if (!dcc_prioplus_is_settled(s))\n\t\treturn s->target_ns;", "if (1)\n\t\treturn s->target_ns;")],
        ["dcc_prioplus_aim_ns"], JOIN + LEVELS),
    "r9-grow": ("R9: its increase alone", [
        ("dcc_prioplus.h", "if (dcc_prioplus_is_settled(s))\n\t\treturn dcc_scale_q24(s->flow.cwnd_q24, s->grow_q24);", "")], [], JOIN + LEVELS),
    "r10": ("R10: the decrease is of at most what the line holds", [
        ("dcc_prioplus.h", "\tif (!s->params.paper)\n\t\tcwnd_q24 = dcc_min_u64(cwnd_q24, dcc_prioplus_packets_q24(s, ack->rtt_ns));\n", "")],
        [], LEVELS + FLOWS),
    "r10-ledbat": ("R10: the same, of prioplus_ledbat", [
        ("dcc_prioplus.h", "(u64)f->started_q8 << 15);\n\t\tcwnd_q24 = dcc_min_u64(cwnd_q24, dcc_prioplus_packets_q24(s, ack->rtt_ns));\n",
         "(u64)f->started_q8 << 15);\n")], [], LEDBAT),
    "r11": ("R11: where nobody tells the line rate, the window follows the flight, and no aim is above D_target", [
        ("dcc_prioplus.h", "if (s->path.delay_floor_ns && !f->fresh && !(ack->flags & DCC_ACK_APP_LIMITED))", "if (0)"),
        ("dcc_prioplus.h", "if (DCC_UNLIKELY(s->path.delay_floor_ns))\n\t\tmost = DCC_PRIOPLUS_AIM_MIDDLE;", "")], [], UNKNOWN),
    "r11-flight": ("R11: the window alone", [
        ("dcc_prioplus.h", "if (s->path.delay_floor_ns && !f->fresh && !(ack->flags & DCC_ACK_APP_LIMITED))", "if (0)")], [], UNKNOWN),
    "r11-aim": ("R11: the aim alone", [
        ("dcc_prioplus.h", "if (DCC_UNLIKELY(s->path.delay_floor_ns))\n\t\tmost = DCC_PRIOPLUS_AIM_MIDDLE;", "")], [], UNKNOWN),
    "r12": ("R12: a shorter sample over the limit is no second one", [
        ("dcc_prioplus.h", "if (!f->over || delay_ns >= f->high_ns || s->params.paper)\n\t\t\tf->over++;", "f->over++;")], [], NOISY + LEVELS),
    "a-room": ("difference 13: A is at least ten packets' time, or a fifth of the base RTT", [
        ("dcc_prioplus.h", "if (!p->paper)\n\t\tleast_ns = dcc_max_u64(least_ns,", "if (0)\n\t\tleast_ns = dcc_max_u64(least_ns,")],
        [], LEVELS + FLOWS),
    "unused": ("difference 10: a flow that uses less than four fifths of its window does not grow", [
        ("dcc_prioplus.h", "if (window_q24 <= used_q24 + used_q24 / 4 + DCC_PRIOPLUS_UNUSED)\n\t\tused_q24 = 0;", "used_q24 = 0;")],
        [], LEVELS + FLOWS),
    "ledbat-half": ("difference 16: LEDBAT's window falls at most to a half in a RTT", [
        ("dcc_prioplus.h", "least_q24 = dcc_min_u64(cwnd_q24, (u64)f->started_q8 << 15);", "")], [], LEDBAT),
}
