// SPDX-License-Identifier: GPL-2.0
/*
 * Path memory: the base RTTs and the hosts' noise that a namespace's connections
 * have measured, by destination address and packet size.
 *
 * A connection that is made while a queue stands never sees the path without it.
 * Connections that were there before have, and leave here what they know while
 * they live and when they end; a new one begins with it (dcc_tcp_trust()).
 *
 * An entry has the least RTT of all that note one, until none has noted one as
 * short for path_memory_s seconds, or until a connection refutes it.  There are
 * DELAYCC_MEMORY_MAX at most; then the one that nobody has noted for the longest
 * time goes.
 *
 * The sysctl net.ipv4.delaycc.path_memory shows the entries, the newest first,
 *
 *	10.0.0.2 12000 350 1514 42
 *
 * address, base RTT and noise in ns, bytes of a full packet on the wire, and the
 * age in seconds.  A write of such lines (the age may be left out) replaces them
 * all, an empty line forgets them; a write that continues another adds to it, and
 * one with a mistake changes nothing.
 */
#include <linux/hash.h>
#include <linux/inet.h>
#include <linux/jhash.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/ipv6.h>

#include "delaycc.h"

/* Peers of a host whose paths are worth to be known: 100 KB. */
#define DELAYCC_MEMORY_MAX 1024U

/* "xxxx:xxxx:xxxx:xxxx:xxxx:xxxx:xxxx:xxxx 1000000000 250000 65535 86400\n" */
#define DELAYCC_MEMORY_TEXT 80

#define DELAYCC_MEMORY_AGE_MAX_S 86400U

struct delaycc_memory_key {
	u8 address[16]; /* IPv4: the first four */
	u16 family;
	u16 wire_bytes;
};

struct delaycc_memory_entry {
	struct hlist_node node; /* in its bucket */
	struct list_head by_age;
	struct delaycc_memory_key key;
	struct dcc_tcp_memory path;
};

/* What a read shows and a write parses. */
struct delaycc_memory_line {
	struct delaycc_memory_key key;
	struct dcc_tcp_known known;
	u32 age_s;
};

/* ---- entries; under the lock --------------------------------------------- */

static struct hlist_head *delaycc_memory_bucket(struct delaycc_memory *memory,
						const struct delaycc_memory_key *key)
{
	u32 hash = jhash(key, sizeof(*key), memory->salt);

	return &memory->bucket[hash_32(hash, DELAYCC_MEMORY_BITS)];
}

static struct delaycc_memory_entry *
delaycc_memory_find(struct delaycc_memory *memory,
		    const struct delaycc_memory_key *key)
{
	struct delaycc_memory_entry *entry;

	hlist_for_each_entry(entry, delaycc_memory_bucket(memory, key), node)
		if (!memcmp(&entry->key, key, sizeof(*key)))
			return entry;
	return NULL;
}

static void delaycc_memory_remove(struct delaycc_memory *memory,
				  struct delaycc_memory_entry *entry)
{
	hlist_del(&entry->node);
	list_del(&entry->by_age);
	memory->n--;
	kfree(entry);
}

/* Takes an entry that is in no list, in place of the oldest if there is no room. */
static void delaycc_memory_add(struct delaycc_memory *memory,
			       struct delaycc_memory_entry *entry)
{
	if (memory->n == DELAYCC_MEMORY_MAX)
		delaycc_memory_remove(memory,
				      list_last_entry(&memory->by_age,
						      struct delaycc_memory_entry,
						      by_age));
	hlist_add_head(&entry->node, delaycc_memory_bucket(memory, &entry->key));
	list_add(&entry->by_age, &memory->by_age);
	memory->n++;
}

static void delaycc_memory_clear(struct delaycc_memory *memory)
{
	struct delaycc_memory_entry *entry, *next;

	list_for_each_entry_safe(entry, next, &memory->by_age, by_age)
		delaycc_memory_remove(memory, entry);
}

/* ---- a socket ------------------------------------------------------------- */

static void delaycc_memory_key_of(const struct sock *sk,
				  const struct delaycc_sock *ds,
				  struct delaycc_memory_key *key)
{
	memset(key, 0, sizeof(*key));
	key->wire_bytes = ds->tcp.path.wire_bytes;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		key->family = AF_INET6;
		memcpy(key->address, &sk->sk_v6_daddr, sizeof(sk->sk_v6_daddr));
		return;
	}
