# SPDX-License-Identifier: Apache-2.0
"""CCC's rules beside the paper (kernel/core/dcc_ccc.h)."""

ALGORITHMS = ["ccc"]
MODULES = ["tcp_ccc"]

# name: (scenario, settings, whole sweep, trials)
CASES = {
    "ccc-tab01-s1": ("ccc-tab01-s1", [], False, 6),
    "ccc-tab01-s2": ("ccc-tab01-s2", [], False, 6),
    "ccc-fig07": ("ccc-fig07", [], False, 6),
    "host-cold 20 flows": ("host-cold", ["n=20"], False, 6),
    "host-noise 5 us": ("host-noise", ["noise_ns=5000", "from=hosts", "base=automatic"], False, 6),
    "path/long": ("path/long", [], False, 6),
}
METRICS = {
    "ccc-tab01-s1": ["utilisation", "jain", "rtt_p50_us", "rtt_p999_us"],
    "ccc-tab01-s2": ["utilisation", "jain", "rtt_p50_us", "rtt_p999_us"],
    "ccc-fig07": ["utilisation", "jain", "queue_mean_bytes", "jain_time_us"],
    "host-cold": ["utilisation", "jain", "queue_mean_bytes"],
    "host-noise": ["utilisation", "jain", "queue_mean_bytes"],
    "path/long": ["utilisation", "jain", "queue_mean_bytes"],
}

# name: (what goes, [(file below kernel/core, text, text in its place)], what is the rule's own if not what is edited, cases if not all)
MECHANISMS = {
    "window": ("a window below a packet is a packet", [
        ("dcc_ccc.h", "\tif (!k->params.paper)\n\t\twindow = dcc_max_u64(window, DCC_WINDOW_ONE);\n", "")]),
    "share": ("steps and decreases by what is delivered", [
        ("dcc_ccc.h", "if (f->region != DCC_CCC_H1D && !s->scale.params.paper)", "if (0)"),
        ("dcc_ccc.h", "if (!k->params.paper)\n\t\t\t\tstep_q30 = dcc_ccc_limit_step(s, step_q30);", "")],
        ["dcc_ccc_limit_step", "dcc_ccc_rho_q16", "dcc_ccc_update_spacing"]),
    "share-keep": ("share: no decrease below 7/8 of what is delivered", [
        ("dcc_ccc.h", "if (f->region != DCC_CCC_H1D && !s->scale.params.paper)", "if (0)")]),
    "share-reach": ("share: a step in Ai up to 5/4 of what is delivered", [
        ("dcc_ccc.h", "if (!k->params.paper)\n\t\t\t\tstep_q30 = dcc_ccc_limit_step(s, step_q30);", "")], ["dcc_ccc_limit_step"]),
    "drift": ("a rate above Irr loses a part", [
        ("dcc_ccc.h", "if (f->rate_q30 <= irr_q30 || f->q_ns < s->scale.empty_ns || s->scale.params.paper)", "if (1)")], ["dcc_ccc_drift"]),
    "basis": ("S is r until the first increase behind a decrease", [
        ("dcc_ccc.h", "if (!f->raised && !s->scale.params.paper) {", "if (0) {")]),
    "slope": ("half the slope of w_md near the goal", [
        ("dcc_ccc.h", "\tif (!s->scale.params.paper)\n\t\tweight_q24 =", "\tif (0)\n\t\tweight_q24 =")]),
    "stay": ("v_ai stays up to q_B / 2", [
        ("dcc_ccc.h", "if (f->empty && f->q_ns < (s->scale.q_b_ns >> 1) && !s->scale.params.paper)\n\t\t\treturn;", "")]),
    "q_b": ("10: q_B is a quarter of the base RTT at least", [
        ("dcc_ccc.h", "dcc_sub_sat_u32(k->base_ns, path->noise_ns) /", "0 /")], ["DCC_CCC_Q_B_BASE_PART"]),
}
