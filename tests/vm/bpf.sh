#!/bin/dash
# SPDX-License-Identifier: Apache-2.0
#
# The test machine's init: every algorithm as a BPF program on this kernel.  `delaycc
# load` registers it, a checksummed transfer over veth and netem runs with it, `delaycc
# status` and `top` see it, and it is gone after `unload`.  One line for each:
#
#   PASS bpf_NAME instructions=N acks=N
#
# programs: delaycc
# files: build/bpf/*.bpf.o:/usr/lib/delaycc/bpf
#
# Functions are called by their names:
# shellcheck disable=SC2317

# shellcheck source=tests/vm/common.sh
. /common.sh

counted() # NAME TEXT: the number behind the name
{
	printf '%s\n' "$2" | tr -d ',"' | sed -n "s/^ *$1: \([0-9]*\)$/\1/p" | head -n 1
}

start_receiver()
{
	(exec ip netns exec b xfer recv 5001 >/tmp/received) &
	receiver=$!
	wait_for_listener b 5001
}

carries() # NAME
{
	delaycc load "$1" --set line_rate_mbps=1000 --set base_rtt_ns=2000000 || return 1
	kernel_name=$(delaycc status | sed -n 's/^\(bpf_[a-z_]*\) .*/\1/p')
	start_receiver || return 1
	ip netns exec a xfer send -c "$kernel_name" 10.0.0.2 5001 3000000 1 >/tmp/sent || no "the sender: $(cat /tmp/sent)" || return 1
	wait $receiver || no "the receiver: $(cat /tmp/received)" || return 1
	shown=$(delaycc status --json)
	delaycc top --count 1 --csv || return 1
	delaycc set "$1" line_rate_mbps=500 || return 1
	delaycc unload "$1" || return 1
	grep -q "$kernel_name" /proc/sys/net/ipv4/tcp_available_congestion_control && no "$kernel_name is still there" && return 1
	acks=$(counted acks "$shown")
	[ "${acks:-0}" -gt 10 ] || no "the program saw ${acks:-no} ACKs: $shown"
}

start_machine
mount -t cgroup2 cgroup /sys/fs/cgroup
ip netns add a && ip netns add b
ip link add va netns a type veth peer vb netns b
ip -n a addr add 10.0.0.1/24 dev va && ip -n b addr add 10.0.0.2/24 dev vb
for side in a b; do
	ip -n $side link set lo up
	ip -n $side link set v$side up
	tc -n $side qdisc add dev v$side root netem delay 1ms limit 10000
done
for object in /usr/lib/delaycc/bpf/*.bpf.o; do
	name=${object##*/}
	name=${name%.bpf.o}
	[ "$name" != cgroup ] || continue
	why=
	if carries "$name" >"$out" 2>&1; then
		echo "PASS $kernel_name instructions=$(counted verified_instructions "$shown") acks=$acks"
	else
		echo "FAIL $name: ${why:-its last command failed}: $(tail -n 8 "$out" | tr '\n' ' ')"
		delaycc unload "$name" >/dev/null 2>&1
	fi
done
mkdir /sys/fs/cgroup/some
if delaycc cgroup /sys/fs/cgroup/some --cc reno --priority 3 >"$out" 2>&1 && delaycc status | grep -q 'cgroup /sys/fs/cgroup/some: reno, priority 3'; then
	echo "PASS cgroup"
else
	echo "FAIL cgroup: $(tr '\n' ' ' <"$out")"
fi
# The module beside it.
modules_flow()
{
	modprobe tcp_oscar && in_a sysctl -q -w net.ipv4.delaycc.line_rate_mbps=1000 net.ipv4.delaycc.base_rtt_ns=2000000 || return 1
	start_receiver || return 1
	(exec ip netns exec a xfer send -w 20 -c oscar 10.0.0.2 5001 100000 1 >/tmp/sent) &
	sender=$!
	wait_for ok /tmp/sent
	in_a delaycc top oscar --count 1 --csv >/tmp/top
	kill $receiver $sender
	# Base RTT and line rate as set; no gradient, branch, priority.
	grep -q '^1,10.0.0.1:[0-9]* > 10.0.0.2:5001,oscar,[a-z]*,0.000,[0-9.]*,[0-9.]*,[0-9.]*,2000.0,,[0-9.]*,,,0$' /tmp/top || no "top: $(cat /tmp/top)"
}
if modules_flow >"$out" 2>&1; then
	echo "PASS module"
else
	echo "FAIL module: ${why:-$(tr '\n' ' ' <"$out")}"
fi
stop_machine
