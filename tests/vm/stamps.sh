#!/bin/dash
# SPDX-License-Identifier: Apache-2.0
#
# The init of a machine with network devices of several kinds: what delaycc calibrate makes of
# their time stamps.  Prints "PASS NAME" or "FAIL NAME: why" for each test.
#
#   eth0, eth1         QEMU's e1000e, on one hub
#   eth2, eth3         QEMU's igb, on another, where this QEMU has it
#   stamp0, stamp1     tests/lab/stamped
#
# programs: delaycc delaycc-host-runner chmod cat date
# modules: e1000e igb i2c-algo-bit dca

# Functions are called by their names:
# shellcheck disable=SC2317

# shellcheck source=tests/vm/common.sh
. /common.sh

# Namespaces a and b, with 10.0.0.1 and 10.0.0.2.
join() # DEVICE DEVICE
{
	ip netns add a && ip netns add b && ip link set "$1" netns a && ip link set "$2" netns b &&
		in_a ip addr add 10.0.0.1/24 dev "$1" && in_b ip addr add 10.0.0.2/24 dev "$2" &&
		in_a ip link set "$1" up && in_b ip link set "$2" up
}

part() # DEVICE DEVICE
{
	in_a ip link set "$1" netns 1
	in_b ip link set "$2" netns 1
	ip netns del a
	ip netns del b
}

# What calibrate says of the stamps on the way from a to b.
stamps_of() # DEVICE DEVICE WORDS
{
	join "$1" "$2" || return 1
	# A NIC takes its time until the link is there.
	for _ in $(seq 100); do
		in_a ip link show "$1" | grep -q LOWER_UP && in_b ip link show "$2" | grep -q LOWER_UP && break
		sleep 0.1
	done
	in_a delaycc calibrate 10.0.0.2 --count 200 --load 0 >/tmp/calibrated 2>&1
	status=$?
	part "$1" "$2"
	[ $status = 0 ] && has "^stamps  *$3" /tmp/calibrated
}

test_a_device_that_stamps()
{
	insmod "/lib/modules/$(uname -r)/test/stamped.ko" && stamps_of stamp0 stamp1 'hardware: 50 of 50 packets sent and 50 of'
}

test_a_device_that_stamps_what_it_sends()
{
	echo 1 >/sys/module/stamped/parameters/mode
	stamps_of stamp0 stamp1 'tx-only: 50 of 50 packets sent and 0 of .* refuses to stamp every packet that comes'
}

test_a_device_that_lies()
{
	echo 2 >/sys/module/stamped/parameters/mode
	stamps_of stamp0 stamp1 'software: 0 of 50 packets sent and 0 of .* accepted hardware stamps, and they did not come'
}

test_a_device_without()
{
	ip link add va type veth peer name vb && stamps_of va vb 'software: 0 of 50 .* it has no hardware stamps'
}

test_e1000e()
{
	modprobe e1000e && stamps_of eth0 eth1 'software: 0 of 50 packets sent and 0 of .* accepted hardware stamps, and they did not come'
}

test_igb()
{
	modprobe igb && stamps_of eth2 eth3 'tx-only: 50 of 50 packets sent and 0 of .* refuses to stamp every packet that comes'
}

# How far the runner of the backend `hosts` finds the system's clock from the device's, in ns, where ptp4l says that it keeps the latter. A
# driver sets its clock by the system's, and nothing keeps it afterwards.
clock_error() # DEVICE
{
	mkdir -p /tmp/bin
	printf '%s\n' '#!/bin/dash' "cat /tmp/ptp" >/tmp/bin/pmc
	chmod 755 /tmp/bin/pmc
	cat >/tmp/ptp <<-PTP
		 x RESPONSE MANAGEMENT PARENT_DATA_SET
		grandmasterIdentity 525400.fffe.000001
		 x RESPONSE MANAGEMENT CURRENT_DATA_SET
		stepsRemoved 1
		offsetFromMaster 0.0
		 x RESPONSE MANAGEMENT PORT_PROPERTIES_NP
		portState SLAVE
		timestamping HARDWARE
		interface $1
	PTP
	order='{"socket":"/tmp/ptp"}'
	printf 'ptp %s\n%s' ${#order} "$order" | PATH=/tmp/bin:$PATH delaycc-host-runner --remote >/tmp/frames || return 1
	sed -n 's/.*"error_ns":\([0-9]*\).*"trouble":"".*/\1/p' /tmp/frames
}

test_clock_of_igb()
{
	ip link set eth2 up && sleep 1 || return 1
	near=$(clock_error eth2)
	if [ "${near:-0}" -le 1 ] || [ "$near" -ge 50000000 ]; then
		no "the driver's own: $near ns"
		return 1
	fi
	later=$(($(date +%s%N) + 300000000))
	date -s "@$((later / 1000000000)).$(printf %09d $((later % 1000000000)))" >/dev/null || return 1
	far=$(clock_error eth2)
	[ "${far:-0}" -gt 250000000 ] && [ "$far" -lt 350000000 ] && return 0
	no "300 ms ahead: $far ns"
}

start_machine
# shellcheck disable=SC2013 # words
for name in $(sed -n 's/^test_\([a-z0-9_]*\)()$/\1/p' "$0"); do
	case $name in
	igb | clock_of_igb) grep -q with_igb /proc/cmdline || continue ;;
	esac
	run "$name"
done
stop_machine
