# SPDX-License-Identifier: Apache-2.0
"""The kernel's own tests of TCP, under each algorithm: what differs from cubic is judged in docs/develop/packetdrill.md.

A difference that is not in that page's tables fails, and so does one in them that is none any more.
"""

import hashlib
import os
import pathlib
import re

import inlab
import packetdrill
import pytest
from modules import MODULES, load

pytestmark = pytest.mark.ci

HERE = pathlib.Path(__file__).resolve().parent
PAGE = (HERE.parents[1] / "docs/develop/packetdrill.md").read_text()
BEHAVIOUR = HERE / "behaviour"

# As they are set; the line rate told; a window of ten packets, cubic's first one, in pieces as cubic's.
TEN = {"settings": {"line_rate_mbps": 10000, "base_rtt_ns": 100_000_000, "max_tso_segs": 2}, "cwnd": 10}
SETTINGS = {"automatic": {}, "line rate": {"settings": {"line_rate_mbps": 1000}}, "ten packets": TEN}
# What is judged of IPv4 holds for IPv6.
IPV6 = {"automatic": "automatic, IPv6", "ten packets": "ten packets, IPv6"}
RUNS = {**SETTINGS, **{name: {**SETTINGS[setting], "version": 6} for setting, name in IPV6.items()}}
PRIOPLUS = ("prioplus", "prioplus_paper", "prioplus_ledbat", "prioledb_paper")


def names_of(module):
    """The algorithms that a module's source registers; PrioPlus's two sources are one."""
    if module.startswith("tcp_prioplus"):
        return PRIOPLUS[:2] if module == "tcp_prioplus" else PRIOPLUS[2:]
    source = (HERE.parents[1] / "kernel" / (module + ".c")).read_text()
    return re.findall(r'"(\w+)"', re.search(r"\.names = \{([^}]*)\}", source)[1])


ALGORITHMS = [name for module in MODULES for name in names_of(module)]
OTHERS = [name for name in ALGORITHMS if name not in PRIOPLUS]


def rows(title):
    """The cells of a table of the page, by its first column."""
    table = PAGE.split(title + "\n", 1)[1].split("\n\n", 2)[1]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {line[0].strip("`"): line[1:] for line in cells}


def members(words):
    for word in words:
        yield from {"all": ALGORITHMS, "PrioPlus": PRIOPLUS, "others": OTHERS}.get(word, [word])


def judged(algorithm):
    """{setting: {script: line}} of the page."""
    found = {setting: {} for setting in SETTINGS}
    for script, cells in rows("## Judged differences").items():
        for setting, cell in zip(SETTINGS, cells):
            for part in filter(None, cell.split(";")):
                line, *words = part.split()
                if algorithm in members(words or ["all"]):
                    found[setting][f"tcp_{script}.pkt"] = int(line)
    return found


def not_on_this_kernel(names):
    """The scripts that cubic fails on the lab's kernel."""
    left_out = set()
    for pattern in rows("## Left out"):
        matches = {name for name in names if re.fullmatch("tcp_" + pattern + r"\.pkt", name)}
        assert matches, f"{pattern}: no such script"
        left_out |= matches
    return left_out


def digest(folder):
    """Of all that the outcomes depend on."""
    files = sorted(path for path in pathlib.Path(folder).iterdir() if path.suffix in (".pkt", ".sh", ".py"))
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()[:16]


# A tmpfs over /tmp may hide the scripts in the lab: it reads them now.
if os.getpid() == 1:
    for path in pathlib.Path(os.environ["SCRIPTS"]).iterdir():
        if path.is_file():
            packetdrill.TEXTS[os.environ["SCRIPTS"], path.name] = path.read_text()


# ---- outside the lab ----


@pytest.fixture(scope="module", name="folder")
def fixture_folder():
    import owned

    done = owned.run([HERE / "packetdrill.sh", "--cached"])
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr
    folder = done.stdout.strip()
    found = digest(folder)
    if found not in PAGE:
        release = pathlib.Path(folder, "release").read_text().strip()
        pytest.skip(f"the scripts of linux-source {release} ({found}) are not those that docs/develop/packetdrill.md judges")
    return folder


def outcomes(lab, folder, scripts, algorithm, settings):
    """{setting: {script: outcome}}; scripts: all of the folder, or only those of the kernel's that run on this kernel."""
    import outside

    return lab("in_lab_run", scripts, algorithm, settings, mem="1G", seconds=300,
               options=(f"MODULES_DIR={outside.LAB.resolve()}", f"SCRIPTS={folder}"))


