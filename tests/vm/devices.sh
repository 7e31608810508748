#!/bin/dash
# SPDX-License-Identifier: Apache-2.0
#
# The test machine's init, for what network devices do while the modules are there, or come
# and go: all modes of a bond, all kinds of devices above one, moves to other namespaces,
# devices that end while they are asked (common.sh says how tests run).
#
# modules: dummy bonding team 8021q bridge vxlan macvlan macvtap ipvlan geneve vrf ip_gre virtio_net virtio_pci
# devices: -netdev hubport,id=n0,hubid=0 -device virtio-net-pci,netdev=n0,romfile=
# devices: -netdev hubport,id=n1,hubid=0 -device virtio-net-pci,netdev=n1,romfile=
#
# Functions are called by their names, and lists are of words:
# shellcheck disable=SC2317,SC2013,SC2086

# shellcheck source=tests/vm/common.sh
. /common.sh

# device_rates has each device that is up, and of each what it says itself at this moment; one that
# says nothing keeps what it said.
agree() # NAMESPACE WORDS: of what has just happened
{
	for _ in $(seq 100); do
		# shellcheck disable=SC2016 # for the shell in there
		ip netns exec "$1" sh -c 'listed=" "
			while read -r device mbps word; do
				listed="$listed$device "
				said=
				{ read -r said <"/sys/class/net/$device/speed"; } 2>/dev/null
				case $said:$mbps.$word in
				:* | -1:* | "$said:$said.driver" | "$said:$said.virtual") ;;
				*) echo "$device: $mbps $word, the device says $said;" ;;
				esac
			done <'"$dcc"'/device_rates
			for device in $(ip -o link show up | sed "s/^[0-9]*: \([^:@]*\).*/\1/"); do
				case $listed in
				*" $device "*) ;;
				*) [ "$device" = lo ] || echo "$device: no line;" ;;
				esac
			done' >/tmp/differ 2>&1
		[ -s /tmp/differ ] || return 0
		sleep 0.05
	done
	no "$2: $(cat /tmp/differ)"
}

# Nothing is left of the test before.
empty_namespaces()
{
	for space in a b; do
		ip netns del $space 2>/dev/null
		ip netns add $space || return 1
	done
}

links() # NAMESPACE NAME...: veth devices, their other ends are NAME-b, up
{
	space=$1
	shift
	for link; do
		ip -n $space link add $link type veth peer $link-b && ip -n $space link set $link-b up || return 1
	done
}

test_modprobe()
{
	modprobe virtio_pci && modprobe virtio_net && modprobe tcp_oscar && modprobe tcp_prioplus
}

bond_of_mode() # MODE
{
	empty_namespaces && ip -n a link add bond type bond mode $1 miimon 50 && links a s1 s2 s3 && agree a "mode $1, no slave" || return 1
	for slave in s1 s2 s3; do
		ip -n a link set $slave master bond || return 1
		[ $slave != s1 ] || ip -n a link set bond up || return 1
		agree a "mode $1, $slave joins" || return 1
	done
	for above in 'vlan link bond type vlan id 5' 'macvlan link bond type macvlan' 'ipvlan link macvlan type ipvlan' \
		'macvtap link bond type macvtap' 'bridge type bridge'; do
		ip -n a link add name $above || return 1
		ip -n a link set dev ${above%% *} up || return 1
	done
	ip -n a link set vlan master bridge && agree a "mode $1, with devices above" || return 1
	ip -n a link set s2-b down && sleep 0.2 && agree a "mode $1, a slave fails" || return 1
	ip -n a link set s2-b up && sleep 0.2 && agree a "mode $1, it is back" || return 1
	for slave in s1 s2 s3; do
		ip -n a link set $slave nomaster && sleep 0.1 && agree a "mode $1, $slave leaves" || return 1
	done
	ip -n a link del bond && ip -n a link del bridge && agree a "mode $1, the bond is gone" || return 1
	for slave in s1 s2 s3; do ip -n a link del $slave || return 1; done
}

test_a_bond_of_each_mode()
{
	for mode in balance-rr active-backup balance-xor broadcast 802.3ad balance-tlb balance-alb; do
		bond_of_mode $mode || return 1
	done
}

test_a_bond_changes_its_mode_and_its_active_slave()
{
	empty_namespaces && links a s1 s2 && ip -n a link add bond type bond mode active-backup miimon 50 && ip -n a link set s1 master bond &&
		ip -n a link set s2 master bond && ip -n a link set bond up && agree a 'two slaves' || return 1
	ip -n a link set bond type bond active_slave s2 && agree a 'another active slave' || return 1
	ip -n a link set s1 nomaster && ip -n a link set s2 nomaster && ip -n a link set bond down && ip -n a link set bond type bond mode balance-rr &&
		ip -n a link set s1 master bond && ip -n a link set s2 master bond && ip -n a link set bond up &&
		agree a 'another mode' || return 1
	ip -n a link del bond && ip -n a link del s1 && ip -n a link del s2
}

# ethtool sets what no event tells; the next carrier does.
test_speeds_of_virtio_below_a_bond()
{
	empty_namespaces && ip link set eth0 netns a && ip link set eth1 netns a && agree a 'two devices come from another namespace' || return 1
	ip -n a link add bond type bond mode 802.3ad miimon 50 || return 1
	for device in eth0 eth1; do
		ip netns exec a ethtool -s $device speed 25000 duplex full && ip -n a link set $device master bond || return 1
	done
	ip -n a link set bond up && sleep 0.5 && agree a 'two of 25000 in 802.3ad' || return 1
	ip netns exec a grep -q '^eth0 25000 driver$' $dcc/device_rates || no "eth0: $(ip netns exec a cat $dcc/device_rates)" || return 1
	ip -n a link set eth0 down && sleep 0.2 && agree a 'one is down' && ip -n a link set eth0 up && sleep 0.2 && agree a 'it is up' || return 1
	ip -n a link del bond && agree a 'the bond is gone'
}

