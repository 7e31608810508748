# SPDX-License-Identifier: Apache-2.0
"""Our Mininet scripts on Debian's stock kernel, with Mininet, netem and htb as they are (mininet.sh): `make mininet-vm-test`.

The machine's clock counts instructions, so that a busy host changes nothing; figures have the machine's own time in them. What the scripts
ask for and the kernel does not have is to be an error that names it.
"""

import os
import re

import pytest

from test_vm import HERE, ROOT, Machine

pytestmark = pytest.mark.ci

WORK = ROOT / "build" / "vm-mininet"
RATE_MBPS = 20


@pytest.fixture(scope="module", name="scripts")
def fixture_scripts():
    """What each script printed, and its exit code, in their order."""
    if not os.environ.get("DELAYCC_MININET_VM"):
        pytest.skip("a part of `make mininet-vm-test`: it takes minutes")
    # An instruction takes 2 ns.
    booted = Machine([HERE / "run.sh", HERE / "mininet.sh"], WORK / "console.log", {"DELAYCC_VM_WORK": str(WORK), "DELAYCC_VM_SHIFT": "1"}).ended()
    assert "PASS kernel_has_not_complained" in booted.console and "FAIL" not in booted.console, booted.console[-2000:]
    parts = re.findall(r"^SCRIPT (.*)\n([\s\S]*?)^EXIT (\d+)$", booted.console, re.MULTILINE)
    return [(words, text, int(code)) for words, text, code in parts]


def only(scripts, words, number=0, code=0):
    """What the script with these words printed, which ended as it should."""
    text, found = [(text, found) for there, text, found in scripts if there.startswith(words)][number]
    assert found == code, text
    return text


def rtts_ms(text):
    found = re.search(r"rtt min/avg/max/mdev = ([0-9.]+)/([0-9.]+)/([0-9.]+)/", text)
    assert found and "0% packet loss" in text, text
    return [float(value) for value in found.groups()]


def test_two_algorithms_share_a_link_of_netem(scripts):
    text = only(scripts, "iperf3.py --rate 20Mbit --delay 2ms --cc oscar,cubic")
    # Three links of 2 ms, there and back, and what the machine takes.
    least, _, most = rtts_ms(text)
    assert 12 <= least <= most < 14
    of_oscar, of_cubic = text.split("--- oscar")[1].split("--- cubic")
    for part in (of_oscar, of_cubic):
        rate, unit = re.search(r"([0-9.]+) ([KM])bits/sec +receiver", part).groups()
        # With headers.
        mbps = float(rate) * {"K": 0.001, "M": 1}[unit] * 1514 / 1448
        assert RATE_MBPS / 10 < mbps < RATE_MBPS * 1.02, part


def test_an_incast_takes_as_long_as_its_bytes(scripts):
    text = only(scripts, "incast.py")
    found = {name: float(us) for name, us in re.findall(r"^(\w+) +([0-9.]+) us$", text, re.MULTILINE)}
    assert set(found) == {"oscar", "swift", "cubic"}, text
    # Four answers of 50,000 bytes, and two round trips of 4 ms.
    least_us = 4 * 50_000 * 8 / RATE_MBPS
    for name, us in found.items():
        assert least_us < us < 2 * least_us, (name, us)


def test_a_leaf_spine_of_routers_carries_each_algorithm(scripts):
    text = only(scripts, "leaf_spine.py")
    assert re.findall(r"^(\w+) +\[.*1\.00 MBytes.*sender$", text, re.MULTILINE) == ["oscar", "bbr"], text


def test_nginx_answers_wrk(scripts):
    text = only(scripts, "nginx_wrk.py")
    rate = float(re.search(r"Requests/sec: +([0-9.]+)", text)[1])
    # 20,000 bytes and headers each.
    assert 20 < rate < RATE_MBPS * 1e6 / 8 / 20_000 and "Non-2xx" not in text, text


def test_prioplus_takes_priorities_of_cgroups_where_they_are(scripts):
    assert "/sys/fs/cgroup/net_prio is not there: this kernel has no net_prio, or it is not mounted" in only(scripts, "priorities.py", code=1)
    text = only(scripts, "priorities.py", number=1)
    high, low = (float(re.search(r"0\.00-([0-9.]+) +sec.*sender", part)[1]) for part in text.split("--- priority 5")[1].split("--- priority 0"))
    # Half the bytes, and first.
    assert high < low, text


def test_mininets_own_link_has_its_delay(scripts):
    least, _, most = rtts_ms(only(scripts, "mininet_links.py tc"))
    assert 10 <= least <= most < 12


@pytest.mark.parametrize("what", ["ecn_bytes", "noise", "reorder", "spray"])
def test_what_only_the_lab_has_is_refused_by_name(scripts, what):
    assert f"CapabilityError: h1-eth0: {what} is of the lab's links only (delaycc mininet); netem has no such thing" in only(
        scripts, f"mininet_links.py {what}", code=1)


@pytest.mark.parametrize("kind, words", [("port", "tc qdisc ... netem delay 5000.000us rate 20000000bit"), ("tc", "netem delay 5ms")])
def test_without_netem_a_link_fails_and_says_so(scripts, kind, words):
    text = only(scripts, f"mininet_links.py {kind}", number=-1, code=1)
    assert "CapabilityError: h1-eth0: " in text and words in text and "Specified qdisc kind is unknown" in text, text


def test_an_algorithm_that_is_not_there_is_named_with_those_that_are(scripts):
    text = only(scripts, "iperf3.py --rate 20Mbit --delay 2ms --cc oscar,nosuch", code=1)
    assert "CapabilityError: h2: sysctl net.ipv4.tcp_congestion_control = nosuch: No such file or directory; there are bbr, ccc, " in text, text
