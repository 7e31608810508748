# SPDX-License-Identifier: Apache-2.0
"""SQCC's steps on an idle line: number 8 of kernel/core/dcc_sqcc.h."""

ALGORITHMS = ["sqcc"]
MODULES = ["tcp_sqcc"]

# name: (scenario, settings, whole sweep, trials)
CASES = {
    "sqcc-join": ("sqcc-join", [], False, 6),
    "sqcc-n 20 flows": ("sqcc-n", ["n=20"], False, 6),
    "base RTT 80 %": ("host-told", ["percent=80"], False, 6),
    "host-cold 20 flows": ("host-cold", ["n=20"], False, 6),
    "host-noise 5 us": ("host-noise", ["noise_ns=5000", "from=hosts", "base=automatic"], False, 6),
}
METRICS = {
    "sqcc-join": ["utilisation", "jain", "queue_mean_bytes"],
    "sqcc-n": ["utilisation", "jain", "queue_mean_bytes"],
    "host-told": ["utilisation", "jain", "recover_us"],
    "host-cold": ["utilisation", "jain", "queue_mean_bytes"],
    "host-noise": ["utilisation", "jain", "queue_mean_bytes"],
}

# name: (what goes, [(file below kernel/core, text, text in its place)], what is the rule's own if not what is edited, cases if not all)
MECHANISMS = {
    "fill": ("8: steps on an idle line, and what is taken back", [
        ("dcc_sqcc.h", "dcc_sqcc_cut(s, ack, before_ns) ||\n\t\t  dcc_sqcc_fill(s, ack, before_ns);", "dcc_sqcc_cut(s, ack, before_ns);")]),
    "fill-known": ("8: an eighth of the way to a known C / N", [
        ("dcc_sqcc.h", "if (s->rate_q8 >= s->share_q8)\n\t\t\treturn false;", "if (1)\n\t\t\treturn false;")]),
    "fill-guess": ("8: a guess's steps", [
        ("dcc_sqcc.h", "if (s->rate_q8 >= s->line_q8) {", "if (1) {")]),
    "fill-sooner": ("8: they come sooner while the line stays idle", [
        ("dcc_sqcc.h", "(u64)s->span_ns * DCC_SQCC_FILL_SPANS >> 2 * s->fills);", "(u64)s->span_ns * DCC_SQCC_FILL_SPANS);")]),
    "fill-double": ("8: they double once they come with each RTT, of R and of the line", [
        ("dcc_sqcc.h", "u32 doublings = dcc_sub_sat_u32(s->fills, DCC_SQCC_FILLS_FAST) / 2;", "u32 doublings = 0;"),
        ("dcc_sqcc.h", "u32 doublings = dcc_sub_sat_u32(s->fills, DCC_SQCC_FILLS_FAST);", "u32 doublings = 0;")]),
    "fill-line": ("8: a step is at most a part of the line", [
        ("dcc_sqcc.h", "return dcc_min_u64(s->rate_q8 >> dcc_sqcc_fill_shift(s),\n"
         "\t\t\t   dcc_div_u64(s->line_q8, DCC_SQCC_FILL_LINE_PART) << doublings);",
         "(void)doublings;\n\treturn s->rate_q8 >> dcc_sqcc_fill_shift(s);")]),
    "fill-back": ("8: nothing is taken back when the queue shows", [
        ("dcc_sqcc.h", "dcc_sqcc_set_rate(s, dcc_scale_q24(s->rate_q8, dcc_sqcc_kept_q24(s, ack)));\n\t\ts->fills = 0;", "s->fills = 0;")]),
    "fill-back-growth": ("8: taken back by the queue's growth; an eighth in its place", [
        ("dcc_sqcc.h", "dcc_scale_q24(s->rate_q8, dcc_sqcc_kept_q24(s, ack))", "s->rate_q8 - s->rate_q8 / 8")]),
    "fill-low": ("8: a guess of one of few takes all below a lone flow's T_low for idle", [
        ("dcc_sqcc.h", "return rtt_ns < s->t_low0_ns && !s->share_q8 &&\n\t       s->rate_q8 > s->line_q8 / DCC_SQCC_FILL_MANY;", "return false;")]),
}
