# SPDX-License-Identifier: Apache-2.0
"""Mininet with delaycc's algorithms, and with links that are exact in delaycc's lab.

    from delaycc_mininet import CcHost, PortLink, Dumbbell
    net = Mininet(topo=Dumbbell(2), host=CcHost, link=PortLink, switch=LinuxBridge, controller=None)

`delaycc mininet SCRIPT.py` runs a Mininet script in the lab, in virtual time; the same script runs as it is on a machine with Mininet.
"""

from .graph import GraphTopo
from .links import CapabilityError, PortIntf, PortLink, TCLink, in_lab
from .nodes import CcHost, Router, write_sysctls
from .topologies import Dumbbell, FatTree, Incast, LeafSpine, ParkingLot
from .traffic import run_flows

__all__ = ["CapabilityError", "CcHost", "Dumbbell", "FatTree", "GraphTopo", "Incast", "LeafSpine", "ParkingLot", "PortIntf", "PortLink", "Router",
           "TCLink", "in_lab", "run_flows", "write_sysctls"]