#endif
	key->family = AF_INET;
	memcpy(key->address, &sk->sk_daddr, sizeof(sk->sk_daddr));
}

/**
 * delaycc_memory_recall() - begin with what is known of the path
 * @memory: of the socket's namespace
 * @lifetime_s: path_memory_s; 0: no memory
 * @sk: an established socket
 * @ds: its state, whose path has been read
 */
void delaycc_memory_recall(struct delaycc_memory *memory, u32 lifetime_s,
			   const struct sock *sk, struct delaycc_sock *ds)
{
	struct delaycc_memory_entry *entry;
	struct dcc_tcp_known known = {};
	struct delaycc_memory_key key;

	/* A path whose base RTT is told needs none, nor does the first connection. */
	if (!lifetime_s || ds->tcp.base_fixed || !READ_ONCE(memory->n))
		return;
	delaycc_memory_key_of(sk, ds, &key);
	spin_lock_bh(&memory->lock);
	entry = delaycc_memory_find(memory, &key);
	if (entry && !dcc_tcp_memory_is_old(&entry->path, tcp_clock_ns(), lifetime_s))
		known = entry->path.known;
	spin_unlock_bh(&memory->lock);
	dcc_tcp_trust(&ds->tcp, &known);
}

/* With known: notes it.  Without: forgets what is shorter than the socket's own. */
static void delaycc_memory_note(struct delaycc_memory *memory, u32 lifetime_s,
				const struct sock *sk,
				const struct delaycc_sock *ds,
				const struct dcc_tcp_known *known, u64 now_ns)
{
	struct delaycc_memory_entry *entry, *made = NULL;
	struct delaycc_memory_key key;

	delaycc_memory_key_of(sk, ds, &key);
again:
	spin_lock_bh(&memory->lock);
	entry = delaycc_memory_find(memory, &key);
	if (entry && dcc_tcp_memory_is_wrong(&entry->path, &ds->tcp)) {
		delaycc_memory_remove(memory, entry);
		entry = NULL;
	}
	if (!known)
		goto out;
	if (!entry && !made) {
		spin_unlock_bh(&memory->lock);
		made = delaycc_zalloc(sk, sizeof(*made));
		if (!made)
			return;
		made->key = key;
		goto again;
	}
	if (!entry) {
		entry = made;
		made = NULL;
		delaycc_memory_add(memory, entry);
	}
	if (dcc_tcp_memory_take(&entry->path, known, now_ns, lifetime_s))
		list_move(&entry->by_age, &memory->by_age);
out:
	spin_unlock_bh(&memory->lock);
	kfree(made);
}

/**
 * delaycc_memory_tell() - leave what a socket knows of its path
 * @memory: of the socket's namespace
 * @lifetime_s: path_memory_s; 0: no memory
 * @sk: the socket
 * @ds: its state
 * @now_ns: TCP's clock
 */
void delaycc_memory_tell(struct delaycc_memory *memory, u32 lifetime_s,
			 const struct sock *sk, struct delaycc_sock *ds,
			 u64 now_ns)
{
	struct dcc_tcp_known known;
	bool knows = dcc_tcp_knows(&ds->tcp, &known);

	if (lifetime_s && (knows || ds->tcp.known_wrong))
		delaycc_memory_note(memory, lifetime_s, sk, ds,
				    knows ? &known : NULL, now_ns);
	dcc_tcp_told(&ds->tcp, now_ns);
}

/* ---- the sysctl ------------------------------------------------------------ */

/* Between spaces; NULL: none is left. */
static char *delaycc_memory_word(char **text)
{
	char *word;

	do
		word = strsep(text, " \t");
	while (word && !*word);
	return word;
}

static bool delaycc_memory_number(char **text, u32 least, u32 most, u32 *number)
{
	const char *word = delaycc_memory_word(text);

	return word && !kstrtou32(word, 10, number) && *number >= least &&
	       *number <= most;
}