# ---- inside ----


def in_lab_run(scripts, algorithm, settings):
    load()
    inlab.write("/proc/sys/net/ipv4/tcp_mem", "4000000 4000000 4000000")
    for name in ("rmem_max", "wmem_max"):  # as newer kernels have them
        inlab.write("/proc/sys/net/core/" + name, str(4 << 20))
    folder = os.environ["SCRIPTS"]
    names = sorted(name for of, name in packetdrill.TEXTS if of == folder and name.endswith(".pkt"))
    if scripts == "kernel's":
        names = sorted(set(names) - not_on_this_kernel(names))
    return {setting: packetdrill.run_all(folder, names, algorithm, **RUNS[setting]) for setting in settings}


# ---- the kernel's scripts ----


def test_cubic_behaves_as_the_scripts_say_but_where_the_kernel_is_older(lab, folder):
    for found in outcomes(lab, folder, "all", "cubic", ["automatic", IPV6["automatic"]]).values():
        off = {name for name, outcome in found.items() if outcome["result"] != "same"}
        assert off == not_on_this_kernel(found), {name: found[name] for name in off ^ not_on_this_kernel(found)}


# A paper's own rules have the module, and so TCP's hooks, of the algorithm that was made of them.
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_algorithm_differs_from_cubic_only_where_judged(lab, folder, algorithm):
    found = outcomes(lab, folder, "kernel's", algorithm, [*SETTINGS, IPV6["automatic"]])
    expected = judged(algorithm)
    expected[IPV6["automatic"]] = expected["automatic"]
    wrong = []
    for setting, scripts in found.items():
        for name, outcome in scripts.items():
            line = outcome["line"] if outcome["result"] == "differs" else 0
            if outcome["result"] == "not run" or line != expected[setting].get(name, 0):
                wrong.append((setting, name, outcome, "judged: line", expected[setting].get(name)))
    assert not wrong


# ---- what an algorithm has to leave to TCP, whatever its window ----


@pytest.mark.parametrize("algorithm", ["cubic", "reno", *ALGORITHMS])
def test_recovery_timeouts_undo_windows_and_options_are_tcps_own(lab, algorithm):
    found = outcomes(lab, BEHAVIOUR, "all", algorithm, ["ten packets", "automatic", IPV6["ten packets"]])
    # PrioPlus asks by a packet of data here, as it does not know the base RTT; the cork keeps that packet back, too.
    assert found["automatic"]["cork.pkt"]["result"] == "same", found["automatic"]["cork.pkt"]
    for setting in "ten packets", IPV6["ten packets"]:
        off = {name: outcome for name, outcome in found[setting].items() if outcome["result"] != "same"}
        assert len(found[setting]) >= 14
        if algorithm in PRIOPLUS:
            # docs/operate/probe.md: the price of the probes.
            assert off.pop("undo_dsack.pkt")["why"] == "TcpExtTCPDSACKUndo is 0"
        assert not off


# ---- a SYN that comes twice ----

# The second SYN's answer echoes the first one's timestamp, as Linux does where its first answer was lost: an RTT of a second.
REPEATED_SYN = """
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7>
+1~+1.1 > S 0:0(0) <mss 1460,sackOK,TS val 1100 ecr 0,nop,wscale 7>
+.01 < S. 0:0(0) ack 1 win 65535 <mss 1000,sackOK,TS val 700 ecr 100,nop,wscale 14>
+0 > . 1:1(0) ack 1 <nop,nop,TS val 1110 ecr 700>
+0 %{ assert tcpi_snd_cwnd < 1000, tcpi_snd_cwnd }%
"""


def test_a_repeated_syns_rtt_makes_no_first_window(lab, tmp_path):
    (tmp_path / "repeated_syn.pkt").write_text(REPEATED_SYN)
    found = outcomes(lab, tmp_path, "all", "oscar", ["line rate"])
    assert found["line rate"]["repeated_syn.pkt"]["result"] == "same", found


# ---- the interpreter ----

