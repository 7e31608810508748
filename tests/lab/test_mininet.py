# SPDX-License-Identifier: Apache-2.0
"""delaycc mininet: Mininet's scripts in the lab, unmodified and with our hosts, links and topologies."""

import json
import os
import pathlib
import re
import subprocess

import pytest

import owned
from outside import DELAYCC, ROOT

EXAMPLES = ROOT / "mininet" / "examples"
THEIRS = pathlib.Path("/usr/lib/python3/dist-packages/mininet/examples")

pytestmark = [pytest.mark.ci, pytest.mark.skipif(not THEIRS.exists(), reason="Mininet is not installed: run make setup")]


def mininet(out, *command, code=0):
    done = owned.run([DELAYCC, "mininet", "--out", out, *command])
    assert done.returncode == code, done.stdout + done.stderr
    return done


def script(tmp_path, text):
    path = tmp_path / "script.py"
    path.write_text("from mininet.net import Mininet\nfrom mininet.topo import *\nfrom delaycc_mininet import *\n" + text)
    return path


def test_two_algorithms_share_a_link_of_100_gbit_and_each_run_is_the_same(tmp_path):
    command = (EXAMPLES / "iperf3.py", "--size", "5M", "--cc", "cubic,bbr")
    done = mininet(tmp_path / "a", *command)
    assert "time=0.012 ms" in done.stdout, "three links of 2 us there and back"
    rates = [float(rate) for rate in re.findall(r"([\d.]+) Gbits/sec +\d+ +sender", done.stdout)]
    assert len(rates) == 2 and 95 < sum(rates) < 250
    ends = {line.split()[0]: float(line.split()[2]) for line in done.stdout.splitlines() if re.match(r"s1-eth\d ", line)}
    assert ends["s1-eth3"] > 0.9, "the bottleneck is used"
    mininet(tmp_path / "b", *command)
    for name in ("output.txt", "report.html"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


# Mininet's own, as they are: default switches and controllers, TCLink, limits of processor time.
@pytest.mark.parametrize("name,shown", (("simpleperf.py", "Results:"),
                                        ("emptynet.py", "mininet> \n*** Stopping network")))
def test_scripts_of_others_run_as_they_are(tmp_path, name, shown):
    done = mininet(tmp_path / "out", THEIRS / name)
    assert shown in done.stdout, done.stdout


@pytest.mark.parametrize("name,why", (("mobility.py", "s1: detach: switches of the lab are Linux bridges"),
                                      ("controllers.py", "RemoteController: OpenFlow controllers do not run in the lab")))
def test_scripts_of_others_are_refused_for_what_they_need_of_open_vswitch(tmp_path, name, why):
    assert why in mininet(tmp_path / "out", THEIRS / name, code=1).stdout


def test_mn_runs_with_our_hosts_links_and_topologies(tmp_path):
    done = mininet(tmp_path / "out", "mn", "--custom", ROOT / "mininet/delaycc_mininet/custom.py", "--topo", "leafspine,2,2,1",
                   "--host", "cc,cc=oscar", "--link", "port,rate=100Gbit,delay=1us", "--controller", "none", "--test", "pingall")
    assert "0% dropped (2/2 received)" in done.stdout


def test_a_host_has_the_algorithm_and_the_line_rate_that_were_asked_for(tmp_path):
    path = script(tmp_path, """
net = Mininet(topo=Dumbbell(1, rate="40Gbit", delay="1us"), host=CcHost, link=PortLink)
net.start()
net["h1"].config(cc="swift", sysctl={"net.ipv4.delaycc.base_rtt_ns": 9000})
print(net["h1"].cmd("sysctl -n net.ipv4.tcp_congestion_control net.ipv4.delaycc.line_rate_mbps net.ipv4.delaycc.base_rtt_ns").split())
print(net["r1"].cmd("sysctl -n net.ipv4.tcp_congestion_control").split())
try:
    net["h1"].config(cc="nosuch")
except CapabilityError as error:
    print("refused:", error)
net.stop()
""")
    done = mininet(tmp_path / "out", "--cc", "oscar", path)
    assert "['swift', '40000', '9000']" in done.stdout and "['oscar']" in done.stdout
    assert re.search(r"refused: h1: sysctl net.ipv4.tcp_congestion_control = nosuch: .*; there are .*oscar.*swift", done.stdout)


REFUSED = (
    ("from mininet.node import RemoteController\nMininet(topo=SingleSwitchTopo(2), controller=RemoteController)",
     "OpenFlow controllers do not run in the lab"),
    ("n = Mininet(topo=SingleSwitchTopo(2)); n['s1'].dpctl('dump-flows')", "dpctl: switches of the lab are Linux bridges"),
    ("Mininet(topo=SingleSwitchTopo(2)).addNAT()", "NAT: the lab has no network outside"),
    ("Mininet(topo=Dumbbell(1, rate='fast'))", "rate='fast': not such as 100e9"),
    ("Mininet(topo=Dumbbell(1, rate='100Gbit', bw=10))", "rate and bw are two words for one thing"),
    ("Mininet(topo=Dumbbell(1, loss=101))", "loss in per cent=101.0: out of range, allowed is 0 to 100"),
    ("Mininet(topo=FatTree(3))", "k=3: has to be even"))


@pytest.fixture(scope="module", name="refused")
def fixture_refused(tmp_path_factory):
    """For each of REFUSED what it printed and its exit code: as a process of its own, all of them in one lab, whose Python starts once."""
    folder = tmp_path_factory.mktemp("refused")
    path = script(folder, f"""
import os, sys
for n, text in enumerate({[text for text, _ in REFUSED]!r}):
    print("BEGIN", n, flush=True)
    child = os.fork()
    if not child:
        os.dup2(1, 2)
        try:
            exec(text)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            sys.stdout.flush()
            os._exit(1)
        os._exit(0)
    print("END", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
""")
    done = mininet(folder / "out", path)
    found = re.findall(r"^BEGIN (\d+)\n(.*?)^END (\d+)$", done.stdout, re.MULTILINE | re.DOTALL)
    assert [int(n) for n, _, _ in found] == list(range(len(REFUSED))), done.stdout
    return [(output, int(code)) for _, output, code in found]


@pytest.mark.parametrize("number", range(len(REFUSED)), ids=[why.split(":", maxsplit=1)[0] for _, why in REFUSED])
def test_what_the_lab_does_not_have_is_refused_with_the_reason(refused, number):
    output, code = refused[number]
    assert REFUSED[number][1] in output and code == 1, output


def test_mistakes_on_the_command_line_are_named(tmp_path):
    assert "needs a script" in mininet(tmp_path, code=2).stderr
    assert "--nosuch is no option of delaycc mininet" in mininet(tmp_path, "--nosuch", "x.py", code=2).stderr
    assert "open(nosuch.py): No such file" in mininet(tmp_path, "nosuch.py", code=1).stderr
    assert '--cc: "cubci" is no algorithm of this lab' in mininet(tmp_path, "--cc", "cubci", EXAMPLES / "iperf3.py", code=2).stderr


def test_the_script_s_exit_code_is_the_command_s(tmp_path):
    assert "the script ended with 7" in mininet(tmp_path, script(tmp_path, "import sys; print('bye'); sys.exit(7)"), code=7).stderr
    assert (tmp_path / "output.txt").read_text() == "bye\n"


TC_SETUP = """
import os, re, subprocess, sys
from mininet.link import TCLink
from mininet.nodelib import LinuxBridge

def rtt_ms(a, b):
    text = a.cmd("ping -q -c 2 -i 0.5", b.IP())
    found = re.search("= ([0-9.]+)/", text)
    return float(found[1]) if found else None

def mbps(a, b):
    return float(net.iperf((a, b), seconds=2, fmt="k")[0].split()[0]) / 1000

class Pair(Topo):
    def build(self, **link):
        switch = self.addSwitch("s1")
        for name in ("h1", "h2"):
            self.addLink(self.addHost(name), switch, **link)

def pair(link=None, **params):
    net = Mininet(topo=Pair(**params), switch=LinuxBridge, controller=None, **({"link": link} if link else {}))
    net.start()
    return net, net["h1"], net["h2"]
"""


def tc_script(tmp_path, text):
    return script(tmp_path, TC_SETUP + text)


def test_tc_changes_a_tclink_as_it_is_asked_to(tmp_path):
    """What TCLink makes: htb 5:, its class 5:1, netem 10:. By a node's shell, popen, bash, an absolute path, and the link itself."""
    path = tc_script(tmp_path, """
net, h1, h2 = pair(TCLink, bw=100, delay="2ms")
print("begin", rtt_ms(h1, h2))
print(h1.cmd("tc qdisc show dev h1-eth0"), h1.cmd("tc class show dev h1-eth0"))
print("said", repr(h1.cmd("tc qdisc change dev h1-eth0 parent 5:1 handle 10: netem delay 22ms")))
print("delay", rtt_ms(h1, h2), net.links[0].intf1.tc("%s qdisc change dev %s parent 5:1 handle 10: netem delay 23ms"))
h2.popen(["/sbin/tc", "qdisc", "replace", "dev", "h2-eth0", "parent", "5:1", "handle", "10:", "netem", "delay", "12ms"]).wait()
print("replaced", rtt_ms(h1, h2))
h1.cmd("tc class change dev h1-eth0 parent 5:0 classid 5:1 htb rate 5mbit burst 15k")
print("rate", mbps(h1, h2))
with open("/tmp/slow.sh", "w") as file:
    file.write("set -e\\ntc class replace dev s1-eth2 parent 5: classid 5:1 htb rate 2mbit ceil 2mbit\\n")
os.system("bash /tmp/slow.sh")
print("at the switch", mbps(h1, h2))
net.links[0].intf1.config(bw=1, delay="7ms")
print("by the link", rtt_ms(h1, h2), mbps(h1, h2))
h1.cmd("tc qdisc del dev h1-eth0 root")
print("none", rtt_ms(h1, h2), repr(h1.cmd("tc qdisc show dev h1-eth0")))
net.stop()
""")
    done = mininet(tmp_path / "out", path)
    shown = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines() if re.fullmatch(r"[a-z ]+ [0-9.]+", line)}
    assert "qdisc htb 5: root" in done.stdout and "qdisc netem 10: parent 5:1 delay 2ms" in done.stdout
    assert "class htb 5:1 root leaf 10: prio 0 rate 100Mbit ceil 100Mbit" in done.stdout and "said ''" in done.stdout
    assert shown["begin"] == pytest.approx(8, abs=0.1)
    assert "delay 28." in done.stdout and shown["replaced"] == pytest.approx(39, abs=0.1)
    assert shown["rate"] == pytest.approx(4.8, rel=0.05) and shown["at the switch"] == pytest.approx(1.91, rel=0.05)
    by_link = re.search(r"by the link ([0-9.]+) ([0-9.]+)", done.stdout)
    assert float(by_link[1]) == pytest.approx(7 + 2 + 12 + 2, abs=1.5) and float(by_link[2]) == pytest.approx(0.95, rel=0.05)
    assert float(re.search(r"none ([0-9.]+) 'qdisc noqueue 0: root", done.stdout)[1]) == pytest.approx(16.4, abs=0.2)
    assert "h1-eth0: the script changed its rate: 100, then 5, then 1, then 10000 Mbit/s" in (tmp_path / "out/report.html").read_text()


