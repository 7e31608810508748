#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""nginx and wrk over one link, with an algorithm of the server's: requests a second, and how long they take.

    delaycc mininet mininet/examples/nginx_wrk.py --cc oscar --rate 10Gbit --delay 10us
"""

import argparse
import os
import pathlib
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# pylint: disable=wrong-import-position
from mininet.net import Mininet  # noqa: E402
from mininet.topo import SingleSwitchTopo  # noqa: E402
from mininet.nodelib import LinuxBridge  # noqa: E402

from delaycc_mininet import CcHost, PortLink  # noqa: E402

CONFIG = """
worker_processes 1; daemon on; user root; pid {0}/pid; error_log {0}/error.log;
events {{ worker_connections 1024; }}
http {{ access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p; fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u;
scgi_temp_path {0}/s; server {{ listen 80; root {0}; }} }}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="oscar")
    parser.add_argument("--rate", default="10Gbit")
    parser.add_argument("--delay", default="5us", help="of each of the two links, one way")
    parser.add_argument("--size", type=int, default=100_000, help="bytes of a response")
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--connections", type=int, default=8)
    arguments = parser.parse_args()
    net = Mininet(topo=SingleSwitchTopo(2), host=CcHost, switch=LinuxBridge, controller=None, autoStaticArp=True,
                  link=lambda *nodes, **params: PortLink(*nodes, rate=arguments.rate, delay=arguments.delay, **params))
    net.start()
    server, client = net["h1"], net["h2"]
    server.config(cc=arguments.cc)
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "nginx.conf").write_text(CONFIG.format(folder))
        pathlib.Path(folder, "file").write_bytes(bytes(arguments.size))
        print(server.cmd(f"nginx -c {folder}/nginx.conf"), end="")
        client.cmd("sleep 1")
        print(client.cmd(f"wrk -t1 -c{arguments.connections} -d{arguments.seconds}s --latency http://{server.IP()}/file"))
        server.cmd(f"nginx -c {folder}/nginx.conf -s stop")
    net.stop()


if __name__ == "__main__":
    main()
