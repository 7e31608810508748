// SPDX-License-Identifier: GPL-2.0
/*
 * What netfilter's hooks of local packets cost, for a packet that TCP would
 * send or get.  A write of "WHAT ROUNDS FD..." to /proc/count_bench sends one
 * packet per socket and round through nf_hook(); a read shows the cycles per
 * packet, the fastest round and the median, with and without nf_hook().
 *
 *	ack	a pure ACK out		data	a segment of 1000 bytes out
 *	ack-new	the same, each one behind new data, in another part of time
 *	in-reported	a pure ACK with the option in
 *	in-ack	one without		in-data	a segment of 1000 bytes in
 *
 * For the lab (User-Mode Linux), whose clock stands still meanwhile.
 */
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <net/ip.h>
#include <net/tcp.h>

#define SOCKETS_MAX 2048
#define ROUNDS_MAX 10000

static const u8 option[] = { 254, 8, 0xdc, 0xc0, 0, 0, 0, 5 };

static struct socket *sockets[SOCKETS_MAX];
static u32 cycles[ROUNDS_MAX];
static u32 result[2][2]; /* without, with; fastest, median */

static u64 count_cycles(void)
{
	u32 low, high;

	asm volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (u64)high << 32 | low;
}

/* As TCP and IP make it, with timestamps. */
static struct sk_buff *make(struct sock *sk, bool in, bool reported, unsigned int payload)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	unsigned int options = 12 + (reported ? sizeof(option) : 0);
	struct sk_buff *skb = alloc_skb(MAX_TCP_HEADER + payload, GFP_ATOMIC);
	struct tcphdr *th;
	struct iphdr *iph;

	if (!skb)
		return NULL;
	skb_reserve(skb, MAX_TCP_HEADER);
	skb_put(skb, payload);
	th = skb_push(skb, sizeof(*th) + options);
	skb_reset_transport_header(skb);
	memset(th, 0, sizeof(*th));
	th->source = in ? inet->inet_dport : inet->inet_sport;
	th->dest = in ? inet->inet_sport : inet->inet_dport;
	th->seq = htonl(in ? tp->rcv_nxt : tp->snd_nxt);
	th->ack_seq = htonl(in ? tp->snd_una : tp->rcv_nxt);
	th->doff = (sizeof(*th) + options) / 4;
	th->ack = 1;
	*(__be32 *)(th + 1) = htonl(0x0101080a);
	memset((u8 *)(th + 1) + 4, 5, 8);
	if (reported)
		memcpy((u8 *)(th + 1) + 12, option, sizeof(option));
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);

	iph = skb_push(skb, sizeof(*iph));
	skb_reset_network_header(skb);
	memset(iph, 0, sizeof(*iph));
	iph->version = 4;
	iph->ihl = 5;
	iph->protocol = IPPROTO_TCP;
	iph->saddr = in ? inet->inet_daddr : inet->inet_saddr;
	iph->daddr = in ? inet->inet_saddr : inet->inet_daddr;
	iph->tot_len = htons(skb->len);
	ip_send_check(iph);
	skb->protocol = htons(ETH_P_IP);
	skb_dst_set_noref(skb, __sk_dst_get(sk));
	skb->dev = __sk_dst_get(sk)->dev;
	if (!in) {
		skb->sk = sk;
		skb->destructor = sock_efree;
		sock_hold(sk);
	}
	return skb;
}

static int accept_packet(struct net *net, struct sock *sk, struct sk_buff *skb)
{
	return 0;
}

/* Cycles of all sockets' packets, without making and freeing them. */
static u64 round_of(const char *what, unsigned int n, bool hooks)
{
	bool in = !strncmp(what, "in-", 3);
	bool reported = !strcmp(what, "in-reported");
	unsigned int payload = strstr(what, "data") ? 1000 : 0;
	bool fresh = !strcmp(what, "ack-new");
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct sock *sk = sockets[i]->sk;
		struct net_device *dev;
		struct sk_buff *skb;
		u64 begin;

		local_bh_disable();
		rcu_read_lock();
		skb = __sk_dst_get(sk) ? make(sk, in, reported, payload) : NULL;
		if (skb) {
			if (fresh) {
				tcp_sk(sk)->rcv_ooopack++;
				inet_csk(sk)->icsk_ack.lrcvtime = tcp_jiffies32;
			}
			dev = skb->dev;
			begin = count_cycles();
			if (hooks)
				nf_hook(NFPROTO_IPV4, in ? NF_INET_LOCAL_IN : NF_INET_LOCAL_OUT,
					sock_net(sk), in ? NULL : sk, skb, in ? dev : NULL,
					in ? NULL : dev, accept_packet);
			sum += count_cycles() - begin;
			kfree_skb(skb);
		}
		rcu_read_unlock();
		local_bh_enable();
	}
	return sum;
}

static int compare(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : 1;
}

static void run(const char *what, unsigned int rounds, unsigned int n)
{
	unsigned int hooks, i;

	for (hooks = 0; hooks < 2; hooks++) {
		for (i = 0; i < rounds; i++) {
			if (!strcmp(what, "ack-new"))
				usleep_range(1300, 1300);
			cycles[i] = div_u64(round_of(what, n, hooks), n);
		}
		sort(cycles, rounds, sizeof(*cycles), compare, NULL);
		result[hooks][0] = cycles[0];
		result[hooks][1] = cycles[rounds / 2];
	}
}

static ssize_t bench_write(struct file *file, const char __user *from,
			   size_t size, loff_t *at)
{
	unsigned int rounds, n = 0, i;
	char what[16];
	char *text, *word, *rest;
	int err = -EINVAL;

	text = memdup_user_nul(from, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	rest = text;
	word = strsep(&rest, " ");
	strscpy(what, word, sizeof(what));
	word = strsep(&rest, " ");
	if (!word || kstrtouint(word, 10, &rounds) || !rounds || rounds > ROUNDS_MAX)
		goto out;
	while (rest && n < SOCKETS_MAX) {
		int fd;

		word = strsep(&rest, " ");
		if (kstrtoint(word, 10, &fd))
			goto out;
		sockets[n] = sockfd_lookup(fd, &err);
		if (!sockets[n])
			goto out;
		n++;
	}
	if (n)
		run(what, rounds, n);
	err = n ? 0 : -EINVAL;
out:
	for (i = 0; i < n; i++)
		sockfd_put(sockets[i]);
	kfree(text);
	return err ?: size;
}

static int bench_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%u %u %u %u\n", result[0][0], result[1][0], result[0][1],
		   result[1][1]);
	return 0;
}

static int bench_open(struct inode *inode, struct file *file)
{
	return single_open(file, bench_show, NULL);
}

static const struct proc_ops bench_ops = {
	.proc_open = bench_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = bench_write,
};

static int __init bench_init(void)
{
	return proc_create("count_bench", 0600, NULL, &bench_ops) ? 0 : -ENOMEM;
}

static void __exit bench_exit(void)
{
	remove_proc_entry("count_bench", NULL);
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Cycles per packet of netfilter's hooks of local packets");
MODULE_LICENSE("GPL");