def test_tc_gives_a_plain_link_what_it_is_asked_to(tmp_path):
    """The commonest recipe: links without parameters, and tc for delay, loss and rate, at hosts and at a switch."""
    path = tc_script(tmp_path, """
net, h1, h2 = pair()
print("plain", rtt_ms(h1, h2))
h1.cmd("tc qdisc add dev h1-eth0 root netem delay 100ms 10ms distribution normal")
print("jitter", rtt_ms(h1, h2))
h1.cmd("tc qdisc change dev h1-eth0 root netem delay 50ms")
print("host", rtt_ms(h1, h2), os.system("tc qdisc add dev s1-eth2 root handle 1: netem delay 30ms limit 10"))
print("switch", rtt_ms(h1, h2))
subprocess.run("tc qdisc del dev s1-eth2 root; tc qdisc add dev s1-eth2 root handle 1: htb default 12 && "
               "tc class add dev s1-eth2 parent 1: classid 1:1 htb rate 8mbit && "
               "tc class add dev s1-eth2 parent 1:1 classid 1:12 htb rate 1kbit ceil 3mbit && "
               "tc qdisc add dev s1-eth2 parent 1:12 handle 20: netem delay 10ms && tc -s qdisc show dev s1-eth2", shell=True, check=True)
print("htb", rtt_ms(h1, h2), mbps(h1, h2))
h1.cmd("tc qdisc replace dev h1-eth0 root tbf rate 1mbit burst 32kbit latency 400ms")
print("tbf", mbps(h1, h2))
h1.cmd("tc qdisc replace dev h1-eth0 root netem duplicate 100% delay 20ms 1ms 25%")
print("twice", h1.cmd("ping -c 3 -i 0.2 -q", h2.IP()))
h1.cmd("tc qdisc replace dev h1-eth0 root handle 1: tbf rate 2mbit burst 10k limit 100k; tc qdisc add dev h1-eth0 parent 1: fq_codel")
print("codel", mbps(h1, h2))
h1.cmd("tc qdisc del dev h1-eth0 root; tc qdisc add dev h1-eth0 root netem loss 100%")
print("lost", rtt_ms(h1, h2))
print("again", repr(h1.cmd("tc qdisc add dev h1-eth0 root netem delay 1ms")), h1.cmd("tc qdisc replace dev h1-eth0 root netem delay 1ms"))
net.stop()
""")
    out = mininet(tmp_path / "out", path).stdout
    values = {name: [float(value) for value in numbers.split()] for name, numbers in re.findall(r"^([a-z]+)((?: [0-9.]+)+)$", out, re.MULTILINE)}
    assert values["plain"][0] < 0.02 and 60 < values["jitter"][0] < 130
    assert values["host"] == [pytest.approx(50, abs=0.1), 0] and values["switch"][0] == pytest.approx(80, abs=0.1)
    assert values["htb"] == [pytest.approx(60, abs=1), pytest.approx(2.87, rel=0.05)]
    assert re.search(r"qdisc netem 20: parent 1:12 limit 1000 delay 10ms \n Sent 0 bytes 0 pkt .*\n backlog 0b 0p", out) or "backlog" in out
    assert values["tbf"][0] == pytest.approx(0.95, rel=0.05) and values["codel"][0] == pytest.approx(1.91, rel=0.1)
    # The netem of tc runs in the kernel, in front of the port; s1-eth2 has 10 ms more.
    twice = re.search(r"twice .*?duplicates, 0% packet loss.*?= [0-9.]+/([0-9.]+)/", out, re.DOTALL)
    assert 29 < float(twice[1]) < 32
    assert "lost None" in out and "again 'Error: Exclusivity flag on, cannot modify." in out