static bool delaycc_memory_address(const char *word, struct delaycc_memory_key *key)
{
	const char *end;

	if (in4_pton(word, -1, key->address, -1, &end)) {
		key->family = AF_INET;
		return !*end;
	}
	key->family = AF_INET6;
	/* A socket with a mapped address counts as IPv4. */
	return in6_pton(word, -1, key->address, -1, &end) && !*end &&
	       !ipv6_addr_v4mapped((const struct in6_addr *)key->address);
}

/* "ADDRESS BASE_RTT_NS NOISE_NS PACKET_BYTES [AGE_S]" */
static bool delaycc_memory_parse(char *text, struct delaycc_memory_line *line)
{
	const char *address = delaycc_memory_word(&text);
	u32 wire_bytes;

	memset(line, 0, sizeof(*line));
	if (!address || !delaycc_memory_address(address, &line->key) ||
	    !delaycc_memory_number(&text, DCC_PATH_RTT_MIN_NS,
				   DCC_PATH_RTT_MAX_NS, &line->known.least_rtt_ns) ||
	    !delaycc_memory_number(&text, 0, DCC_TCP_NOISE_MAX_NS,
				   &line->known.noise_ns) ||
	    !delaycc_memory_number(&text, DCC_PATH_WIRE_MIN_BYTES,
				   DCC_PATH_WIRE_MAX_BYTES, &wire_bytes))
		return false;
	line->key.wire_bytes = wire_bytes;
	line->known.exact = true;
	if (text && !delaycc_memory_number(&text, 0, DELAYCC_MEMORY_AGE_MAX_S,
					   &line->age_s))
		return false;
	return !delaycc_memory_word(&text);
}

/* Entries of the lines in text; NULL with *n an error, or 0: there are none. */
static struct delaycc_memory_line *delaycc_memory_lines(char *text, int *n)
{
	struct delaycc_memory_line *lines;
	unsigned int room = 1;
	const char *at;
	char *each;

	*n = -E2BIG;
	for (at = strpbrk(text, ",\n"); at; at = strpbrk(at + 1, ",\n"))
		if (++room > 2 * DELAYCC_MEMORY_MAX)
			return NULL;
	*n = -ENOMEM;
	lines = kvcalloc(room, sizeof(*lines), GFP_KERNEL_ACCOUNT);
	if (!lines)
		return NULL;
	*n = 0;
	while ((each = strsep(&text, ",\n"))) {
		each = strim(each);
		if (!*each)
			continue;
		if (!delaycc_memory_parse(each, &lines[(*n)++]))
			*n = -EINVAL;
		else if (*n > (int)DELAYCC_MEMORY_MAX)
			*n = -E2BIG;
		if (*n < 0)
			break;
	}
	if (*n > 0)
		return lines;
	kvfree(lines);
	return NULL;
}

/* Entries for lines, in a list of their own; false: no memory. */
static bool delaycc_memory_make(const struct delaycc_memory_line *lines, int n,
				struct list_head *made)
{
	u64 now_ns = tcp_clock_ns();
	int i;

	/* The first of a text is the newest. */
	for (i = 0; i < n; i++) {
		struct delaycc_memory_entry *entry;

		entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
		if (!entry)
			return false;
		entry->key = lines[i].key;
		entry->path.known = lines[i].known;
		/* Before the machine's start, perhaps. */
		entry->path.noted_ns = now_ns - (u64)lines[i].age_s * NSEC_PER_SEC;
		list_add(&entry->by_age, made);
	}
	return true;
}

static int delaycc_memory_write(struct delaycc_memory *memory, char *text,
				size_t size, bool adds)
{
	struct delaycc_memory_entry *entry, *next, *before;
	size_t length = strnlen(text, size);
	struct delaycc_memory_line *lines;
	LIST_HEAD(made);
	int n;

	/* Some writers also write the string's end. */
	if (memchr_inv(text + length, 0, size - length))
		return -EINVAL;
	lines = delaycc_memory_lines(text, &n);
	if (n < 0)
		return n;
	if (!delaycc_memory_make(lines, n, &made)) {
		list_for_each_entry_safe(entry, next, &made, by_age)
			kfree(entry);
		kvfree(lines);
		return -ENOMEM;
	}
	kvfree(lines);

	spin_lock_bh(&memory->lock);
	if (!adds)
		delaycc_memory_clear(memory);
	list_for_each_entry_safe(entry, next, &made, by_age) {
		list_del(&entry->by_age);
		before = delaycc_memory_find(memory, &entry->key);
		if (before)
			delaycc_memory_remove(memory, before);
		delaycc_memory_add(memory, entry);
	}
	spin_unlock_bh(&memory->lock);
	return 0;
}

