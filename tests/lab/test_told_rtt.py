# SPDX-License-Identifier: Apache-2.0
"""A base RTT that is told too short (docs/operate/base-rtt.md): what an idle path shows of it, and what a queue does not."""

import json

import pytest

from outside import run

ALGORITHMS = "ccc,swift,thetapowertcp,prioplus"


def measured(tmp_path, scenario, *words):
    run(scenario, tmp_path / "out", "--trials", "2", "--seed", "61", *words)
    return json.loads((tmp_path / "out" / "summary.json").read_text())["algorithms"]


@pytest.mark.ci
@pytest.mark.parametrize("base_us,told_ns", [(8, 6000), (20, 16000)])
def test_a_lone_flow_does_not_leave_the_line_idle(lab, tmp_path, base_us, told_ns):
    """Three of four flows leave after 3 ms."""
    seen = measured(tmp_path, "host-told", "--cc", ALGORITHMS, "--set", "measure.duration_us=20000",
                    "--set", f"topology.base_rtt_ns={base_us * 1000}", "--set", f"hosts.sysctl.net.ipv4.delaycc.base_rtt_ns={told_ns}")
    for name, figures in seen.items():
        assert figures["utilisation"]["mean"] > 0.88, (name, figures["utilisation"])
        # The first flow may know the path before the others begin, and they cannot learn it while it fills the line (docs/operate/base-rtt.md).
        assert name in ("ccc", "swift") or figures["jain"]["mean"] > 0.85, (name, figures["jain"])


@pytest.mark.ci
def test_a_queue_that_stands_is_not_taken_for_the_path(lab, tmp_path):
    """Connections that are made in one, and have never seen the base RTT that they are told."""
    seen = measured(tmp_path, "host-late", "--cc", ALGORITHMS, "--set", "hosts.sysctl.net.ipv4.delaycc.base_rtt_ns=12000")
    for name, figures in seen.items():
        assert figures["jain"]["mean"] > 0.99, (name, figures["jain"])