TC_REFUSED = (
    ("tc qdisc add dev h1-eth0 root cake bandwidth 5mbit", "the lab's links have no cake: there are bfifo, fq,"),
    ("tc qdisc change dev h1-eth0 root netem delay 5ms", "Error: Qdisc not found. To create specify NLM_F_CREATE flag."),
    ("tc qdisc add dev h1-eth0 root netem delay 5parsec", 'Error: Illegal "time"'),
    ("tc filter add dev h1-eth0 protocol ip parent 1:0 prio 1 u32 match ip dst 10.0.0.2 flowid 1:1", "the lab has no classifiers"),
    ("tc qdisc add dev h1-eth0 ingress", "a qdisc of ingress is not offered"),
    ("tc qdisc add dev h9-eth0 root netem delay 5ms", "tc ended with 1"))


def test_what_tc_does_not_do_is_named_and_the_run_fails(tmp_path):
    done = mininet(tmp_path / "out", tc_script(tmp_path, f"""
net, h1, h2 = pair()
for command in {[command for command, _ in TC_REFUSED]!r}:
    h1.cmd(command)
# As on Linux, and nothing is lost: what was not there is not removed, and what failed is asked for in another way.
h2.cmd("tc qdisc del dev h2-eth0 root; tc qdisc change dev h2-eth0 root netem delay 1ms || tc qdisc add dev h2-eth0 root netem delay 1ms")
net.stop()
print("end")
"""), code=1)
    for command, why in TC_REFUSED:
        begin = f"delaycc: {command.split(' dev ')[1].split()[0]}: {command}: "
        assert why in next((line for line in done.stderr.splitlines() if line.startswith(begin)), ""), done.stderr
    assert "h2-eth0" not in done.stderr and done.stdout == "end\n"


