# SPDX-License-Identifier: Apache-2.0
"""For mn: mn --custom mininet/delaycc_mininet/custom.py --topo dumbbell,4 --host cc,cc=oscar --link port,rate=100Gbit,delay=3us."""

import inspect
import os
import sys

# mn executes this file without a __file__.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(inspect.currentframe().f_code.co_filename)), ".."))
# pylint: disable=wrong-import-position
from mininet.link import Link, OVSLink, TCULink  # noqa: E402

from delaycc_mininet import CcHost, Dumbbell, FatTree, Incast, LeafSpine, ParkingLot, PortLink, Router, TCLink  # noqa: E402

topos = {"dumbbell": Dumbbell, "incast": Incast, "parkinglot": ParkingLot, "leafspine": LeafSpine, "fattree": FatTree}
hosts = {"cc": CcHost}
switches = {"router": Router}
links = {"port": PortLink}
# mn 2.3.0 leaves `links` of a custom file out and takes this name.
LINKS = {"default": Link, "tc": TCLink, "tcu": TCULink, "ovs": OVSLink, "port": PortLink}
