#!/bin/dash
# SPDX-License-Identifier: Apache-2.0
#
# The test machine's init: every algorithm as a BPF program on this kernel.  `delaycc
# load` registers it, a checksummed transfer over veth and netem runs with it, `delaycc
# status` and `top` see it, and it is gone after `unload`.  One line for each:
#
#   PASS bpf_NAME instructions=N acks=N load_ms=N
#   PASS cost_NAME module=N bpf=N module_send=N bpf_send=N
#   PASS cost_NAME module=N module_send=N               the kernel's own: bbr, cubic
#   PASS backend_host SUMMARY     summary.json: OSCAR as program and module by `delaycc run --backend host`
#
# instructions and load_ms are the verifier's, and the machine's time for the whole of `delaycc
# load`.  The second line has the processor's instructions for a call of .cong_control (an ACK; the
# mean; of cubic .cong_avoid and .pkts_acked) and of .min_tso_segs (an attempt to send; the median),
# of the module and of the BPF program: the machine's time stamp counter counts 8 for each
# instruction (tests/replay/watched).
#
# programs: delaycc delaycc-host-runner
# modules: sch_ingress cls_bpf sch_tbf sch_red af_packet tcp_bbr
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

# Cgroups of the two ends; nothing: the root.
senders=
receivers=
join() # CGROUP
{
	[ -z "$1" ] || echo 0 >"/sys/fs/cgroup/$1/cgroup.procs"
}

start_receiver()
{
	(join "$receivers" && exec ip netns exec b xfer recv 5001 >/tmp/received) &
	receiver=$!
	wait_for_listener b 5001
}

transfer() # CC BYTES
{
	start_receiver || return 1
	(join "$senders" && exec ip netns exec a xfer send -c "$1" 10.0.0.2 5001 "$2" 1 >/tmp/sent) || no "the sender: $(cat /tmp/sent)" || return 1
	wait $receiver || no "the receiver: $(cat /tmp/received)"
}

uptime_ms()
{
	read -r up _ </proc/uptime
	echo "${up%.*}${up#*.}0"
}

# The instructions of an ACK and of an attempt to send, while NAME is the default of the namespace.
instructions_of() # NAME
{
	in_a sysctl -q -w net.ipv4.tcp_congestion_control="$1" && in_a sh -c 'echo 1 >/proc/tcp_watched' && transfer watched 3000000 || return 1
	in_a sysctl -q -w net.ipv4.tcp_congestion_control=cubic
	ack=0
	while read -r hook _ mean _; do
		case $hook in
		cong_control | cong_avoid | pkts_acked) ack=$((ack + mean / 8)) ;;
		esac
	done </proc/tcp_watched_cycles
	send=$(sed -n 's/^min_tso_segs [0-9]* [0-9]* //p' /proc/tcp_watched_cycles)
	send=$((${send:-0} / 8))
	[ "$ack" -gt 0 ] || no "nothing was counted: $(cat /proc/tcp_watched_cycles)"
}

costs() # NAME
{
	delaycc load "$1" --set line_rate_mbps=1000 --set base_rtt_ns=2000000 && instructions_of "$kernel_name" || return 1
	bpf_ack=$ack
	bpf_send=$send
	delaycc unload "$1" && modprobe "tcp_$1" && instructions_of "$1"
}

carries() # NAME
{
	before=$(uptime_ms)
	delaycc load "$1" --set line_rate_mbps=1000 --set base_rtt_ns=2000000 || return 1
	load_ms=$(($(uptime_ms) - before))
	kernel_name=$(delaycc status | sed -n 's/^\(bpf_[a-z_]*\) .*/\1/p')
	transfer "$kernel_name" 3000000 || return 1
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
two_hosts netem delay 1ms limit 10000
# For the modules; the programs are told the same.
modprobe delaycc && modprobe tcp_watched
in_a sysctl -q -w net.ipv4.delaycc.line_rate_mbps=1000 net.ipv4.delaycc.base_rtt_ns=2000000
for object in /usr/lib/delaycc/bpf/*.bpf.o; do
	name=${object##*/}
	name=${name%.bpf.o}
	case $name in
	cgroup | count | stamps) continue ;;
	esac
	why=
	if carries "$name" >"$out" 2>&1; then
		echo "PASS $kernel_name instructions=$(counted verified_instructions "$shown") acks=$acks load_ms=$load_ms"
		if costs "$name" >"$out" 2>&1; then
			echo "PASS cost_$name module=$ack bpf=$bpf_ack module_send=$send bpf_send=$bpf_send"
		else
			echo "FAIL cost_$name: ${why:-$(tail -n 8 "$out" | tr '\n' ' ')}"
		fi
	else
		echo "FAIL $name: ${why:-its last command failed}: $(tail -n 8 "$out" | tr '\n' ' ')"
		delaycc unload "$name" >/dev/null 2>&1
	fi
