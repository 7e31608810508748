// SPDX-License-Identifier: GPL-2.0
/*
 * Path memory: the base RTTs and the hosts' noise that a namespace's connections
 * have measured, by destination address and packet size.
 *
 * A connection that is made while a queue stands sees the path with it at first.
 * Connections that were there before have, and leave here what they know while
 * they live and when they end; a new one begins with it (dcc_base_recall()).
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
#include <linux/jhash.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

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
	struct dcc_cache_entry path;
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
	WRITE_ONCE(memory->n, memory->n - 1);
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
	WRITE_ONCE(memory->n, memory->n + 1);
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
	key->wire_bytes = ds->tcp.model.path.wire_bytes;
	key->family = delaycc_peer(sk, key->address);
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
	struct dcc_path_metrics known = {};
	struct delaycc_memory_key key;

	if (!lifetime_s || !dcc_model_may_recall(&ds->tcp.model) || !READ_ONCE(memory->n))
		return;
	delaycc_memory_key_of(sk, ds, &key);
	spin_lock_bh(&memory->lock);
	entry = delaycc_memory_find(memory, &key);
	if (entry && !dcc_cache_is_old(&entry->path, tcp_clock_ns(), lifetime_s))
		known = entry->path.metrics;
	spin_unlock_bh(&memory->lock);
	dcc_model_recall(&ds->tcp.model, &known);
}

/* With known: notes it.  Without: forgets what is shorter than the socket's own. */
static void delaycc_memory_note(struct delaycc_memory *memory, u32 lifetime_s,
				const struct sock *sk,
				const struct delaycc_sock *ds,
				const struct dcc_path_metrics *known, u64 now_ns)
{
	struct delaycc_memory_entry *entry, *made = NULL;
	struct delaycc_memory_key key;

	delaycc_memory_key_of(sk, ds, &key);
again:
	spin_lock_bh(&memory->lock);
	entry = delaycc_memory_find(memory, &key);
	if (entry && dcc_model_refutes(&ds->tcp.model, &entry->path)) {
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
	if (dcc_cache_update(&entry->path, known, now_ns, lifetime_s))
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
	struct dcc_path_metrics known;
	bool knows = dcc_model_knows(&ds->tcp.model, &known);

	if (lifetime_s && (knows || ds->tcp.model.base.cache_wrong))
		delaycc_memory_note(memory, lifetime_s, sk, ds,
				    knows ? &known : NULL, now_ns);
	dcc_model_noted(&ds->tcp.model, now_ns);
}

/* ---- the sysctl ------------------------------------------------------------ */

/* "ADDRESS BASE_RTT_NS NOISE_NS PACKET_BYTES [AGE_S]" into a zeroed entry. */
static bool delaycc_memory_parse(char *line, struct delaycc_memory_entry *entry)
{
	struct dcc_path_metrics *known = &entry->path.metrics;
	const char *address = delaycc_lines_word(&line);
	u32 wire_bytes, age_s = 0;

	entry->key.family = delaycc_parse_address(address, entry->key.address);
	if (!entry->key.family ||
	    !delaycc_lines_number(&line, DCC_PATH_RTT_MIN_NS,
				  DCC_PATH_RTT_MAX_NS, &known->rtt_min_ns) ||
	    !delaycc_lines_number(&line, 0, DCC_PATH_RTT_MAX_NS,
				  &known->noise_ns) ||
	    !delaycc_lines_number(&line, DCC_PATH_WIRE_MIN_BYTES,
				  DCC_PATH_WIRE_MAX_BYTES, &wire_bytes))
		return false;
	if (line &&
	    !delaycc_lines_number(&line, 0, DELAYCC_MEMORY_AGE_MAX_S, &age_s))
		return false;
	entry->key.wire_bytes = wire_bytes;
	known->exact = true;
	/* Before the machine's start, perhaps. */
	entry->path.noted_ns = tcp_clock_ns() - (u64)age_s * NSEC_PER_SEC;
	return !line;
}

/* Entries of the lines in text, the last one first; 0 or an error. */
static int delaycc_memory_make(char *text, struct list_head *made)
{
	unsigned int n = 0;
	char *line;

	while ((line = delaycc_lines_next(&text))) {
		struct delaycc_memory_entry *entry;

		if (n++ == DELAYCC_MEMORY_MAX)
			return -E2BIG;
		entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
		if (!entry)
			return -ENOMEM;
		list_add(&entry->by_age, made);
		if (!delaycc_memory_parse(line, entry))
			return -EINVAL;
	}
	return 0;
}

static struct delaycc_memory *delaycc_memory_of(struct delaycc_lines *lines)
{
	return container_of(lines, struct delaycc_memory, lines);
}

static int delaycc_memory_write(struct delaycc_lines *lines, char *text,
				unsigned int n, bool adds)
{
	struct delaycc_memory *memory = delaycc_memory_of(lines);
	struct delaycc_memory_entry *entry, *next, *before;
	LIST_HEAD(made);
	int err;

	err = delaycc_memory_make(text, &made);
	if (err) {
		list_for_each_entry_safe(entry, next, &made, by_age)
			kfree(entry);
		return err;
	}

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

/* The entries as lines, the newest first. */
static char *delaycc_memory_read(struct delaycc_lines *lines, size_t *size)
{
	struct delaycc_memory *memory = delaycc_memory_of(lines);
	struct delaycc_memory_entry *copies, *entry;
	u64 now_ns = tcp_clock_ns();
	unsigned int n = 0, i;
	char *text = NULL;
	size_t room;

	copies = kvcalloc(DELAYCC_MEMORY_MAX, sizeof(*copies), GFP_KERNEL);
	if (!copies)
		return NULL;
	spin_lock_bh(&memory->lock);
	list_for_each_entry(entry, &memory->by_age, by_age)
		copies[n++] = *entry;
	spin_unlock_bh(&memory->lock);

	*size = 0;
	room = n * DELAYCC_MEMORY_TEXT + 1;
	text = kvmalloc(room, GFP_KERNEL);
	for (i = 0; text && i < n; i++) {
		const struct delaycc_memory_key *key = &copies[i].key;
		const struct dcc_cache_entry *path = &copies[i].path;

		*size += scnprintf(text + *size, room - *size,
				   key->family == AF_INET ?
				   "%pI4 %u %u %u %u\n" : "%pI6c %u %u %u %u\n",
				   key->address, path->metrics.rtt_min_ns,
				   path->metrics.noise_ns, key->wire_bytes,
				   (u32)div_u64(dcc_cache_age_ns(path, now_ns),
						NSEC_PER_SEC));
	}
	kvfree(copies);
	return text;
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
	spin_lock_init(&memory->lock);
	INIT_LIST_HEAD(&memory->by_age);
	memory->salt = get_random_u32();
	memory->lines.most = DELAYCC_MEMORY_MAX;
	memory->lines.write = delaycc_memory_write;
	memory->lines.read = delaycc_memory_read;
	return delaycc_lines_register(net, &memory->lines, "path_memory");
}

/**
 * delaycc_memory_unregister() - take a namespace's memory away
 * @memory: no socket uses it any more
 */
void delaycc_memory_unregister(struct delaycc_memory *memory)
{
	delaycc_lines_unregister(&memory->lines);
	delaycc_memory_clear(memory);
}
