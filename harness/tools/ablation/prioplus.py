# SPDX-License-Identifier: Apache-2.0
"""PrioPlus's rules, and differences that measure as rules do (kernel/core/dcc_prioplus.h)."""

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
    "path/long": ("path/long", [], False, 6),
    "path/together": ("path/together", [], False, 6),
    "host-bursts": ("host-bursts", ["on_time_ppm=999000"], False, 6),
    "prio-fig08 on LEDBAT": ("prio-fig08", [], False, 6, ["prioplus_ledbat"]),
    "prio-join on LEDBAT": ("prio-join", [], False, 6, ["prioplus_ledbat"]),
}
METRICS = {
    "prio-fig08": ["takeover_us", "giveback_us", "top_share", "top_utilisation"],
    "prio-fig10a": ["takeover_us", "giveback_us", "top_share", "top_utilisation"],
    "prio-join": ["jain", "utilisation", "queue_mean_bytes"],
    "prio-fig11": ["fct_mean_us", "fct_p99_us", "slowdown_mean", "slowdown_p99"],
    "host-line": ["utilisation", "jain", "recover_us"],
    "path/long": ["utilisation", "jain", "queue_mean_bytes"],
    "path/together": ["utilisation", "jain", "queue_mean_bytes"],
    "host-bursts": ["utilisation", "jain", "queue_mean_bytes"],
}
LEVELS = ["prio-fig08", "prio-fig10a"]
JOIN = ["prio-join", "prio-join n = 16"]
FLOWS = ["prio-fig11"]
UNKNOWN = ["host-line, line rate unknown"]
LONG = ["path/long"]
BURSTS = ["host-bursts"]
TOGETHER = ["path/together"]
LEDBAT = ["prio-fig08 on LEDBAT", "prio-join on LEDBAT"]

