#!/bin/dash
# SPDX-License-Identifier: Apache-2.0
#
# The test machine's init: what one flow and what requests get from each algorithm
# with no sysctl of ours set.  Host a, router r, host b:
#
#   a ---- r ==== b     r sends to b at the cell's rate, from a queue of the cell's
#                       length, with the cell's loss; b's packets are late by the RTT
#
# A host's device cuts long segments into packets, as a network card does (gso without
# tso), so that the router sees packets.  harm.py chooses what runs, by words on the
# kernel's command line:
#
#   algorithms=NAME,...
#   bulk=CELL,...       CELL is MBIT:RTT_US:LOSS_PERCENT:QUEUE_PACKETS:WARM_MS:MEASURE_MS
#   requests=CELL,...   CELL is MBIT:RTT_US:LOSS_PERCENT:QUEUE_PACKETS:SECONDS
#   tell=WHAT,...       line: the hosts are told the cell's rate; base: and its base RTT,
#                       to find out what does harm where they are told nothing
#
# For each of them one line on the console: the word before = and what follows are
#
#   BULK ALGORITHM MBIT RTT_US LOSS_PERCENT ...       what bulk.c prints
#   REQUESTS ALGORITHM MBIT RTT_US LOSS_PERCENT small= large= redis=
#
#   small   HTTP responses of two segments per second, 2 connections (nginx, wrk)
#   large   the same with 100,000 bytes
#   redis   SETs per second, 20 clients (redis-benchmark)
#
# programs: redis-server redis-benchmark nginx wrk
# modules: tcp_bbr
#
# Functions are called by their names, and lists are of words:
# shellcheck disable=SC2317,SC2013,SC2046,SC2086

# shellcheck source=tests/vm/common.sh
. /common.sh

make_network()
{
	for side in a r b; do
		ip netns add $side && ip -n $side link set lo up || return 1
	done
	ip link add va netns a type veth peer ra netns r && ip link add vb netns b type veth peer rb netns r &&
		ip -n a addr add 10.0.1.1/24 dev va && ip -n r addr add 10.0.1.2/24 dev ra &&
		ip -n b addr add 10.0.2.1/24 dev vb && ip -n r addr add 10.0.2.2/24 dev rb || return 1
	for end in a:va r:ra r:rb b:vb; do
		ip -n ${end%:*} link set ${end#*:} up || return 1
	done
	ip -n a route add default via 10.0.1.2 && ip -n b route add default via 10.0.2.2 &&
		ip netns exec r sysctl -q -w net.ipv4.ip_forward=1 &&
		in_a ethtool -K va tso off && in_b ethtool -K vb tso off
}

# Nothing of the cell before is left: no packet, no queue, no remembered path.
set_path() # MBIT RTT_US LOSS_PERCENT QUEUE_PACKETS
{
	lost=
	[ "$3" = 0 ] || lost="loss $3%"
	tc -n r qdisc del dev rb root 2>/dev/null
	tc -n b qdisc del dev vb root 2>/dev/null
	tc -n r qdisc add dev rb root netem rate "$1mbit" limit "$4" $lost &&
		tc -n b qdisc add dev vb root netem delay "$2us" limit 100000 &&
		ip -n a tcp_metrics flush && ip -n b tcp_metrics flush || return 1
	for what in $tell; do
		case $what in
		line) setting="line_rate_mbps=$1" ;;
		# A full packet's time on the line, and what the hosts take.
		base) setting="base_rtt_ns=$(($2 * 1000 + 1514 * 8000 / $1 + 30000))" ;;
		esac
		in_a sysctl -q -w "net.ipv4.delaycc.$setting" && in_b sysctl -q -w "net.ipv4.delaycc.$setting" || return 1
	done
}

bulk_cell() # ALGORITHM MBIT RTT_US LOSS_PERCENT QUEUE_PACKETS WARM_MS MEASURE_MS
{
	set_path "$2" "$3" "$4" "$5" || no "the path" || return 1
	figures=$(bulk a b 10.0.2.1 "$1" "$6" "$7" 2>&1)
	echo "BULK $1 $2 $3 $4 ${figures:-it printed nothing}"
}

responses() # FILE SECONDS
{
	timeout 60 ip netns exec b wrk -t 1 -c 2 -d "$2s" "http://10.0.1.1:80/$1" 2>&1 | sed -n 's/^Requests.sec: *\([0-9.]*\).*/\1/p'
}

requests_cell() # ALGORITHM MBIT RTT_US LOSS_PERCENT QUEUE_PACKETS SECONDS
{
	set_path "$2" "$3" "$4" "$5" || no "the path" || return 1
	small=$(responses small "$6")
	large=$(responses large "$6")
	redis=$(timeout 60 ip netns exec b redis-benchmark -h 10.0.1.1 -t set -n 500 -c 20 --csv 2>/dev/null |
		sed -n 's/^"SET","\([0-9.]*\)".*/\1/p')
	echo "REQUESTS $1 $2 $3 $4 small=${small:-0} large=${large:-0} redis=${redis:-0}"
}

cells() # FUNCTION ALGORITHM CELL...
{
	function=$1
	algorithm=$2
	shift 2
	for cell; do
		$function "$algorithm" $(echo "$cell" | tr : ' ') || echo "FAIL $algorithm $cell: $why"
	done
}

# ---- the machine ------------------------------------------------------------

start_machine
algorithms=
bulk=
requests=
tell=
for word in $(cat /proc/cmdline); do
	case $word in
	algorithms=* | bulk=* | requests=* | tell=*) eval "${word%%=*}='$(echo "${word#*=}" | tr ',' ' ')'" ;;
	esac
done
modprobe tcp_bbr
for file in /lib/modules/*/extra/tcp_*.ko; do
	name=${file##*/}
	modprobe "${name%.ko}"
done
make_network || echo "FAIL the network"
for algorithm in $algorithms; do
	for side in a b; do
		ip netns exec $side sysctl -q -w net.ipv4.tcp_congestion_control="$algorithm" || echo "FAIL $algorithm is not here"
	done
	cells bulk_cell "$algorithm" $bulk
	[ -n "$requests" ] || continue
	if start_servers a 10.0.1.1; then
		cells requests_cell "$algorithm" $requests
	else
		echo "FAIL $algorithm: $why"
	fi
	stop_servers
done
stop_machine
