#!/bin/dash
# SPDX-License-Identifier: Apache-2.0
#
# The test machine's init: bpftrace on the modules' tracepoint delaycc:ack.  It runs what
# test_vm_bpftrace.py took from the docs (/srv/programs, one a line), each beside a transfer
# with oscar, and prints what bpftrace does between "BEGIN_OUTPUT" and "END_OUTPUT STATUS".
#
# programs: bpftrace
# files: build/vm-bpftrace/programs:/srv
# memory: 1200

# shellcheck source=tests/vm/common.sh
. /common.sh

start_machine
mount -t debugfs debugfs /sys/kernel/debug
two_hosts netem delay 1ms limit 10000
modprobe -a delaycc tcp_oscar
in_a sysctl -q -w net.ipv4.delaycc.line_rate_mbps=1000 net.ipv4.delaycc.base_rtt_ns=2000000

cat >/tmp/transfer <<-'EOF'
	ip netns exec b xfer recv 5001 &
	until ip netns exec b ss -ltn | grep -q :5001; do
		sleep 0.02
	done
	ip netns exec a xfer send -c oscar 10.0.0.2 5001 1000000 1
EOF
while read -r program; do
	echo BEGIN_OUTPUT
	bpftrace -e "$program" -c "/usr/bin/dash /tmp/transfer" 2>&1
	echo "END_OUTPUT $?"
done </srv/programs
stop_machine