def test_each_command_that_did_nothing_is_named_but_for_one_that_the_next_makes_good(tmp_path):
    path = tc_script(tmp_path, """
net, h1, h2 = pair()
for command in ("tc qdisc change h1-eth0 root netem delay 20ms", "tc qdisc chnge dev h1-eth0 root netem delay 5ms", "tc -b /tmp/nosuch",
                "tc qdisc add dev h1-eth0 root handle 1: htb default zz", "ovs-ofctl add-flow s1 action=drop", "iptables -A INPUT -j DROP",
                "iptables -F", "tc qdisc del dev h1-eth0 root"):
    h1.cmd(command)
h1.cmd("tc qdisc change dev h1-eth0 root netem delay 1ms")
print(rtt_ms(h1, h2))  # without the delay
h1.cmd("tc qdisc add dev h1-eth0 root netem delay 2ms")
if h2.cmd("tc qdisc change dev h2-eth0 root netem delay 3ms"):
    h2.cmd("tc qdisc add dev h2-eth0 root netem delay 3ms")
net.stop()
""")
    done = mininet(tmp_path / "out", path, code=1)
    named = [line.split(": ", 1)[1] for line in done.stderr.splitlines() if line.startswith("delaycc: ")]
    for begin in ("tc qdisc change h1-eth0 root netem delay 20ms: tc ended with 1", "h1-eth0: tc qdisc chnge dev h1-eth0 ", "tc -b /tmp/nosuch: ",
                  "h1-eth0: tc qdisc add dev h1-eth0 root handle 1: htb default zz: invalid literal", "ovs-ofctl add-flow s1 action=drop: switches",
                  "iptables -A INPUT -j DROP: ", "h1-eth0: tc qdisc change dev h1-eth0 root netem delay 1ms: Error: Qdisc not found"):
        assert [line for line in named if line.startswith(begin)], done.stderr
    assert len(named) == 7, done.stderr