/* The entries as lines, the newest first; NULL: no memory. */
static char *delaycc_memory_text(struct delaycc_memory *memory, size_t *size)
{
	struct delaycc_memory_line *lines;
	struct delaycc_memory_entry *entry;
	u64 now_ns = tcp_clock_ns();
	unsigned int n = 0, i;
	size_t room;
	char *text = NULL;

	lines = kvcalloc(DELAYCC_MEMORY_MAX, sizeof(*lines), GFP_KERNEL);
	if (!lines)
		return NULL;
	spin_lock_bh(&memory->lock);
	list_for_each_entry(entry, &memory->by_age, by_age) {
		lines[n].key = entry->key;
		lines[n].known = entry->path.known;
		lines[n++].age_s = div_u64(dcc_tcp_memory_age_ns(&entry->path, now_ns),
					   NSEC_PER_SEC);
	}
	spin_unlock_bh(&memory->lock);

	*size = 0;
	room = n * DELAYCC_MEMORY_TEXT + 1;
	text = kvmalloc(room, GFP_KERNEL);
	for (i = 0; text && i < n; i++)
		*size += scnprintf(text + *size, room - *size,
				   lines[i].key.family == AF_INET ?
				   "%pI4 %u %u %u %u\n" : "%pI6c %u %u %u %u\n",
				   lines[i].key.address,
				   lines[i].known.least_rtt_ns,
				   lines[i].known.noise_ns,
				   lines[i].key.wire_bytes, lines[i].age_s);
	kvfree(lines);
	return text;
}

static int delaycc_proc_memory(const struct ctl_table *table, int write,
			       void *buffer, size_t *lenp, loff_t *ppos)
{
	struct delaycc_memory *memory = table->data;
	size_t size;
	char *text;
	int err;

	if (write) {
		/* As with other sysctls, an empty write changes nothing. */
		if (!*lenp)
			return 0;
		err = delaycc_memory_write(memory, buffer, *lenp, *ppos > 0);
		if (!err)
			*ppos += *lenp;
		return err;
	}

	text = delaycc_memory_text(memory, &size);
	if (!text)
		return -ENOMEM;
	*lenp = memory_read_from_buffer(buffer, *lenp, ppos, text, size);
	kvfree(text);
	return 0;
}

static int __maybe_unused delaycc_proc_memory_mutable(struct ctl_table *table,
						      int write, void *buffer,
						      size_t *lenp, loff_t *ppos)
{
	return delaycc_proc_memory(table, write, buffer, lenp, ppos);
}

/* ---- namespaces -------------------------------------------------------------- */

/**
 * delaycc_memory_register() - give a namespace its memory
 * @net: the namespace
 * @memory: zeroed
 *
 * Return: 0, or -ENOMEM.
 */
int delaycc_memory_register(struct net *net, struct delaycc_memory *memory)
{
	struct ctl_table *table = kcalloc(2, sizeof(*table), GFP_KERNEL_ACCOUNT);

	if (!table)
		return -ENOMEM;
	spin_lock_init(&memory->lock);
	INIT_LIST_HEAD(&memory->by_age);
	memory->salt = get_random_u32();
	table->procname = "path_memory";
	table->data = memory;
	table->mode = 0644;
	table->proc_handler = DELAYCC_PROC_HANDLER(delaycc_proc_memory_mutable,
						   delaycc_proc_memory);
	memory->header = delaycc_register_net_sysctl(net, "net/ipv4/delaycc",
						     table, 1);
	if (!memory->header) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

/**
 * delaycc_memory_unregister() - take a namespace's memory away
 * @memory: no socket uses it any more
 */
void delaycc_memory_unregister(struct delaycc_memory *memory)
{
	const struct ctl_table *table = memory->header->ctl_table_arg;

	unregister_net_sysctl_table(memory->header);
	kfree(table);
	delaycc_memory_clear(memory);
}
