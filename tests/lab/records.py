# SPDX-License-Identifier: Apache-2.0
"""Reads packets.bin of a kept trial (harness/trace/records.h)."""
import collections
import struct

HEADER = struct.Struct("=8sIIIIQ")
RECORD = struct.Struct("=QQIIIIHHHHH6x")
VERSION, PACKETS = 1, 1
DROP_TAIL, DROP_LOSS, MARKED, REORDERED = 1, 2, 4, 8

Packet = collections.namedtuple(
    "Packet", "arrival_ns depart_ns backlog_bytes len_bytes seq ack_seq payload_bytes sport dport port_id flags")


def packets(trial):
    """Every record of a trial's folder, in order of arrival."""
    data = (trial / "packets.bin").read_bytes()
    magic, order, version, kind, size, count = HEADER.unpack_from(data)
    assert (magic, order, version, kind, size) == (b"delaycc\n", 0x01020304, VERSION, PACKETS, RECORD.size)
    assert len(data) == HEADER.size + count * RECORD.size
    return map(Packet._make, RECORD.iter_unpack(memoryview(data)[HEADER.size:]))