def test_links_are_as_tcintf_makes_them_and_change_at_run_time(tmp_path):
    path = tc_script(tmp_path, """
from mininet.cli import CLI
from mininet.link import Link
from mininet.util import quietRun
net = Mininet(topo=Pair(bw=20, speedup=80, loss=None, jitter=None), link=TCLink)
net.start()
h1, h2 = net["h1"], net["h2"]
print("rate", quietRun("tc class show dev s1-eth2").split("rate ")[1].split()[0], h1.cmd("tc class show dev h1-eth0").split("rate ")[1].split()[0])
intf = h1.intf()
intf.config(bw=4, delay="5ms")
intf.config()
intf.config(mac="00:00:00:00:00:0a")
print("kept", h1.cmd("tc qdisc show dev h1-eth0").replace("\\r\\n", "|"), rtt_ms(h1, h2))
intf.config(bw=1, use_tbf=True, latency_ms=50)
print("tbf", [h1.cmd("ping -q -c 1 -W 1 -s", size, h2.IP()).split(" received")[0][-1] for size in (12000, 40000)])
h3 = net.addHost("h3")
net["s1"].attach(net.addLink(h3, net["s1"]).intf2)
h3.setIP("10.0.0.3/8")
print("attached", rtt_ms(h3, h2))
a, b = net.addHost("a"), net.addHost("b")
Link(a, b)
a.setIP("11.0.0.1/8"), b.setIP("11.0.0.2/8")
a.cmd("tc qdisc add dev a-eth0 root netem delay 7ms")
print("direct", rtt_ms(a, b), mbps(a, b) > 1000, a.cmd("tc qdisc show dev a-eth0"))
with open("/tmp/commands", "w") as file:
    file.write("h1 ping -c 1 -q h2\\n")
CLI(net, script="/tmp/commands")
net.stop()
""")
    out = mininet(tmp_path / "out", path).stdout
    assert "rate 80Mbit 20Mbit" in out
    kept = re.search(r"kept qdisc htb 5: .*qdisc netem 10: parent 5:1 delay 5ms \|? ?([0-9.]+)", out)
    assert kept and float(kept[1]) == pytest.approx(5, abs=1), out
    # 50 ms and a burst are 21,250 bytes, which the fragments of the second exceed.
    assert "tbf ['1', '0']" in out, out
    assert re.search(r"attached 0\.\d+", out)
    assert "direct 7.001 True qdisc netem 8001: root refcnt 2 limit 1000 delay 7ms" in out and "1 packets transmitted, 1 received" in out