done
modprobe tcp_bbr
for name in bbr cubic; do
	if instructions_of "$name" >"$out" 2>&1; then
		echo "PASS cost_$name module=$ack module_send=$send"
	else
		echo "FAIL cost_$name: ${why:-$(tail -n 8 "$out" | tr '\n' ' ')}"
	fi
done
mkdir /sys/fs/cgroup/some
if delaycc cgroup /sys/fs/cgroup/some --cc reno --priority 3 >"$out" 2>&1 && delaycc status | grep -q 'cgroup /sys/fs/cgroup/some: reno, priority 3'; then
	echo "PASS cgroup"
else
	echo "FAIL cgroup: $(tr '\n' ' ' <"$out")"
fi
# The receiver's count of flows: one end by the program, the other by the module.
read_by_program()
{
	mkdir -p /sys/fs/cgroup/senders && delaycc count /sys/fs/cgroup/senders && in_b sysctl -q -w net.ipv4.delaycc.count_flows=1 || return 1
	delaycc load sqcc --set line_rate_mbps=1000 --set base_rtt_ns=2000000 || return 1
	senders=senders
	transfer bpf_sqcc 3000000 || return 1
	senders=
	in_b sysctl -q -w net.ipv4.delaycc.count_flows=0
	delaycc unload sqcc
	delaycc status | grep -q 'senders: counts flows: [0-9]* ACKs written, [1-9]' || no "$(delaycc status)"
}

written_by_program()
{
	mkdir -p /sys/fs/cgroup/receivers && delaycc count /sys/fs/cgroup/receivers && modprobe tcp_sqcc || return 1
	receivers=receivers
	transfer sqcc 3000000 || return 1
	receivers=
	in_a grep -q '^read [1-9]' /proc/net/delaycc_count && in_a grep -q '^refused 0' /proc/net/delaycc_count ||
		no "$(in_a cat /proc/net/delaycc_count)" || return 1
	delaycc status | grep -q 'receivers: counts flows: [1-9][0-9]* ACKs written, 0 read' || no "$(delaycc status)"
}

for end in read_by_program written_by_program; do
	if $end >"$out" 2>&1; then
		echo "PASS count_$end"
	else
		echo "FAIL count_$end: ${why:-$(tr '\n' ' ' <"$out")}"
	fi
	why=
done
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

# OSCAR on the backend `host`, as a program and as the module.
backend_host()
{
	cat >/tmp/oscar.toml <<-'EOF'
	name = "oscar"
	trials = 1
	cc = ["bpf_oscar", "oscar"]
	[topology]
	kind = "dumbbell"
	senders = 1
	receivers = 1
	base_rtt_ns = 10000000
	[link]
	rate_gbps = 0.04
	[bottleneck]
	rate_gbps = 0.02
	buffer_bytes = 100000
	[[flows]]
	name = "one"
	from = "senders"
	to = "receivers"
	[measure]
	duration_us = 500000
	from_us = 200000
	gradient_of = "one"
	EOF
	# As the bench tells the module.
	delaycc load oscar --set line_rate_mbps=40 --set base_rtt_ns=10000000 --set trace=1 || return 1
	HOME=/tmp delaycc run /tmp/oscar.toml --backend host --quiet --json --out /tmp/oscar >/tmp/oscar.json || return 1
	[ "$(counted acks "$(delaycc status --json)")" -gt 100 ] || no "the program saw too few ACKs: $(delaycc status)" || return 1
	delaycc unload oscar
}
if backend_host >"$out" 2>&1; then
	echo "PASS backend_host $(tr -d '\n' </tmp/oscar.json)"
else
	echo "FAIL backend_host: ${why:-$(tr '\n' ' ' <"$out")}"
fi

# A host whose device stamps ACKs, and which takes up to 3 ms from there to TCP: 100 Mbit/s and 2 ms.
stamped=/sys/module/stamped/parameters
stamped_path()
{
	modprobe stamped pairs=1 noisy=1 clock_offset_ns=-1234567890 clock_drift_ppb=50000 || return 1
	ip netns add c && ip netns add d && ip link set stamp0 netns c && ip link set stamp1 netns d || return 1
	ip -n c addr add 10.1.0.1/24 dev stamp0 && ip -n d addr add 10.1.0.2/24 dev stamp1 || return 1
	ip -n c addr add fd01::1/64 dev stamp0 nodad && ip -n d addr add fd01::2/64 dev stamp1 nodad || return 1
	for end in c.stamp0 d.stamp1; do
		ip -n "${end%.*}" link set "${end#*.}" up
		tc -n "${end%.*}" qdisc add dev "${end#*.}" root netem delay 1ms limit 10000
	done
}