SERVER = """
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32000 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.01 < . 1:1(0) ack 1 win 320
+0 accept(3, ..., ...) = 4
"""
# What a host does not do, and the complaint.  Each begins at line 9.
WRONG = {
    "flags": ("+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1", 10, "sent P. 1:1001(1000) ack 1"),
    "size": ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1000(999) ack 1", 10, "sent P. 1:1001(1000) ack 1"),
    "acknowledgment": ("+0 < P. 1:101(100) ack 1 win 320\n+0~+.05 > . 1:1(0) ack 100", 10, "sent . 1:1(0) ack 101"),
    "no packet": ("+0 > P. 1:1001(1000) ack 1", 9, "no packet came"),
    "late": ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.1 > P. 1:1001(1000) ack 1", 11, "ms late"),
    "early": ("+.1 write(4, ..., 1000) = 1000\n+.1 > P. 1:1001(1000) ack 1", 10, "ms early"),
    "options": ("+0 < P. 101:201(100) ack 1 win 320\n+0 > . 1:1(0) ack 1", 10, "<nop,nop,sack>"),
    "option": ("+0 < P. 101:201(100) ack 1 win 320\n+0 > . 1:1(0) ack 1 <nop,nop,sack 101:202>", 10, "<sack (101, 201)>"),
    "ECN": ("+0 write(4, ..., 1000) = 1000\n+0 > [ect0] P. 1:1001(1000) ack 1", 10, "ECN 0"),
    "window": ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1 win 7", 10, "win "),
    "result": ("+0 read(4, ..., 1000) = 10", 9, "read() blocks"),
    "no descriptor": ("+0 write(99, ..., 1) = 1", 9, "file descriptor 99"),
    "other error": ("+0 shutdown(4, SHUT_WR) = 0\n+0 write(4, ..., 1000) = -1 EAGAIN", 10, "write() = -1 EPIPE"),
    "blocks": ("+0...0.1 read(4, ..., 1000) = 100\n+.05 < P. 1:101(100) ack 1 win 320\n+.3 write(4, ..., 1) = 1", 9, "read() ended"),
    "assertion": ("+0 %{ assert tcpi_snd_mss == 999, tcpi_snd_mss }%", 9, "assertion: 1000"),
    "unknown field": ("+0 %{ assert tcpi_colour == 1 }%", 9, "tcpi_colour"),
    "command": ("+0 `iptables -F`", 9, "command iptables"),
    "counter": ("+0 `nstat | grep TcpExtTCPTimeouts | grep -q \" 1 \"`", 9, "TcpExtTCPTimeouts is 0"),
    "sysctl": ("+0 `./set_sysctls.py /proc/sys/net/ipv4/tcp_colour=1`", 9, "no such sysctl"),
    "call": ("+0 mmap(4) = 0", 9, "mmap()"),
    "constant": ("+0 fcntl(4, F_COLOUR) = 0", 0, "line 9: F_COLOUR"),
    "syntax": ("+0 > Q 1:1(0)", 0, "line 9: flags Q"),
    "option's name": ("+0 > . 1:1(0) ack 1 <md5 00>", 0, "line 9: option md5"),
    "command-line option": ("\n", 0, "--colour"),
}
NOT_RUN = {"no descriptor", "unknown field", "command", "sysctl", "call", "constant", "syntax", "option's name", "command-line option"}


def test_the_interpreter_sees_each_difference_and_says_what_it_cannot_run(lab, tmp_path):
    for name, (text, _, _) in WRONG.items():
        first = "--colour=1" if name == "command-line option" else ""
        (tmp_path / f"{name}.pkt").write_text(first + SERVER + text + "\n")
    (tmp_path / "right.pkt").write_text(SERVER + "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n")
    found = outcomes(lab, tmp_path, "all", "cubic", ["automatic"])["automatic"]
    assert found.pop("right.pkt")["result"] == "same"
    for name, (_, line, why) in WRONG.items():
        outcome = found[f"{name}.pkt"]
        assert outcome["result"] == ("not run" if name in NOT_RUN else "differs"), (name, outcome)
        assert outcome["line"] == line and why in outcome["why"], (name, outcome)


def test_what_the_page_judges_is_judged_once():
    assert {"all", "PrioPlus", "others"}.isdisjoint(ALGORITHMS)
    for algorithm in ALGORITHMS:
        judged(algorithm)
    letters = set(re.findall(r"^- \*\*(\w)\*\*", PAGE, re.M))
    for script, cells in rows("## Judged differences").items():
        assert len(cells) == len(SETTINGS) + 2, script
        assert set(cells[-1].split()) <= letters and cells[-1], (script, cells[-1])
        assert any(cells[:len(SETTINGS)]), script
