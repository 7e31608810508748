# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
#
# What the scripts that run as a test machine's init share (guest.sh, programs.sh).
# A test is a function test_NAME.  It prints one line on the console: "PASS NAME" or
# "FAIL NAME: why".
#
# Who includes this uses its variables, and lists are of words:
# shellcheck disable=SC2034,SC2013

export PATH=/usr/sbin:/usr/bin:/sbin:/bin
dcc=/proc/sys/net/ipv4/delaycc
out=/tmp/out

why=
no() # WORDS: the reason that the current test gives for failing
{
	why="$*"
	return 1
}

run() # NAME: calls the function test_NAME
{
	why=
	if "test_$1" >"$out" 2>&1; then
		echo "PASS $1"
	else
		echo "FAIL $1: ${why:-its last command failed}: $(tail -n 4 "$out" | tr '\n' ' ')"
	fi
}

has() # TEXT FILE
{
	grep -q -- "$1" "$2" || no "no '$1' in: $(head -c 300 "$2" | tr '\n' ' ')"
}

in_a()
{
	ip netns exec a "$@"
}

in_b()
{
	ip netns exec b "$@"
}

wait_for() # TEXT FILE
{
	for _ in $(seq 200); do
		grep -q "$1" "$2" && return 0
		sleep 0.05
	done
	no "no '$1' in $2 after 10 s"
}

test_kernel_has_not_complained()
{
	dmesg >/tmp/dmesg
	if grep -E 'BUG|WARNING|Oops|general protection|Call Trace|refcount|leak' /tmp/dmesg; then
		no "see the console"
		return 1
	fi
}

start_machine()
{
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t devtmpfs dev /dev
	mount -t tmpfs run /run
	mount -t tmpfs tmp /tmp
	mount -t tracefs tracing /sys/kernel/tracing
	ip link set lo up
	modprobe veth && modprobe sch_netem && modprobe tcp_diag && modprobe inet_diag
	echo "BEGIN $(uname -r)"
}

# The script's tests in their order.
run_tests() # SCRIPT
{
	for name in $(sed -n 's/^test_\([a-z0-9_]*\)()$/\1/p' "$1"); do
		run "$name"
	done
}

stop_machine()
{
	run kernel_has_not_complained
	grep -hE 'BUG|WARNING|RIP|Call Trace' /tmp/dmesg
	echo END
	echo o >/proc/sysrq-trigger
	sleep 10
}