def test_programs_can_write_files_of_their_own_where_the_command_is_started_in_tmp(tmp_path):
    makes = script(tmp_path, "import subprocess; subprocess.run(['mktemp'], check=True)")
    done = owned.run(["env", "-C", "/tmp", DELAYCC, "mininet", "--out", tmp_path / "out", makes])
    assert done.returncode == 0, done.stdout + done.stderr


def test_mininets_own_iperf_ends_with_two_rates(tmp_path):
    path = tc_script(tmp_path, """
net, h1, h2 = pair(TCLink, bw=10, delay="2ms")
print("tcp", net.iperf(net.hosts, seconds=1, fmt="k"), "udp", net.iperf((h1, h2), l4Type="UDP", udpBw="1M", seconds=1))
try:
    h2.cmd("ip link set h2-eth0 down")
    net.iperf(seconds=1)
except CapabilityError as error:
    print("refused:", error)
net.stop()
""")
    out = mininet(tmp_path / "out", path).stdout
    rates = re.search(r"tcp \['(\d+) Kbits/sec', '(\d+) Kbits/sec'\] udp \['1M', '([\d.]+) Mbits/sec', '([\d.]+) Mbits/sec'\]", out)
    assert rates, out
    # The client counts what it has handed over; the rest is in its host's queue.
    assert 9000 < float(rates[1]) < 9600 and 9000 < float(rates[2]) < 25000 and float(rates[3]) == pytest.approx(1.05, abs=0.06)
    assert "refused: iperf: h1 said: " in out


@pytest.mark.ci
def test_mn_ends_its_iperf(tmp_path):
    done = mininet(tmp_path / "out", "mn", "--topo", "single,2", "--link", "tc,bw=10,delay=1ms", "--test", "iperf")
    assert re.search(r"Results: \['9\.\d+ Mbits/sec', '[\d.]+ Mbits/sec'\]", done.stdout), done.stdout


def test_hosts_begin_with_what_linux_begins_with(tmp_path):
    path = tc_script(tmp_path, """
import socket, time
net, h1, h2 = pair()
print(h1.popen("echo shell $CALLERS_OWN $0", shell=True).communicate()[0].decode().strip(), os.path.basename(os.environ["SHELL"]))
print(h1.cmd("echo cmd $CALLERS_OWN $(hostname)"))
print(h1.cmd("sysctl -n net.ipv4.tcp_rmem net.ipv4.tcp_wmem").split())
print(h1.cmd("python3 -c 'import socket; print(socket.socket().getsockopt(1, 8), socket.socket(2, 2).getsockopt(1, 8))'"))
begin = time.monotonic()
print("name", socket.getfqdn())
h2.cmd("cd /tmp; echo page > index.html; python3 -m http.server 8000 >/dev/null 2>&1 &")
while "page" not in h1.cmd("curl -s", f"http://{h2.IP()}:8000/index.html"):
    time.sleep(0.1)
print("served after", time.monotonic() - begin < 1)
net.stop()
""")
    done = owned.run(["env", "CALLERS_OWN=here", "SHELL=/bin/sh", "PATH=/opt/callers:/usr/bin:/bin",
                      DELAYCC, "mininet", "--out", tmp_path / "out", path])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "shell here /bin/sh sh" in done.stdout and "cmd here lab" in done.stdout
    assert "['4096', '131072', '6291456', '4096', '16384', '4194304']" in done.stdout and "131072 212992" in done.stdout
    assert "name lab" in done.stdout and "served after True" in done.stdout


