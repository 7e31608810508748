// SPDX-License-Identifier: GPL-2.0
/*
 * Base RTT and noise of paths: a namespace's table of destination prefixes,
 * written and read as the sysctl net.ipv4.delaycc.base_rtt_paths.
 *
 *	10.0.1.0/24 8000, 10.0.0.0/16 14000 3000, fd00:1::/64 0 2000
 *
 * A prefix, its base RTT in ns, and its noise (noise_ns) if it is not the
 * namespace's; a base RTT of 0, with a noise, is one to be measured.
 *
 * The longest prefix of a peer's address counts.  A route metric would not do:
 * RTAX_RTT has eighths of a millisecond, and TCP takes its first retransmission
 * timeout from it.
 *
 * A write replaces the table; a write that continues another (at an offset, as
 * for a file and for ip_local_reserved_ports) adds to it; a write with a mistake
 * changes nothing.  Readers are sockets, in softirq, when they begin, when their
 * route changes, and after a write: one binary search for each length of prefix
 * in use.
 */
#include <linux/bsearch.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <net/ipv6.h>

#include "delaycc.h"

/* A host's own rack, pod and fabric need three; this is also enough for one per peer. */
#define DELAYCC_PREFIXES_MAX 4096U

/* "xxxx:xxxx:xxxx:xxxx:xxxx:xxxx:xxxx:xxxx/128 1000000000 1000000000\n" */
#define DELAYCC_PREFIX_TEXT 67

#define DELAYCC_PREFIX_BITS 128

struct delaycc_prefix {
	/* Compared as bytes. */
	struct delaycc_prefix_key {
		u8 family;
		u8 bits;
		u8 address[16]; /* IPv4: the first four */
	} key;
	struct delaycc_path_values values;
};

struct delaycc_prefixes {
	struct rcu_head rcu;
	unsigned int n;
	/* Lengths in use, by family. */
	DECLARE_BITMAP(bits4, DELAYCC_PREFIX_BITS + 1);
	DECLARE_BITMAP(bits6, DELAYCC_PREFIX_BITS + 1);
	struct delaycc_prefix prefix[]; /* by key */
};

static int delaycc_prefix_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct delaycc_prefix_key));
}

/* Clears the bits behind the prefix.  False: some were set. */
static bool delaycc_prefix_mask(struct delaycc_prefix_key *key)
{
	struct in6_addr address, masked;

	memcpy(&address, key->address, sizeof(address));
	ipv6_addr_prefix(&masked, &address, key->bits);
	memcpy(key->address, &masked, sizeof(masked));
	return ipv6_addr_equal(&address, &masked);
}

/* ---- a socket's path ---------------------------------------------------- */

/* Zeroes: no prefix matches. */
static struct delaycc_path_values
delaycc_prefix_find(const struct delaycc_prefixes *all, u8 family,
		    const u8 *address)
{
	const struct delaycc_path_values none = {};
	const unsigned long *in_use = family == AF_INET ? all->bits4 : all->bits6;
	unsigned int below = DELAYCC_PREFIX_BITS + 1;
	unsigned int bits;

	/* The longest first. */
	while ((bits = find_last_bit(in_use, below)) < below) {
		const struct delaycc_prefix *found;
		struct delaycc_prefix_key key = { .family = family, .bits = bits };

		memcpy(key.address, address, sizeof(key.address));
		delaycc_prefix_mask(&key);
		found = bsearch(&key, all->prefix, all->n, sizeof(*all->prefix),
				delaycc_prefix_compare);
		if (found)
			return found->values;
		below = bits;
	}
	return none;
}

/**
 * delaycc_paths_values() - what the table says of a socket's path
 * @paths: of the socket's namespace
 * @sk: a connected socket
 *
 * Return: base RTT and noise in ns, each 0 if no prefix that has one matches the
 * peer.
 */
struct delaycc_path_values
delaycc_paths_values(const struct delaycc_paths *paths, const struct sock *sk)
{
	const struct delaycc_prefixes *all;
	struct delaycc_path_values found = {};

	rcu_read_lock();
	all = rcu_dereference(paths->prefixes);
	/* Most namespaces have none. */
	if (unlikely(all)) {
		u8 address[16] = {};
		u8 family = delaycc_peer(sk, address);

		found = delaycc_prefix_find(all, family, address);
	}
	rcu_read_unlock();
	return found;
}

/* ---- a write of the table ----------------------------------------------- */

/* "10.0.1.0/24 8000 1000", or less the noise; without a length: a single host. */
static bool delaycc_prefix_parse(char *line, struct delaycc_prefix *prefix)
{
	struct delaycc_path_values *values = &prefix->values;
	struct delaycc_prefix_key *key = &prefix->key;
	char *address = delaycc_lines_word(&line);
	unsigned int widest;
	char *slash;

	memset(prefix, 0, sizeof(*prefix));
	if (!delaycc_lines_number(&line, 0, DCC_PATH_RTT_MAX_NS, &values->base_rtt_ns))
		return false;
	if (line && (!delaycc_lines_number(&line, 1, DCC_PATH_RTT_MAX_NS,
					   &values->noise_ns) || line))
		return false;
	if (values->base_rtt_ns < DCC_PATH_RTT_MIN_NS &&
	    (values->base_rtt_ns || !values->noise_ns))
		return false;
	slash = strchr(address, '/');
	if (slash)
		*slash++ = '\0';
	key->family = delaycc_parse_address(address, key->address);
	if (!key->family)
		return false;
	widest = key->family == AF_INET ? 32 : 128;
	key->bits = widest;
	if (slash && (kstrtou8(slash, 10, &key->bits) || key->bits > widest))
		return false;
	return delaycc_prefix_mask(key);
}

