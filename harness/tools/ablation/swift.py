# SPDX-License-Identifier: Apache-2.0
"""Swift's increase on an idle line and its target's room: differences 10 and 11 of kernel/core/dcc_swift.h."""

ALGORITHMS = ["swift"]
MODULES = ["tcp_swift"]

# name: (scenario, settings, whole sweep, trials)
CASES = {
    "base RTT 80 %": ("host-told", ["percent=80"], False, 6),
    "base RTT 100 %": ("host-told", ["percent=100"], False, 6),
    "host-cold 20 flows": ("host-cold", ["n=20"], False, 6),
    "host-noise 5 us": ("host-noise", ["noise_ns=5000", "from=hosts", "base=automatic"], False, 6),
    "host-span 200 Gbit/s, 1 flow": ("host-span", ["gbps=200", "kbytes=10000", "n=1"], False, 6),
}
METRICS = {
    "host-told": ["utilisation", "jain", "recover_us"],
    "host-cold": ["utilisation", "jain", "queue_mean_bytes"],
    "host-noise": ["utilisation", "jain", "queue_mean_bytes"],
    "host-span": ["utilisation", "queue_mean_bytes"],
}

# name: (what goes, [(file below kernel/core, text, text in its place)], what is the rule's own if not what is edited, cases if not all)
MECHANISMS = {
    "hai": ("10: the increase doubles on an idle line", [
        ("dcc_swift.h", "return dcc_max_u32(s->ai_q16, (u32)dcc_min_u64((u64)s->ai_q16 << doublings, most_q16));",
         "(void)most_q16;\n\treturn s->ai_q16;")], ["dcc_swift_ai_of_q16"]),
    "hai-part": ("10: up to an eighth of the window; up to all of it in its place", [
        ("dcc_swift.h", "#define DCC_SWIFT_HAI_SHIFT 3", "#define DCC_SWIFT_HAI_SHIFT 0")]),
    "room": ("11: the automatic target is above the flow's least RTT", [
        ("dcc_swift.h", "if (!s->params.base_target_ns) {", "if (0) {")]),
    "hai+room": ("10 and 11, the paper's law: hai_rounds is 0", [
        ("dcc_swift.h", "#define DCC_SWIFT_HAI_ROUNDS 3U", "#define DCC_SWIFT_HAI_ROUNDS 0U")]),
}