def test_files_of_a_script_are_there_after_it(tmp_path):
    folder = tmp_path / "experiment"
    folder.mkdir()
    path = script(folder, """
import os, pathlib
open("q.txt", "w").write("relative\\n")
pathlib.Path(__file__).with_name("own.txt").write_text("beside\\n")
os.makedirs("/tmp/figures")
open("/tmp/figures/a.csv", "w").write("1,2\\n")
open(os.path.expanduser("~/home.txt"), "w").write("home\\n")
""")
    work = tmp_path / "work"
    work.mkdir()
    done = owned.run(["env", "-C", work, DELAYCC, "mininet", "--out", tmp_path / "out", path])
    assert done.returncode == 0, done.stdout + done.stderr
    assert (work / "q.txt").read_text() == "relative\n" and (folder / "own.txt").read_text() == "beside\n"
    assert (tmp_path / "out/left-in-tmp/figures/a.csv").read_text() == "1,2\n" and (tmp_path / "out/left-in-home/home.txt").read_text() == "home\n"
    assert "left-in-tmp has what the script left in /tmp" in done.stdout


def test_the_packets_of_each_host_are_kept_with_exact_stamps(tmp_path):
    path = script(tmp_path, """
net = Mininet(topo=Dumbbell(1, rate="40Gbit", delay="1us"), host=CcHost, link=PortLink)
net.start()
print(net["h1"].cmd("ping -c 3 -i 0.01", net["r1"].IP()))
net.stop()
""")
    mininet(tmp_path / "out", "--pcap", path)
    stamps = {}
    for host in ("h1", "r1"):
        read = subprocess.run(["tcpdump", "-r", tmp_path / f"out/pcap/{host}-eth0.pcap", "-tt", "-n", "--time-stamp-precision=nano", "icmp"],
                              capture_output=True, text=True, check=True).stdout
        stamps[host] = [(int(line.split()[0].replace(".", "")), "echo request" in line) for line in read.splitlines()]
        assert len(stamps[host]) == 6
    # From the end of the sender's link, over two more: 1 us each, and 98 bytes at 40 Gbit/s; each event is at a whole nanosecond.
    for (sent, request), (came, _) in zip(stamps["h1"], stamps["r1"]):
        assert abs(came - sent) == pytest.approx(2 * 1019.6, abs=5), request


ROUTES = """
import sys
sys.path.insert(0, {folder!r})
from delaycc_mininet import FatTree, LeafSpine, ParkingLot
t = LeafSpine(leaves=3, spines=2, hosts=4)
print(len(t.hosts()), len(t.switches()), len(t.links()), t.routes["leaf1"], t.routes["spine2"])
t = FatTree(k=4)
print(len(t.hosts()), len(t.switches()), len(t.links()), len(t.routes["core1_1"]), len(t.routes["agg1_1"]))
print(sorted(ParkingLot(bottlenecks=3).hosts()))
"""


def test_topologies_have_the_hosts_links_and_routes_of_their_kind():
    done = subprocess.run(["/usr/bin/python3", "-c", ROUTES.format(folder=str(ROOT / "mininet"))], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    leaf_spine, fat_tree, parking_lot = done.stdout.splitlines()
    assert leaf_spine.startswith("12 5 18 [('default', ['172.16.0.2', '172.16.0.6'])] [('10.1.0.0/16', ['172.16.0.5'])")
    # k^3/4 hosts; 5k^2/4 switches; three layers of k^3/4 links; a route for each pod; for each host below, and one up.
    assert fat_tree == "16 20 48 4 5"
    assert parking_lot == "['c1', 'c2', 'c3', 'd1', 'd2', 'd3', 'h1', 'r1']"


def test_links_outside_the_lab_refuse_what_netem_does_not_have():
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'mininet')!r})\n" + """
from delaycc_mininet import links
class Node:
    name, params, inNamespace, pid = "h1", {}, False, 1
    def pexec(self, *words):
        asked.append(words)
        return answers.pop(0)
class Intf(links.PortIntf):
    def __init__(self):
        self.name, self.node = "h1-eth0", Node()
links.Intf.config = lambda self, **params: {}
for wrong in ({"ecn_bytes": 1}, {"noise": ((0, 0), (1000000, 5))}, {"spray": True}):
    try:
        Intf().config(rate="1G", **wrong)
    except links.CapabilityError as error:
        print(error)
asked, answers = [], [("", "Error: Specified qdisc kind is unknown.", 2)]
try:
    Intf().config(rate="1G", delay="1ms")
