#!/bin/dash
# SPDX-License-Identifier: Apache-2.0
#
# The test machine's init: lets real programs talk over each algorithm on Debian's
# kernel, between two namespaces over veth and netem.  For each path and algorithm
# one line on the console:
#
#   FIGURES PATH ALGORITHM pings= redis= iperf= small= large=
#
#   pings   of 5 redis-cli, each on a connection of its own, how many were answered
#   redis   SETs per second, 20 clients (redis-benchmark)
#   iperf   Mbit/s that one flow's receiver got in 1 s (iperf3)
#   small   HTTP responses of two segments per second, 2 connections, for 1 s (nginx, wrk)
#   large   the same with 100,000 bytes
#
# A program that gives no figure has 0.  A path's RTT is in its name; its rate is told.
# programs: redis-server redis-cli redis-benchmark iperf3 nginx wrk
#
# Functions are called by their names, and lists are of words:
# shellcheck disable=SC2317,SC2013

# shellcheck source=tests/vm/common.sh
. /common.sh

# The kernel's command line may choose others (DELAYCC_VM_WORDS of run.sh).
algorithms="cubic prioplus prioplus_ledbat oscar swift ccc"
paths="100us 1ms 5ms low"

# 100us, 1ms, 5ms: 100 Mbit/s, the base RTT is measured.  low: 1 Gbit/s and 1 ms, the base RTT
# is told, 2 % below what handshakes take.
set_path() # NAME
{
	case $1 in
	100us) rate=100 delay=50us ;;
	1ms) rate=100 delay=500us ;;
	5ms) rate=100 delay=2500us ;;
	low) rate=1000 delay=500us ;;
	esac
	tc -n a qdisc replace dev va root netem delay "$delay" rate "${rate}mbit" &&
		tc -n b qdisc replace dev vb root netem delay "$delay" rate "${rate}mbit" || return 1
	ip -n a tcp_metrics flush && ip -n b tcp_metrics flush
	tell line_rate_mbps "$rate" && tell base_rtt_ns 0 || return 1
	[ "$1" != low ] || tell base_rtt_ns $(($(handshake_us) * 980))
}

tell() # SYSCTL VALUE
{
	in_a sh -c "echo $2 >$dcc/$1" && in_b sh -c "echo $2 >$dcc/$1"
}

handshake_us()
{
	(exec ip netns exec b xfer recv 5001) &
	receiver=$!
	(exec ip netns exec a xfer send -w 20 -c cubic 10.0.0.2 5001 100 1 >/tmp/held) &
	sender=$!
	wait_for ok /tmp/held
	in_a ss -tin "dport = :5001" | sed -n 's/.* minrtt:\([0-9]*\)\.\?\([0-9]*\).*/\1 \2000/p' >/tmp/minrtt
	kill $receiver $sender 2>/dev/null
	read -r ms digits </tmp/minrtt
	echo $((ms * 1000 + 1${digits%"${digits#???}"} - 1000))
}

requests() # FILE SECONDS
{
	timeout 20 ip netns exec a wrk -t 1 -c 2 -d "$2s" "http://10.0.0.2:80/$1" 2>&1 | sed -n 's/^Requests.sec: *\([0-9.]*\).*/\1/p'
}

figures() # PATH ALGORITHM
{
	pings=0
	for _ in 1 2 3 4 5; do
		[ "$(timeout 5 ip netns exec a redis-cli -h 10.0.0.2 ping 2>/dev/null)" != PONG ] || pings=$((pings + 1))
	done
	redis=$(timeout 30 ip netns exec a redis-benchmark -h 10.0.0.2 -t set -n 1000 -c 20 --csv 2>/dev/null |
		sed -n 's/^"SET","\([0-9.]*\)".*/\1/p')
	(exec ip netns exec b timeout 40 iperf3 -s -1 >/tmp/iperf 2>&1) &
	server=$!
	wait_for_listener b 5201 || echo "FAIL $2: $why"
	iperf=$(timeout 30 ip netns exec a iperf3 -c 10.0.0.2 -t 1 -f m 2>/dev/null | sed -n 's/.* \([0-9.]*\) Mbits.sec .*receiver$/\1/p')
	kill $server 2>/dev/null
	wait $server
	small=$(requests small 1)
	# Where a base RTT that is too short keeps a flow stopped, a packet leaves in 20 ms: 1.4 s for a large response.
	seconds=1
	[ "$1" != low ] || seconds=4
	large=$(requests large $seconds)
	echo "FIGURES $1 $2 pings=$pings redis=${redis:-0} iperf=${iperf:-0} small=${small:-0} large=${large:-0}"
}

# ---- the machine ------------------------------------------------------------

start_machine
for word in $(cat /proc/cmdline); do
	case $word in
	algorithms=*) algorithms=$(echo "${word#*=}" | tr ',' ' ') ;;
	paths=*) paths=$(echo "${word#*=}" | tr ',' ' ') ;;
	esac
done
for file in /lib/modules/*/extra/tcp_*.ko; do
	name=${file##*/}
	modprobe "${name%.ko}"
done
# shellcheck disable=SC2119 # no qdisc
two_hosts
for algorithm in $algorithms; do
	in_a sysctl -q -w net.ipv4.tcp_congestion_control="$algorithm"
	in_b sysctl -q -w net.ipv4.tcp_congestion_control="$algorithm"
	if start_servers b 10.0.0.2; then
		for path in $paths; do
			set_path "$path" || echo "FAIL $path $algorithm: the path"
			figures "$path" "$algorithm"
		done
	else
		echo "FAIL $algorithm: $why"
	fi
	stop_servers
done
stop_machine
