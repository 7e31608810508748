// SPDX-License-Identifier: GPL-2.0
/*
 * Sysctls of a namespace that are lines of text, each about an address: the file,
 * and the words of a line.
 *
 * Lines end with a newline or a comma.  A write that continues another, at an
 * offset as for any file, adds to what is there.
 */
#include <linux/inet.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/ipv6.h>

#include "delaycc.h"

/* ---- addresses ------------------------------------------------------------ */

/**
 * delaycc_peer() - the address of a socket's peer
 * @sk: a connected socket
 * @address: 16 bytes, zeroed; IPv4 takes the first four
 *
 * Return: AF_INET, also for a mapped address, or AF_INET6.
 */
u8 delaycc_peer(const struct sock *sk, u8 *address)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		memcpy(address, &sk->sk_v6_daddr, sizeof(sk->sk_v6_daddr));
		return AF_INET6;
	}
#endif
	memcpy(address, &sk->sk_daddr, sizeof(sk->sk_daddr));
	return AF_INET;
}

/**
 * delaycc_parse_address() - an address as delaycc_peer() has it
 * @text: the address and nothing else
 * @address: 16 bytes, zeroed
 *
 * Return: AF_INET, AF_INET6, or 0: none that a peer can have.  One with a mapped
 * address is an IPv4 peer.
 */
u8 delaycc_parse_address(const char *text, u8 *address)
{
	const char *end;

	if (in4_pton(text, -1, address, -1, &end) && !*end)
		return AF_INET;
	if (!in6_pton(text, -1, address, -1, &end) || *end ||
	    ipv6_addr_v4mapped((const struct in6_addr *)address))
		return 0;
	return AF_INET6;
}

/* ---- lines ---------------------------------------------------------------- */

/**
 * delaycc_lines_next() - the next line that has words
 * @text: what is left; moved behind the line
 *
 * Return: the line without the space around it, or NULL: there is none.
 */
char *delaycc_lines_next(char **text)
{
	char *line;

	while ((line = strsep(text, ",\n"))) {
		line = strim(line);
		if (*line)
			return line;
	}
	return NULL;
}

/**
 * delaycc_lines_word() - the next word of a line
 * @line: what is left; moved behind the word, NULL behind the last one
 *
 * Return: the word, or NULL: there is none.
 */
char *delaycc_lines_word(char **line)
{
	char *word;

	do
		word = strsep(line, " \t");
	while (word && !*word);
	return word;
}

/**
 * delaycc_lines_number() - the next word of a line as a decimal number
 * @line: as for delaycc_lines_word()
 * @least: the least that is allowed
 * @most: the greatest
 * @number: where it goes
 *
 * Return: false if there is none, or another one.
 */
bool delaycc_lines_number(char **line, u32 least, u32 most, u32 *number)
{
	const char *word = delaycc_lines_word(line);

	return word && !kstrtou32(word, 10, number) && *number >= least &&
	       *number <= most;
}

/* ---- the file ------------------------------------------------------------- */

static int delaycc_lines_write(struct delaycc_lines *lines, char *text,
			       size_t size, loff_t *ppos)
{
	size_t length = strnlen(text, size);
	unsigned int n = 1;
	const char *at;
	int err;

	/* As with other sysctls, an empty write changes nothing. */
	if (!size)
		return 0;
	/* Some writers also write the string's end. */
	if (memchr_inv(text + length, 0, size - length))
		return -EINVAL;
	for (at = strpbrk(text, ",\n"); at; at = strpbrk(at + 1, ",\n"))
		if (++n > 2 * lines->most)
			return -E2BIG;
	err = lines->write(lines, text, n, *ppos > 0);
	if (!err)
		*ppos += size;
	return err;
}

static int delaycc_proc_lines(const struct ctl_table *table, int write,
			      void *buffer, size_t *lenp, loff_t *ppos)
{
	struct delaycc_lines *lines = table->data;
	size_t size;
	char *text;

	if (write)
		return delaycc_lines_write(lines, buffer, *lenp, ppos);

	text = lines->read(lines, &size);
	if (!text)
		return -ENOMEM;
	*lenp = memory_read_from_buffer(buffer, *lenp, ppos, text, size);
	kvfree(text);
	return 0;
}

DELAYCC_DEFINE_MUTABLE_HANDLER(delaycc_proc_lines)

/**
 * delaycc_lines_register() - give a namespace the file
 * @net: the namespace
 * @lines: with all but the header set
 * @name: in net/ipv4/delaycc
 *
 * Return: 0, or -ENOMEM.
 */
int delaycc_lines_register(struct net *net, struct delaycc_lines *lines,
			   const char *name)
{
	struct ctl_table *table = kcalloc(2, sizeof(*table), GFP_KERNEL_ACCOUNT);

	if (!table)
		return -ENOMEM;
	table->procname = name;
	table->data = lines;
	table->mode = lines->write ? 0644 : 0444;
	table->proc_handler = DELAYCC_PROC_HANDLER(delaycc_proc_lines);
	lines->header = delaycc_table_register(net, "net/ipv4/delaycc", table, 1);
	return lines->header ? 0 : -ENOMEM;
}

/**
 * delaycc_lines_unregister() - take a namespace's file away
 * @lines: as given to delaycc_lines_register()
 *
 * Waits for readers and writers of the file.
 */
void delaycc_lines_unregister(struct delaycc_lines *lines)
{
	delaycc_table_unregister(lines->header);
}
