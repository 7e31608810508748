#!/bin/dash
# SPDX-License-Identifier: Apache-2.0
#
# The test machine's init: Debian's Mininet as it is, with netem and htb of a stock kernel and
# our modules, runs our example scripts.  What a script prints goes to the console between
# "SCRIPT NAME" and "EXIT CODE"; test_mininet_vm.py judges it.
#
# modules: bridge stp llc sch_htb sch_netem tcp_bbr
# programs: bash mnexec ifconfig arp brctl which stty ping iperf3 nginx wrk env hostname mv
# python: mininet
# files: mininet/delaycc_mininet/*.py:/mininet/delaycc_mininet mininet/examples/*.py:/mininet/examples tests/vm/mininet_links.py:/mininet/examples
# memory: 1024
#
# shellcheck disable=SC2013

# shellcheck source=tests/vm/common.sh
. /common.sh

script() # NAME ARGUMENT...
{
	echo "SCRIPT $*"
	name=$1
	shift
	timeout 300 python3 "/mininet/examples/$name" "$@" 2>&1
	echo "EXIT $?"
	# One that fails leaves its links.
	for device in /sys/class/net/*; do
		[ "${device##*/}" = lo ] || ip link del "${device##*/}" 2>/dev/null
	done
}

start_machine
mkdir -p /dev/pts /dev/shm /var/log/nginx /sys/fs/cgroup
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs cgroup /sys/fs/cgroup
echo 'http 80/tcp' >/etc/services
export HOME=/tmp TMPDIR=/tmp LC_ALL=C.UTF-8
for file in /lib/modules/*/extra/tcp_*.ko; do
	name=${file##*/}
	modprobe "${name%.ko}"
done
modprobe tcp_bbr && modprobe bridge && modprobe sch_htb || echo "FAIL modules"

script iperf3.py --rate 20Mbit --delay 2ms --cc oscar,cubic --size 2M
script incast.py --senders 4 --rate 20Mbit --delay 1ms --size 50000 --cc oscar,swift,cubic
script leaf_spine.py --rate 20Mbit --delay 1ms --cc oscar,bbr --size 1M
script nginx_wrk.py --rate 20Mbit --delay 1ms --size 20000 --connections 2
script priorities.py --rate 20Mbit --delay 1ms --size 2M
mkdir /sys/fs/cgroup/net_prio
mount -t cgroup -o net_prio cgroup /sys/fs/cgroup/net_prio
script priorities.py --rate 20Mbit --delay 1ms --size 2M
# Mininet's own link class.
script mininet_links.py tc
# What is not there.
script iperf3.py --rate 20Mbit --delay 2ms --cc oscar,nosuch
for what in ecn_bytes noise reorder spray; do
	script mininet_links.py "$what"
done
rmmod sch_netem
mv /lib/modules/*/sch_netem.ko /tmp
script mininet_links.py port
script mininet_links.py tc

stop_machine
