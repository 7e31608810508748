#!/bin/dash
# SPDX-License-Identifier: Apache-2.0
#
# The test machine's init: real programs for long, while the algorithm of every socket is
# changed every few seconds (soak.c).  Host a uses the servers of host b:
#
#   a ==== b     RATE Mbit/s each way, 10 ms, a queue of 100 packets each way
#
#   nginx, curl     files, compared by their checksum
#   nginx, wrk      responses of two segments and of 100,000 bytes
#   redis           SETs and GETs; values that are read again; a's redis replicates b's
#   iperf3          both ways
#   scp             both ways (dropbear), compared by checksum
#   xfer            streams that are compared byte by byte
#
# Words on the kernel's command line: soak_seconds=N (60), soak_cycles=N (2), soak_seed=N (1),
# soak_pause=N (0: seconds between two uses of a program), soak_algorithms=NAME,... (all of ours and
# cubic), soak_line_mbps=N (the line rate that is told; else a device's own counts, and that of veth
# is 10 Gbit/s).
#
# A cycle makes the network, runs the programs for so long, ends them, and removes network and
# modules.  Lines on the console:
#
#   STILL, SOAKED    of soak.c
#   DID NAME N       how often a program came to its end
#   REFUSED NAME     a connection that was reset
#   LATE NAME        a response that took more than 2 s
#   WRONG WORDS      wrong bytes, a program that failed, something that stays
#   COUNTER NETNS NAME N    what TCP counted of resets and timeouts
#   LEFT KB          memory in use after the cycle, without caches
#
# modules: tcp_bbr
# programs: redis-server redis-cli redis-benchmark iperf3 nginx wrk curl dropbear dropbearkey dbclient scp cksum awk chmod
#
# Functions are called by their names, and lists are of words:
# shellcheck disable=SC2317,SC2013,SC2046,SC2086,SC2119,SC2120

# shellcheck source=tests/vm/common.sh
. /common.sh

seconds=60
cycles=2
seed=1
pause=0
algorithms=
rate=20
line_mbps=

wrong()
{
	echo "WRONG $*"
}

make_network()
{
	two_hosts netem delay 5ms rate ${rate}mbit limit 100 || return 1
	for side in a b; do
		ip netns exec $side ethtool -K v$side tso off || return 1
		[ -z "$line_mbps" ] || ip netns exec $side sysctl -qw net.ipv4.delaycc.line_rate_mbps=$line_mbps || return 1
	done
}

prepare_files()
{
	mkdir -p /srv /.ssh /in
	head -c 2500 /dev/urandom >/srv/small
	head -c 100000 /dev/urandom >/srv/large
	head -c 1000000 /dev/urandom >/srv/file
	sum=$(cksum </srv/file)
	echo /bin/sh >/etc/shells
	dropbearkey -t ed25519 -f /etc/host_key >/dev/null 2>&1
	dropbearkey -t ed25519 -f /.ssh/id_dropbear 2>/dev/null | grep '^ssh-' >/.ssh/authorized_keys
	chmod 700 / /.ssh
	printf '%s\n' 'save ""' 'appendonly no' 'protected-mode no' 'enable-debug-command yes' >/etc/redis.conf
	write_nginx_conf 10.0.0.2 'worker_processes 2'
}

servers=
serve() # NETNS COMMAND...
{
	(cd /tmp && exec ip netns exec "$@" >/tmp/served 2>&1) &
	servers="$servers $!"
}

start_servers()
{
	servers=
	serve b nginx -e /tmp/nginx.log -c /etc/nginx.conf
	serve b redis-server /etc/redis.conf --bind 10.0.0.2
	serve a redis-server /etc/redis.conf --bind 10.0.0.1 --replicaof 10.0.0.2 6379
	serve b dropbear -F -E -s -r /etc/host_key -p 10.0.0.2:22
	for port in 80 6379 22; do
		wait_for_listener b $port || return 1
	done
}

# ---- what the programs do, once ---------------------------------------------

