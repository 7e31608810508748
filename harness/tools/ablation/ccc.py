# SPDX-License-Identifier: Apache-2.0
"""CCC's features beside the paper (kernel/core/dcc_ccc.h)."""

ALGORITHMS = ["ccc"]
MODULES = ["tcp_ccc"]

# name: (scenario, settings, whole sweep, trials)
CASES = {
    "ccc-tab01-s1": ("ccc-tab01-s1", [], False, 6),
    "ccc-tab01-s2": ("ccc-tab01-s2", [], False, 6),
    "ccc-fig07": ("ccc-fig07", [], False, 6),
    "host-cold 20 flows": ("host-cold", ["n=20"], False, 6),
    "host-noise 5 us": ("host-noise", ["noise_ns=5000", "from=hosts", "base=automatic"], False, 6),
}
METRICS = {
    "ccc-tab01-s1": ["utilisation", "jain", "rtt_p50_us", "rtt_p999_us"],
    "ccc-tab01-s2": ["utilisation", "jain", "rtt_p50_us", "rtt_p999_us"],
    "ccc-fig07": ["utilisation", "jain", "queue_mean_bytes", "jain_time_us"],
    "host-cold": ["utilisation", "jain", "queue_mean_bytes"],
    "host-noise": ["utilisation", "jain", "queue_mean_bytes"],
}

# name: (what goes, [(file below kernel/core, text, text in its place)], what is the rule's own if not what is edited, cases if not all)
MECHANISMS = {
    "window": ("1: a window below a packet is a packet", [
        ("dcc_ccc.h", "if (dcc_ccc_has(k, DCC_CCC_FEATURE_WINDOW) && window < DCC_WINDOW_ONE) {", "if (0) {")]),
    "window-stretch": ("1: at r_min with a long RTT it is twice that of r_min", [
        ("dcc_ccc.h", "if (f->rate_q30 <= k->min_q30 && f->rtt_ns >> 1 > k->base_ns)", "if (0)")]),
    "share": ("2: steps and decreases by what is delivered", [
        ("dcc_ccc.h", "if (itv_ns > k->base_ns >> 1 && dcc_ccc_has(k, DCC_CCC_FEATURE_SHARE))", "if (0 && itv_ns > k->base_ns >> 1)"),
        ("dcc_ccc.h", "if (f->region != DCC_CCC_H1D && dcc_ccc_has(&s->scale, DCC_CCC_FEATURE_SHARE))", "if (0)"),
        ("dcc_ccc.h", "if (dcc_ccc_has(k, DCC_CCC_FEATURE_SHARE))\n\t\t\t\tstep_q30 = dcc_ccc_limit_step(s, step_q30, DCC_CCC_REACH_Q16);", "")]),
    "share-probe": ("2: a step in H1i or H2i of few packets, at twice what is delivered", [
        ("dcc_ccc.h", "if (itv_ns > k->base_ns >> 1 && dcc_ccc_has(k, DCC_CCC_FEATURE_SHARE))", "if (0 && itv_ns > k->base_ns >> 1)")]),
    "share-keep": ("2: no decrease below 7/8 of what is delivered", [
        ("dcc_ccc.h", "if (f->region != DCC_CCC_H1D && dcc_ccc_has(&s->scale, DCC_CCC_FEATURE_SHARE))", "if (0)")]),
    "share-reach": ("2: a step in Ai up to 5/4 of what is delivered", [
        ("dcc_ccc.h", "if (dcc_ccc_has(k, DCC_CCC_FEATURE_SHARE))\n\t\t\t\tstep_q30 = dcc_ccc_limit_step(s, step_q30, DCC_CCC_REACH_Q16);", "")]),
    "drift": ("4: a rate above Irr loses a part", [
        ("dcc_ccc.h", "if (f->rate_q30 <= irr_q30 || f->q_ns < s->scale.empty_ns ||\n\t    !dcc_ccc_has(&s->scale, DCC_CCC_FEATURE_DRIFT))",
         "if (1)")]),
    "basis": ("8: S is r until the first increase behind a decrease", [
        ("dcc_ccc.h", "if (!f->raised && dcc_ccc_has(&s->scale, DCC_CCC_FEATURE_BASIS)) {", "if (0) {")]),
    "start": ("16: a flow whose whole first window was lost starts at r_min", [
        ("dcc_ccc.h", "if (!s->flow.have_rtt && dcc_ccc_has(&s->scale, DCC_CCC_FEATURE_START)) {", "if (0) {")]),
    "slope": ("32: half the slope of w_md near the goal", [
        ("dcc_ccc.h", "if (dcc_ccc_has(&s->scale, DCC_CCC_FEATURE_SLOPE))", "if (0)")]),
    "stay": ("256: v_ai stays up to q_B / 2", [
        ("dcc_ccc.h", "dcc_ccc_has(&s->scale, DCC_CCC_FEATURE_STAY))\n\t\t\treturn;", "0)\n\t\t\treturn;")]),
    "floor": ("64, which is off: on (the default of features as 383)", [
        ("dcc_ccc.h", "#define DCC_CCC_FEATURE_DEFAULT 319U", "#define DCC_CCC_FEATURE_DEFAULT 383U")]),
    "slack": ("128, which is off: on (the default of features as 447)", [
        ("dcc_ccc.h", "#define DCC_CCC_FEATURE_DEFAULT 319U", "#define DCC_CCC_FEATURE_DEFAULT 447U")]),
}