in_c()
{
	ip netns exec c "$@"
}

transfer_ms() # NOISE_NS [ADDRESS]: of 3 MB, in $ms
{
	echo "$1" >$stamped/noise_ns
	ip netns exec d xfer recv 5001 >/tmp/received &
	receiver=$!
	wait_for_listener d 5001
	before=$(uptime_ms)
	in_c xfer send -c "bpf_$algorithm" "${2:-10.1.0.2}" 5001 3000000 1 >/tmp/sent && wait $receiver || no "transfer: $(cat /tmp/sent /tmp/received)" || return 1
	ms=$(($(uptime_ms) - before))
	echo 0 >$stamped/noise_ns
}

# What the stamps change for the algorithm, in $quiet, $by_tcp, $by_stamps and $shown; the stamps stay in use.  By stamps one transfer takes up to two
# thirds more than the next: the mean of four.
compare()
{
	delaycc load "$algorithm" --set line_rate_mbps=100 --set base_rtt_ns=2121000 && transfer_ms 0 || return 1
	quiet=$ms
	transfer_ms 3000000 || return 1
	by_tcp=$ms
	in_c delaycc stamps stamp0 || return 1
	by_stamps=0
	for _ in 1 2 3 4; do
		transfer_ms 3000000 || return 1
		by_stamps=$((by_stamps + ms / 4))
	done
	shown=$(in_c delaycc status --json)
}

# The qdisc stays where another has it, before or meanwhile.
left_to_others()
{
	in_c tc qdisc add dev stamp0 clsact && in_c delaycc stamps stamp0 && in_c delaycc stamps stamp0 --off || return 1
	in_c tc qdisc show dev stamp0 | grep clsact || no "another's clsact is gone" || return 1
	in_c tc qdisc del dev stamp0 clsact && in_c delaycc stamps stamp0 || return 1
	in_c tc filter add dev stamp0 egress pref 7 protocol ip bpf bytecode '1,6 0 0 0' && in_c delaycc stamps stamp0 --off || return 1
	in_c tc filter show dev stamp0 egress | grep 'pref 7' || no "another's filter is gone" || return 1
	[ -z "$(in_c tc filter show dev stamp0 ingress)" ] || no "still there: $(in_c tc filter show dev stamp0 ingress)" || return 1
	in_c tc qdisc del dev stamp0 clsact
}

stamps()
{
	algorithm=oscar
	stamped_path && compare && transfer_ms 0 fd01::2 || return 1
	[ "$(counted stamps_hit "$(in_c delaycc status --json)")" -gt $(($(counted stamps_hit "$shown") + 100)) ] || no "no stamps with IPv6" || return 1
	in_c delaycc stamps stamp0 && no "a second time" && return 1
	in_c delaycc stamps stamp0 --off && ! in_c tc qdisc show dev stamp0 | grep clsact || no "still there" || return 1
	left_to_others || return 1
	in_c delaycc stamps stamp0 --off && no "taken away twice" && return 1
	for mode in 1 3; do
		echo $mode >$stamped/mode
		in_c delaycc stamps stamp0 && no "mode $mode is served" && return 1
	done
	# It says that it stamps, and does not.
	echo 2 >$stamped/mode
	in_c delaycc stamps stamp0 && transfer_ms 0 || return 1
	lied=$(counted unstamped "$(in_c delaycc status --json)")
	[ "${lied:-0}" -gt 100 ] || no "none without a stamp" || return 1
	in_c delaycc stamps stamp0 --off && delaycc unload oscar
	echo 0 >$stamped/mode
}
compared()
{
	echo "quiet_ms=$quiet tcp_ms=$by_tcp stamps_ms=$by_stamps hit=$(counted stamps_hit "$shown") stamped=$(counted stamped "$shown")"
}
if stamps >"$out" 2>&1; then
	echo "PASS stamps $(compared)"
else
	echo "FAIL stamps: ${why:-$(tr '\n' ' ' <"$out")}"
fi
# More algorithms for the page (bpf_table.py): the word stamps_of=NAME,NAME.
for algorithm in $(sed -n 's/.*stamps_of=\([a-z_,]*\).*/\1/p' /proc/cmdline | tr ',' ' '); do
	if compare >"$out" 2>&1; then
		echo "PASS stamps_$algorithm $(compared)"
	else
		echo "FAIL stamps_$algorithm: ${why:-$(tr '\n' ' ' <"$out")}"
	fi
	in_c delaycc stamps stamp0 --off
	delaycc unload "$algorithm" >"$out"
done
stop_machine