# A connection that is reset before its first byte is refused, which is no wrong byte: Linux forgets
# a half-open connection when the host's own queue drops a second SYN-ACK, and the client, who has
# got the first one, meets a reset.
use_curl()
{
	if ! in_a curl -sS -m 120 -o /tmp/curled -w '%{size_download}\n' http://10.0.0.2:80/file >/tmp/size 2>/tmp/curl; then
		[ "$(cat /tmp/size)" = 0 ] && grep -q 'reset by peer' /tmp/curl || no "curl: $(cat /tmp/curl)" || return 1
		echo "REFUSED curl"
		return
	fi
	[ "$(cksum </tmp/curled)" = "$sum" ] || no "the file of nginx is another one, of $(wc -c </tmp/curled) bytes"
}

use_wrk()
{
	in_a wrk -t 1 -c 4 -d 3s http://10.0.0.2:80/small >/tmp/wrk 2>&1 && in_a wrk -t 1 -c 2 -d 3s http://10.0.0.2:80/large >>/tmp/wrk 2>&1 ||
		no "wrk: $(tail -n 1 /tmp/wrk)" || return 1
	! grep -q 'Non-2xx' /tmp/wrk || no "wrk: $(grep 'Non-2xx' /tmp/wrk)" || return 1
	# Of read errors and timeouts of 2 s.
	awk '/Socket errors/ { gsub(",", ""); for (n = $4 + $6 + $8; n > 0; n--) print "REFUSED wrk"; for (n = $10; n > 0; n--) print "LATE wrk" }' /tmp/wrk
}

use_redis()
{
	in_a redis-benchmark -h 10.0.0.2 -t set,get -n 500 -c 5 -d 1000 -q >/tmp/benchmark 2>&1 || no "redis-benchmark: $(tail -n 1 /tmp/benchmark)" || return 1
	for i in 1 2 3; do
		in_a redis-cli -h 10.0.0.2 -x set "key$i" </srv/large >/dev/null
		[ "$(in_a redis-cli -h 10.0.0.2 --raw get "key$i" | head -c 100000 | cksum)" = "$(cksum </srv/large)" ] || no "redis gives another value" || return 1
	done
}

# A server of its own for each test: one that still waits for the end of the last test refuses the
# next one with a reset.
use_iperf()
{
	for way in '' -R --bidir; do
		(exec ip netns exec b iperf3 -s -1 >/tmp/iperf_server 2>&1) &
		server=$!
		wait_for_listener b 5201 && in_a iperf3 -c 10.0.0.2 -t 4 $way >/tmp/iperf 2>&1 ||
			{ kill $server; no "iperf3 $way: $(tail -n 1 /tmp/iperf)"; } || return 1
		wait $server
	done
}

use_scp()
{
	rm -f /in/file /in/back
	in_a scp -q -O -S /usr/bin/remote /srv/file root@10.0.0.2:/in/file 2>/tmp/scp && in_a scp -q -O -S /usr/bin/remote root@10.0.0.2:/in/file /in/back 2>/tmp/scp ||
		no "scp: $(tail -n 1 /tmp/scp)" || return 1
	[ "$(cksum </in/back)" = "$sum" ] || no "scp brings another file"
}

use_xfer()
{
	for way in "b a 10.0.0.1" "a b 10.0.0.2"; do
		set -- $way
		(exec ip netns exec "$2" xfer recv 5001 2>/tmp/received) &
		receiver=$!
		ip netns exec "$1" xfer send "$3" 5001 2000000 "$seed" >/tmp/sent 2>&1
		sent=$?
		wait $receiver && [ $sent = 0 ] || no "xfer: $(cat /tmp/sent /tmp/received)" || return 1
	done
}

# Uses a program again and again until it is told to end.
again() # NAME
{
	did=0
	while [ ! -e /tmp/end ]; do
		why=
		if use_$1; then
			did=$((did + 1))
			sleep "$pause"
		else
			wrong "$why"
			sleep 1
		fi
	done
	echo "DID $1 $did"
}

