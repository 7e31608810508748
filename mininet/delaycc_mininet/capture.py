# SPDX-License-Identifier: Apache-2.0
"""What each host's links carry, by tcpdump, as pcap files with stamps in nanoseconds."""

import signal
import subprocess

# Headers of link, IP and TCP with all options.
SNAP_BYTES = 128


class Captures:
    def __init__(self, folder):
        self._folder = folder
        self._running = []

    def start(self, hosts):
        for host in hosts:
            for intf in host.intfList():
                # As root: what tcpdump would become cannot write there. Each packet at once: no buffer fills while no time passes.
                program = host.popen(["tcpdump", "-i", intf.name, "-w", f"{self._folder}/{intf.name}.pcap", "-s", str(SNAP_BYTES), "-Z", "root", "-n",
                                      "--time-stamp-precision=nano", "--immediate-mode"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, text=True)
                said = program.stderr.readline()
                while said and "listening on" not in said:
                    said = program.stderr.readline()
                if not said:
                    raise OSError(f"tcpdump on {intf.name} ended with {program.wait()}")
                self._running.append((intf.name, program))

    def stop(self):
        """Ends them; returns what is wrong with the files, a sentence each."""
        wrong = []
        for name, program in self._running:
            program.send_signal(signal.SIGINT)
            said = program.communicate()[1]
            if program.returncode or "\n0 packets dropped by kernel" not in said:
                wrong.append(f"{name}.pcap is not complete: {' '.join(said.split())}")
        self._running.clear()
        return wrong