except links.CapabilityError as error:
    print(error)
answers = [("", "", 0), ('[{"kind": "netem", "options": {"delay": {"delay": 0.0}, "rate": {"rate": 125000000}}}]', "", 0)]
try:
    Intf().config(rate="1G", delay="1ms")
except links.CapabilityError as error:
    print(error)
answers = [("", "", 0), ('[{"kind": "netem", "options": {"delay": {"delay": 0.001}, "rate": {"rate": 125000000}}}]', "", 0)]
Intf().config(rate="1G", delay="1ms", max_queue_size=50)
print(" ".join(asked[-2]))
"""
    done = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, text=True, check=True)
    ecn, noise, spray, unknown, lost, words = done.stdout.splitlines()
    for line, name in ((ecn, "ecn_bytes"), (noise, "noise"), (spray, "spray")):
        assert line.startswith(f"h1-eth0: {name} is of the lab's links only")
    assert "Specified qdisc kind is unknown" in unknown
    assert "asked for delay 1000.000us rate 1000000000bit" in lost, "a delay that the kernel dropped is found out"
    assert words == "tc qdisc replace dev h1-eth0 root netem delay 1000.000us rate 1000000000bit limit 50"


SCENARIO = """
name = "exported"
title = "A long flow and a burst"
trials = 1
cc = ["cubic"]
[topology]
kind = "{kind}"
{shape}
base_rtt_ns = 12000
[link]
rate_gbps = 100
{link}
[[flows]]
name = "long"
from = "{long}"
to = "{to}"
[[flows]]
name = "burst"
count = 2
from = "{burst}"
to = "{to}"
start_us = 300
size_bytes = 200000
[measure]
duration_us = 1000
"""
DUMBBELL = dict(kind="dumbbell", shape="senders = 3", link="", long="senders[0]", burst="senders[1-2]", to="receivers")
LEAF_SPINE = dict(kind="leaf-spine", shape="leaves = 2\nspines = 2\nhosts = 3", link="", long="leaf0[0]", burst="leaf0[1-2]", to="leaf1[0]")


@pytest.mark.parametrize("shape", (DUMBBELL, LEAF_SPINE), ids=("dumbbell", "leaf-spine"))
def test_a_scenario_s_script_does_what_the_scenario_does(tmp_path, shape):
    scenario, exported = tmp_path / "exported.toml", tmp_path / "exported.py"
    scenario.write_text(SCENARIO.format(**shape))
    exported.write_text(owned.run([DELAYCC, "export", scenario, "--mininet"]).stdout)
    done = mininet(tmp_path / "out", exported)
    flows = re.findall(r"flow (\d): (\d+) bytes(?:, complete after ([\d.]+) us)?", done.stdout)
    assert [flow[0] for flow in flows] == ["0", "1", "2"] and [flow[1] for flow in flows[1:]] == ["200000"] * 2
    run = owned.run([DELAYCC, "run", scenario, "--quiet", "--json", "--out", tmp_path / "lab"])
    by_lab = json.loads(run.stdout)["algorithms"]["cubic"]
    assert sum(float(flow[2]) - 300 for flow in flows[1:]) / 2 == pytest.approx(by_lab["fct_mean_us"]["mean"], rel=0.2)
    received_gbps = sum(int(flow[1]) for flow in flows) * 8 / 1e6
    assert received_gbps == pytest.approx(by_lab["goodput_gbps"]["mean"], rel=0.1)


def test_what_a_script_cannot_have_is_refused_by_name(tmp_path):
    infinite = SCENARIO.format(**DUMBBELL).replace("rate_gbps = 100", "rate_gbps = 0\n[bottleneck]\nrate_gbps = 100")
    (tmp_path / "exported.toml").write_text(infinite)
    done = owned.run([DELAYCC, "export", tmp_path / "exported.toml", "--mininet"])
    assert done.returncode == 2 and "is infinitely fast, a PortLink has a rate" in done.stderr and not done.stdout
    done = owned.run([DELAYCC, "export", "host-late", "--mininet"])
    assert done.returncode == 2 and 'flows "late" connect at their start, a script makes all connections before' in done.stderr
    assert "--mininet is required" in owned.run([DELAYCC, "export", "oscar-fig07"]).stderr