same_data()
{
	for _ in $(seq 200); do
		of_b=$(in_b redis-cli -h 10.0.0.2 debug digest)
		[ "$of_b" != "$(in_a redis-cli -h 10.0.0.1 debug digest)" ] || return 0
		sleep 0.1
	done
	no "the replica of redis is another one"
}

# Nobody has a socket any more: what is left of connections ends while there is a network.
connections_end()
{
	for _ in $(seq 150); do
		left=$(for side in a b; do ip netns exec $side ss -Htinao state connected exclude time-wait; done)
		[ -n "$left" ] || return 0
		sleep 0.2
	done
	no "these connections do not end: $left"
}

remove_modules()
{
	for _ in $(seq 100); do
		left=
		for file in /lib/modules/*/extra/tcp_*.ko /lib/modules/*/extra/delaycc_count.ko /lib/modules/*/extra/delaycc.ko; do
			name=${file##*/}
			name=${name%.ko}
			[ ! -d "/sys/module/$name" ] || rmmod "$name" 2>/dev/null || left="$left $name"
		done
		[ -n "$left" ] || return 0
		sleep 0.2
	done
	no "these modules stay:$left"
}

memory_kb()
{
	echo 3 >/proc/sys/vm/drop_caches
	sleep 1
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^(MemTotal|MemFree|Cached|Buffers):/ { kb[$1] = $2 } END { print kb["MemTotal:"] - kb["MemFree:"] - kb["Cached:"] - kb["Buffers:"] }' /proc/meminfo
}

cycle() # NUMBER
{
	for file in /lib/modules/*/extra/tcp_*.ko; do
		name=${file##*/}
		modprobe "${name%.ko}"
	done
	make_network && start_servers || no "${why:-the network}" || return 1
	rm -f /tmp/end
	users=
	for name in curl wrk redis iperf scp xfer; do
		again $name &
		users="$users $!"
	done
	soak "$seconds" $((seed * 1000 + $1)) a,b "$algorithms" || wrong "soak ended with $?"
	: >/tmp/end
	wait $users
	same_data || wrong "$why"
	kill $servers
	wait $servers
	for side in a b; do
		ip netns exec $side nstat -az 2>/dev/null | awk -v side=$side '/Abort|Reset|OutRsts|Timeouts|Pressure|RetransFail/ && $2 { print "COUNTER", side, $1, $2 }'
	done
	connections_end || wrong "$why"
	ip netns del a
	ip netns del b
	remove_modules || wrong "$why"
	echo "LEFT $(memory_kb)"
}

# ---- the machine ------------------------------------------------------------

start_machine
for word in $(cat /proc/cmdline); do
	case $word in
	soak_*=*) eval "${word%%=*}='${word#*=}'" ;;
	esac
done
seconds=${soak_seconds:-$seconds} cycles=${soak_cycles:-$cycles} seed=${soak_seed:-$seed} pause=${soak_pause:-$pause}
algorithms=${soak_algorithms:-} line_mbps=${soak_line_mbps:-}
case ,$algorithms, in *,bbr,*) modprobe tcp_bbr ;; esac
if [ -z "$algorithms" ]; then
	for file in /lib/modules/*/extra/tcp_*.ko; do
		name=${file##*/}
		modprobe "${name%.ko}"
	done
	algorithms=$(tr ' ' '\n' </proc/sys/net/ipv4/tcp_available_congestion_control | grep -v '^reno$' | tr '\n' ',')
fi
echo "ALGORITHMS $algorithms"
# What ssh is for scp: options of OpenSSH's are none of dropbear's.
cat >/usr/bin/remote <<'EOF'
#!/bin/sh
while :; do
	case $1 in
	-l) shift 2 ;;
	-*) shift ;;
	*) break ;;
	esac
done
exec dbclient -y -y -i /.ssh/id_dropbear "$@" 2>/dev/null
EOF
chmod 755 /usr/bin/remote
prepare_files
for number in $(seq "$cycles"); do
	cycle "$number" || wrong "cycle $number: $why"
done
stop_machine