/* The table of n lines, added to an old table if there is one. */
static struct delaycc_prefixes *
delaycc_prefixes_parse(char *text, unsigned int n,
		       const struct delaycc_prefixes *old)
{
	struct delaycc_prefixes *all;
	unsigned int room = n + (old ? old->n : 0);
	unsigned int i;
	char *line;

	all = kvzalloc(struct_size(all, prefix, room), GFP_KERNEL_ACCOUNT);
	if (!all)
		return ERR_PTR(-ENOMEM);
	if (old) {
		all->n = old->n;
		memcpy(all->prefix, old->prefix, old->n * sizeof(*old->prefix));
	}
	while ((line = delaycc_lines_next(&text))) {
		if (!delaycc_prefix_parse(line, &all->prefix[all->n]))
			goto invalid;
		all->n++;
	}
	if (all->n > DELAYCC_PREFIXES_MAX) {
		kvfree(all);
		return ERR_PTR(-E2BIG);
	}

	sort(all->prefix, all->n, sizeof(*all->prefix), delaycc_prefix_compare,
	     NULL);
	for (i = 0; i < all->n; i++) {
		const struct delaycc_prefix_key *key = &all->prefix[i].key;

		/* Two values for one prefix are a mistake. */
		if (i && !delaycc_prefix_compare(key, &all->prefix[i - 1].key))
			goto invalid;
		__set_bit(key->bits,
			  key->family == AF_INET ? all->bits4 : all->bits6);
	}
	return all;

invalid:
	kvfree(all);
	return ERR_PTR(-EINVAL);
}

static struct delaycc_paths *delaycc_paths_of(struct delaycc_lines *lines)
{
	return container_of(lines, struct delaycc_paths, lines);
}

static int delaycc_paths_write(struct delaycc_lines *lines, char *text,
			       unsigned int n, bool adds)
{
	struct delaycc_paths *paths = delaycc_paths_of(lines);
	struct delaycc_prefixes *old, *new;

	mutex_lock(&paths->lock);
	old = rcu_dereference_protected(paths->prefixes,
					lockdep_is_held(&paths->lock));
	new = delaycc_prefixes_parse(text, n, adds ? old : NULL);
	if (!IS_ERR(new))
		rcu_assign_pointer(paths->prefixes, new);
	mutex_unlock(&paths->lock);
	if (IS_ERR(new))
		return PTR_ERR(new);
	/* Sockets read their path again. */
	atomic_inc_return_release(paths->generation);
	if (old)
		kvfree_rcu(old, rcu);
	return 0;
}

/* ---- a read of the table ------------------------------------------------ */

/* The whole table, one prefix a line. */
static char *delaycc_paths_read(struct delaycc_lines *lines, size_t *size)
{
	struct delaycc_paths *paths = delaycc_paths_of(lines);
	const struct delaycc_prefixes *all;
	unsigned int i;
	size_t room;
	char *text;

	*size = 0;
	mutex_lock(&paths->lock);
	all = rcu_dereference_protected(paths->prefixes,
					lockdep_is_held(&paths->lock));
	room = (all ? all->n : 0) * DELAYCC_PREFIX_TEXT + 1;
	text = kvmalloc(room, GFP_KERNEL);
	for (i = 0; text && all && i < all->n; i++) {
		const struct delaycc_prefix *prefix = &all->prefix[i];
		const void *address = prefix->key.address;

		*size += prefix->key.family == AF_INET ?
			scnprintf(text + *size, room - *size, "%pI4/%u %u",
				  address, prefix->key.bits, prefix->values.base_rtt_ns) :
			scnprintf(text + *size, room - *size, "%pI6c/%u %u",
				  address, prefix->key.bits, prefix->values.base_rtt_ns);
		if (prefix->values.noise_ns)
			*size += scnprintf(text + *size, room - *size, " %u",
					   prefix->values.noise_ns);
		*size += scnprintf(text + *size, room - *size, "\n");
	}
	mutex_unlock(&paths->lock);
	return text;
}

/* ---- namespaces --------------------------------------------------------- */

/**
 * delaycc_paths_register() - give a namespace its table
 * @net: the namespace
 * @paths: the table, zeroed
 * @generation: incremented with each write
 *
 * Return: 0, or -ENOMEM.
 */
int delaycc_paths_register(struct net *net, struct delaycc_paths *paths,
			   atomic_t *generation)
{
	mutex_init(&paths->lock);
	paths->generation = generation;
	paths->lines.most = DELAYCC_PREFIXES_MAX;
	paths->lines.write = delaycc_paths_write;
	paths->lines.read = delaycc_paths_read;
	return delaycc_lines_register(net, &paths->lines, "base_rtt_paths");
}

/**
 * delaycc_paths_unregister() - take a namespace's table away
 * @paths: the table; no socket reads it any more
 */
void delaycc_paths_unregister(struct delaycc_paths *paths)
{
	delaycc_lines_unregister(&paths->lines);
	kvfree(rcu_dereference_protected(paths->prefixes, true));
}
