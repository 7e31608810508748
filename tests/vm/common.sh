# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
#
# What the scripts that run as a test machine's init share (guest.sh, harm.sh, programs.sh).
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

wait_for_listener() # NAMESPACE PORT
{
	for _ in $(seq 500); do
		ip netns exec "$1" ss -ltn | grep -q ":$2 " && return 0
		sleep 0.02
	done
	no "nobody listens on port $2 after 10 s"
}

# For a web server of files in /srv.
write_nginx_conf() # ADDRESS PROCESSES, as nginx.conf says it
{
	mkdir -p /srv /tmp/nginx
	cat >/etc/nginx.conf <<-EOF
	user root;
	daemon off;
	$2;
	pid /tmp/nginx.pid;
	events {}
	http {
		access_log off;
		client_body_temp_path /tmp/nginx/body;
		proxy_temp_path /tmp/nginx/proxy;
		fastcgi_temp_path /tmp/nginx/fastcgi;
		uwsgi_temp_path /tmp/nginx/uwsgi;
		scgi_temp_path /tmp/nginx/scgi;
		sendfile on;
		keepalive_requests 1000000;
		server {
			listen $1:80;
			root /srv;
		}
	}
	EOF
}

# A web server for files of 2500 bytes (/small) and of 100,000 (/large), and redis.
start_servers() # NAMESPACE ADDRESS
{
	write_nginx_conf "$2" 'master_process off'
	head -c 2500 /dev/zero >/srv/small
	head -c 100000 /dev/zero >/srv/large
	(cd /tmp && exec ip netns exec "$1" redis-server --save '' --appendonly no --bind "$2" --protected-mode no \
		--logfile /tmp/redis.log >/dev/null) &
	redis_server=$!
	(exec ip netns exec "$1" nginx -e /tmp/nginx.log -c /etc/nginx.conf) &
	nginx_server=$!
	: >>/tmp/redis.log
	wait_for 'Ready to accept' /tmp/redis.log || return 1
	wait_for_listener "$1" 80 || no "nginx does not listen: $(cat /tmp/nginx.log)"
}

stop_servers()
{
	kill "$redis_server" "$nginx_server"
	wait "$redis_server" "$nginx_server"
	rm /tmp/redis.log
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

# Namespaces a and b, of 10.0.0.1 and 10.0.0.2, joined by va and vb, which have the qdisc, if any.
two_hosts() # [QDISC OPTION...]
{
	ip netns add a && ip netns add b &&
		ip link add va netns a type veth peer vb netns b &&
		ip -n a addr add 10.0.0.1/24 dev va && ip -n b addr add 10.0.0.2/24 dev vb || return 1
	for side in a b; do
		ip -n $side link set lo up && ip -n $side link set v$side up || return 1
		[ $# = 0 ] || tc -n $side qdisc add dev v$side root "$@" || return 1
	done
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