test_a_team()
{
	empty_namespaces && links a p1 p2 && ip -n a link add team type team && ip -n a link set p1 master team && ip -n a link set p2 master team &&
		ip -n a link set team up && agree a 'two ports' || return 1
	ip -n a link set p1-b down && sleep 0.1 && agree a 'one fails' && ip -n a link set p1-b up || return 1
	ip -n a link set p1 nomaster && agree a 'one leaves' && ip -n a link del team && agree a 'the team is gone' || return 1
	ip -n a link del p1 && ip -n a link del p2
}

test_all_kinds_above_others()
{
	empty_namespaces && links a v && ip -n a addr add 10.1.0.1/24 dev v && ip -n a link set v up || return 1
	for above in 'ipvlan link v type ipvlan mode l2' 'vlan link v type vlan id 7' 'inner link vlan type vlan id 8' 'dummy type dummy' \
		'vxlan type vxlan id 9 dev v dstport 4790' 'geneve type geneve id 9 remote 10.1.0.2' 'vrf type vrf table 10' 'gretap type gretap local 10.1.0.1 remote 10.1.0.2' \
		'bridge type bridge'; do
		ip -n a link add name $above || return 1
		ip -n a link set dev ${above%% *} up || return 1
	done
	ip -n a link set vxlan master bridge && ip -n a link set inner master vrf && agree a 'all kinds' || return 1
	# What is newer than this kernel, where it has it.
	! ip -n a link add netkit type netkit 2>/dev/null || ip -n a link set netkit up && agree a netkit || return 1
	ip -n a link set v down && agree a 'the lowest is down' && ip -n a link set v up && agree a 'it is up' || return 1
	for device in v dummy geneve vrf gretap bridge; do ip -n a link del dev $device || return 1; done
	ip -n a link del netkit 2>/dev/null
	agree a 'they are gone'
}

test_devices_move_between_namespaces()
{
	empty_namespaces && links a low && ip -n a link set low up && ip -n a link add high link low type macvlan && ip -n a link set high up || return 1
	for round in 1 2 3; do
		for to in b a; do
			from=b
			[ $to = a ] || from=a
			ip -n $from link set high netns $to && agree a "round $round: moved to $to" && agree b "round $round: moved to $to" &&
				ip -n $to link set high up && ip -n a link set low-b down && agree $to "round $round: down in a" &&
				ip -n a link set low-b up && agree $to "round $round: up in a" || return 1
		done
	done
	ip -n a link set low down && ip -n a link set low name renamed && ip -n a link set renamed up && agree a 'it has another name' || return 1
	# The namespace ends with devices in it; the upper one goes with the lower one.
	ip netns add c && ip -n a link set renamed netns c && ip netns exec c ip link set renamed up &&
		ip netns del c || return 1
	for _ in $(seq 100); do
		ip -n a link show high >/dev/null 2>&1 || return 0
		sleep 0.05
	done
	no "high outlives its lower device"
}

# Bonds and what stands on them come, change and go, in namespaces that do, too, until end_flaps.  Each round says OK.
flaps()
{
	: >/tmp/flaps
	until [ -e /tmp/enough ]; do
		for flap in x y; do
			ip netns add $flap
			links $flap f1 f2
			ip -n $flap link add bond type bond mode balance-rr miimon 10
			ip -n $flap link set f1 master bond
			ip -n $flap link add vlan link bond type vlan id 3
			ip -n $flap link add above$flap link vlan netns b type macvlan
			ip -n $flap link set bond up
			ip -n $flap link set vlan up
			ip -n b link set above$flap up
			ip -n $flap link set f2 master bond
			ip -n $flap link set f1-b down
			ip -n $flap link set f1 nomaster
			ip -n $flap link set bond down && echo OK >>/tmp/flaps
			ip netns del $flap
		done
	done >>/tmp/flaps 2>&1
}

end_flaps()
{
	: >/tmp/enough
	wait $flapping
	rm /tmp/enough
	has OK /tmp/flaps && ! grep -v OK /tmp/flaps
}

test_devices_end_while_they_are_asked()
{
	empty_namespaces || return 1
	flaps &
	flapping=$!
	for round in $(seq 40); do
		for space in a b x y; do
			ip netns exec $space cat $dcc/device_rates >/dev/null 2>&1
		done
	done
	end_flaps && sleep 0.5 && agree a 'after flaps' && agree b 'after flaps'
}

test_modules_come_and_go_while_devices_do()
{
	rmmod tcp_oscar && rmmod tcp_prioplus && rmmod delaycc || return 1
	flaps &
	flapping=$!
	for round in $(seq 15); do
		modprobe tcp_oscar && rmmod tcp_oscar && rmmod delaycc && continue
		no "round $round"
		break
	done
	end_flaps && [ -z "$why" ] && modprobe tcp_oscar && agree a 'the module is back' && agree b 'the module is back'
}

test_the_machine_ends_with_devices_up()
{
	empty_namespaces && links a last && ip -n a link add bond type bond && ip -n a link set last master bond &&
		ip -n a link set bond up && rmmod tcp_oscar && rmmod delaycc
}

start_machine
run_tests "$0"
stop_machine