# name: (what goes, [(file below kernel/core, text, text in its place)], what is the rule's own if not what is edited, cases if not all)
MECHANISMS = {
    "settle": ("settle: no flow is ever settled; with it go yield, aim and resume", [
        ("dcc_prioplus.h", "\tif (f->calm < DCC_PRIOPLUS_SETTLED_RTTS)\n\t\treturn;\n", "\treturn;\n")], ["dcc_prioplus_settle"], JOIN + LEVELS),
    "settle-count": ("settle: N of a settled flow from its window", [
        ("dcc_prioplus.h", "\tdcc_prioplus_set_flows(s, dcc_prioplus_count_q8(s, s->target_ns, f->hold_q24));\n", "")], [], JOIN + LEVELS),
    "over": ("cut and yield: over the limit as the listing has it", [
        ("dcc_prioplus.h", "\tif (!s->params.paper) {\n\t\tif (!f->hold_q24 && f->cuts", "\tif (0) {\n\t\tif (!f->hold_q24 && f->cuts")],
        [], LEVELS + FLOWS),
    "cut": ("cut: up to three cuts of a flow that was never settled", [
        ("dcc_prioplus.h", "if (!f->hold_q24 && f->cuts < DCC_PRIOPLUS_CUTS &&\n\t\t    f->cwnd_q24 >= DCC_PRIOPLUS_CWND_STOP) {", "if (0) {")],
        [], LEVELS + FLOWS),
    "cut-count": ("cut: N from the second cut on", [
        ("dcc_prioplus.h", "if (f->cuts++)\n\t\t\t\tdcc_prioplus_set_flows(s, count_q8);", "f->cuts++;")], [], LEVELS + FLOWS),
    "cut-first": ("cut: not from the first cut on; at once in its place", [
        ("dcc_prioplus.h", "if (f->cuts++)\n\t\t\t\tdcc_prioplus_set_flows(s, count_q8);",
         "f->cuts++;\n\t\t\tdcc_prioplus_set_flows(s, count_q8);")], [], LEVELS + FLOWS),
    "yield": ("yield: a flow that was settled keeps N and w_hold; what else there is in its place", [
        ("dcc_prioplus.h", "\t\tif (dcc_prioplus_is_settled(s) ||\n\t\t    (f->hold_q24 && f->cwnd_q24 <= f->hold_q24))\n"
         "\t\t\treturn dcc_prioplus_stop(s, ack->rtt_ns, DCC_PRIOPLUS_YIELD);\n", "")], [], LEVELS + FLOWS + TOGETHER),
    "yield-again": ("yield: so does one that was settled once, at most at w_hold; no other than a settled one in its place", [
        ("dcc_prioplus.h", "dcc_prioplus_is_settled(s) ||\n\t\t    (f->hold_q24 && f->cwnd_q24 <= f->hold_q24))",
         "dcc_prioplus_is_settled(s))")], [], LEVELS + FLOWS + TOGETHER),
    "yield-window": ("yield: at any window, once it was settled, in its place", [
        ("dcc_prioplus.h", "dcc_prioplus_is_settled(s) ||\n\t\t    (f->hold_q24 && f->cwnd_q24 <= f->hold_q24))", "f->hold_q24)")],
        [], LEVELS + FLOWS + TOGETHER),
    "fall": ("fall: a shorter sample over the limit is no second one", [
        ("dcc_prioplus.h", "if (!f->over || delay_ns >= f->high_ns || s->params.paper)\n\t\t\tf->over++;", "f->over++;")], [], BURSTS + LEVELS),
    "wait": ("wait: it does not resume in the middle of a queue", [
        ("dcc_prioplus.h", "if (f->state != DCC_PRIOPLUS_STOPPED && ++f->middle < DCC_PRIOPLUS_MIDDLE_MAX)", "if (0)")], [], LEVELS + FLOWS),
    "wait-eight": ("wait: unless eight probes in a row find one; never in its place", [
        ("dcc_prioplus.h", "if (f->state != DCC_PRIOPLUS_STOPPED && ++f->middle < DCC_PRIOPLUS_MIDDLE_MAX)",
         "if (f->state != DCC_PRIOPLUS_STOPPED)")], [], LEVELS + FLOWS),
    "away": ("away: levels in between go first", [
        ("dcc_prioplus.h", "return dcc_min_u32(away - 1, DCC_PRIOPLUS_AWAY_MAX);", "(void)away;\n\treturn 0;")],
        ["dcc_prioplus_away"], LEVELS + FLOWS),
    "away-confirm": ("away: a second probe confirms", [
        ("dcc_prioplus.h", "if (f->state == DCC_PRIOPLUS_YIELDED || (f->state == DCC_PRIOPLUS_WAITS && away)) {",
         "if (f->state == DCC_PRIOPLUS_YIELDED) {")], [], LEVELS + FLOWS),
    "confirm": ("confirm: the very first probe without a queue is confirmed", [
        ("dcc_prioplus.h", "if (f->state == DCC_PRIOPLUS_YIELDED || (f->state == DCC_PRIOPLUS_WAITS && away)) {",
         "if ((f->state == DCC_PRIOPLUS_YIELDED || f->state == DCC_PRIOPLUS_WAITS) && away) {")], [], LEVELS + FLOWS),
    "away-apart": ("away: probes are two RTTs further apart for each level in between", [
        ("dcc_prioplus.h", "dcc_prioplus_random(&s->flow, s->base_ns) +\n\t       2ULL * s->base_ns * dcc_prioplus_away(s);",
         "dcc_prioplus_random(&s->flow, s->base_ns);")], [], LEVELS + FLOWS),
    "resume": ("resume: 80 % of the part of w_hold that stood in the queue", [
        ("dcc_prioplus.h", "\tif (!s->params.paper)\n\t\tcwnd_q24 = dcc_max_u64(cwnd_q24, dcc_scale_q24(f->hold_q24, s->hold_resume_q24));\n", "")],
        [], LEVELS + FLOWS),
    "gap": ("gap: the adaptive increase is at least half of the flow's part of it", [
        ("dcc_prioplus.h", "f->step_q24 = dcc_max_u64(f->step_q24, part_q24);", "")], [
        ("dcc_prioplus.h", "part_q24 = dcc_min_u64(dcc_prioplus_half_gap_q24(s, gap_ns",
         "part_q24);\n\t}")], JOIN + LEVELS),
    "gap-double": ("gap: it doubles each time that it did not reach the channel", [
        ("dcc_prioplus.h", "if (f->tries < DCC_PRIOPLUS_TRIES_MAX)\n\t\t\tf->tries++;\n", "")], [], JOIN + LEVELS),
    "gap-resume": ("gap: a probe that finds a queue below D_target lets the flow resume with more than resume_milli", [
        ("dcc_prioplus.h", "if (!s->params.paper && delay_ns < s->target_ns)\n", "if (0)\n")], [], LEVELS + FLOWS),
    "aim": ("aim: a settled flow's target goes by its share", [
        ("dcc_prioplus.h", "if (!dcc_prioplus_is_settled(s))\n\t\treturn s->target_ns;", "if (1)\n\t\treturn s->target_ns;")],
        ["dcc_prioplus_aim_ns"], JOIN + LEVELS),
    "aim-grow": ("aim: its increase goes by its window", [
        ("dcc_prioplus.h", "if (dcc_prioplus_is_settled(s))\n\t\treturn dcc_scale_q24(s->flow.cwnd_q24, s->grow_q24);", "")], [], JOIN + LEVELS),
    "line-ledbat": ("line: on LEDBAT the decrease is of at most what the line holds", [
        ("dcc_prioplus.h", "(u64)f->started_q8 << 15);\n\t\tcwnd_q24 = dcc_min_u64(cwnd_q24, dcc_prioplus_packets_q24(s, ack->rtt_ns));\n",
         "(u64)f->started_q8 << 15);\n")], [], LEDBAT),
    "flight": ("flight: where the line rate is not configured, the window follows the flight", [
        ("dcc_prioplus.h", "if (s->path.delay_floor_ns && !f->fresh && !(ack->flags & DCC_ACK_APP_LIMITED))", "if (0)")],
        ["dcc_prioplus_follow_flight"], UNKNOWN),
    "a-base": ("difference 13: A is a fifth of the base RTT at least", [
        ("dcc_prioplus.h", "\t\tif (!p->paper)\n\t\t\ta_ns = dcc_max_u32(a_ns,", "\t\tif (0)\n\t\t\ta_ns = dcc_max_u32(a_ns,")],
        ["DCC_PRIOPLUS_A_BASE_PART"], LONG),
    "unused": ("difference 10: a flow that uses less than four fifths of its window does not grow", [
        ("dcc_prioplus.h", "if (window_q24 <= used_q24 + used_q24 / 4 + DCC_PRIOPLUS_UNUSED)\n\t\tused_q24 = 0;", "used_q24 = 0;")],
        [], LEVELS + FLOWS),
    "ledbat-half": ("difference 16: LEDBAT's window falls at most to a half in a RTT", [
        ("dcc_prioplus.h", "least_q24 = dcc_min_u64(cwnd_q24, (u64)f->started_q8 << 15);", "")], [], LEDBAT),
}
