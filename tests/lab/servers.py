# SPDX-License-Identifier: Apache-2.0
"""Two servers and the machine of a researcher: network namespaces without names, joined by veth pairs, with sshd in the servers."""

import contextlib
import os
import pathlib
import shutil
import subprocess

import pytest

import owned
from outside import DELAYCC

SSHD = "/usr/sbin/sshd"
PORT = 22022
DATA = {"a": "10.8.0.1", "b": "10.8.0.2"}
CONTROL = {"a": "10.9.1.2", "b": "10.9.2.2"}
AHEAD_S = 1000


class Bed:
    """Servers `a` and `b`, joined by the devices `data`; the researcher `me` reaches them over links of their own, toa and tob.

    Programs of `folder`/bin are the servers' first. The monotonic clock of `b` is AHEAD_S before that of the others, where the kernel has
    namespaces of time.
    """

    def __init__(self, folder, stack):
        self.folder, self.stack = folder, stack
        (folder / "bin").mkdir()
        self.pids = {name: self.start("unshare", "--net", "sh", "-c", "echo ready; exec sleep infinity") for name in ("me", "a", "b")}
        self.join("a", "data", f"{DATA['a']}/24", "b", "data", f"{DATA['b']}/24")
        for name, there in CONTROL.items():
            here = there.rsplit(".", 1)[0] + ".1"
            self.join("me", f"to{name}", f"{here}/24", name, "control", f"{there}/24")
        for key in ("host", "user", "other"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        shutil.copy(folder / "user.pub", folder / "authorized_keys")
        self.sshd = {name: self.serve(name) for name in CONTROL}
        self.write_config("user")
        self.write_inventory()

    def start(self, *command):
        """Ends with the test, however that ends. Returns when its first line is there."""
        process = subprocess.Popen(owned.owned(*command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        assert process.stdout.readline(), command
        return process.pid

    def inside(self, name):
        return ["nsenter", "--net", "-t", str(self.pids[name])]

    def ip(self, name, *words):
        return subprocess.run([*self.inside(name), "ip", *words], check=True, capture_output=True, text=True).stdout

    def join(self, one, device, address, other, other_device, other_address):
        self.ip(one, "link", "add", device, "type", "veth", "peer", "name", other_device, "netns", str(self.pids[other]))
        for name, what, where in ((one, device, address), (other, other_device, other_address)):
            self.ip(name, "address", "add", where, "dev", what)
            for up in (what, "lo"):
                self.ip(name, "link", "set", up, "up")

    def serve(self, name):
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        config = self.folder / f"sshd-{name}"
        config.write_text(f"ListenAddress {CONTROL[name]}\nPort {PORT}\nHostKey {self.folder}/host\n"
                          f"AuthorizedKeysFile {self.folder}/authorized_keys\n"
                          f"SetEnv PATH={self.folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
                          "PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n")
        # -e: on standard error, "Server listening on ..." first.
        ahead = name == "b" and os.path.exists("/proc/self/ns/time")
        clock = ["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(AHEAD_S)] if ahead else []
        return self.start(*self.inside(name), *clock, SSHD, "-D", "-e", "-f", config)

    def write_config(self, key):
        hosts = "".join(f"Host server-{name}\n  HostName {address}\n" for name, address in CONTROL.items())
        (self.folder / "config").write_text(f"{hosts}Host *\n  User root\n  Port {PORT}\n  IdentityFile {self.folder}/{key}\n  IdentitiesOnly yes\n"
                                            f"  StrictHostKeyChecking no\n  UserKnownHostsFile {self.folder}/known\n  LogLevel ERROR\n")

    def write_inventory(self, more="", names=("senders[0]", "receivers[0]"), ptp=()):
        """`ptp`: the sockets of ptp4l on `a` and `b`."""
        sockets = dict(zip(CONTROL, (f'ptp_socket = "{socket}"\n' for socket in ptp)))
        hosts = "".join(f'[[hosts]]\nname = "{name}"\nssh = "server-{host}"\ndevice = "data"\naddress = "{DATA[host]}"\n'
                        f'{sockets.get(host, "")}{more}' for name, host in zip(names, CONTROL))
        (self.folder / "hosts.toml").write_text(f'ssh_config = "config"\n{"ptp = true" if ptp else ""}\n{hosts}')

    def command(self, *options):
        return [*self.inside("me"), str(DELAYCC), "run", "--backend", "hosts", "--inventory", "hosts.toml", "--quiet", *map(str, options)]

    def run(self, *options):
        return subprocess.run(self.command(*options), cwd=self.folder, capture_output=True, text=True, check=False)

    def sysctl(self, name, what, value=None):
        file = f"/proc/sys/{what.replace('.', '/')}"
        script = f"cat {file}" if value is None else f"echo {value} >{file}"
        return subprocess.run([*self.inside(name), "sh", "-c", script], check=True, capture_output=True, text=True).stdout.strip()

    def state(self):
        """What a trial changes on the servers."""
        sysctls = ("tcp_no_metrics_save", "tcp_rmem", "tcp_wmem")
        found = {}
        for name in CONTROL:
            qdisc = self.ip(name, "-o", "link", "show", "data").split("qdisc ")[1].split()[0]
            found[name] = [*(self.sysctl(name, f"net.ipv4.{what}") for what in sysctls), qdisc]
        return found

    def runners(self):
        """Processes of runners on the servers."""
        found = []
        for name, sshd in self.sshd.items():
            for pid in owned.family(sshd):
                with contextlib.suppress(OSError):
                    if "--remote" in pathlib.Path("/proc", str(pid), "cmdline").read_text().split("\0"):
                        found.append((name, pid))
        return found

    def workers(self, name):
        """Of these the processes that carry out a trial: children of those that serve the command."""
        mine = {pid for where, pid in self.runners() if where == name}
        return [pid for parent in mine for pid in owned.family(parent)[1:] if pid in mine]


@contextlib.contextmanager
def bed(folder):
    missing = [what for what in (SSHD, shutil.which("nsenter") or "nsenter") if not os.access(what, os.X_OK)]
    if missing:
        pytest.skip(f"{missing[0]} is missing: make setup-test")
    if os.geteuid():
        pytest.skip("network namespaces with sshd in them need root")
    with contextlib.ExitStack() as stack:
        yield Bed(folder, stack)
