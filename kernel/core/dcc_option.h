/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A receiver's count of flows, as a TCP option of its pure acknowledgments.
 *
 *     0               1               2               3
 *     0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 *    +---------------+---------------+-------------------------------+
 *    |   Kind = 254  |  Length = 8   |         ExID = 0xDCC0         |
 *    +---------------+---------------+-------------------------------+
 *    |  Version = 0  |              N, flows (24 bits)               |
 *    +---------------+-----------------------------------------------+
 *
 * Kind 254 is the experiments' (RFC 4727); ExID, in network byte order, keeps
 * them apart (RFC 6994).  N is in network byte order too; more flows than it
 * can hold are its largest value, and 0 says nothing, as if the option were not
 * there.  Eight bytes, so that a header that was a multiple of four stays one
 * without padding.
 *
 * A reader believes all or nothing: an option area with a length that does not
 * fit, or with this option twice, says nothing.  A version or a length that it
 * does not know is not for it.  A writer leaves alone what it would break:
 * signed headers, an ended list, a full one.
 *
 * The caller gives the area behind the fixed 20 bytes of the header; nothing
 * behind `len` is read.  All loops are bounded by the area's 40 bytes.
 */
#ifndef DCC_OPTION_H
#define DCC_OPTION_H

#include "dcc_types.h"

#define DCC_OPTION_KIND 254U
#define DCC_OPTION_EXID 0xdcc0U
#define DCC_OPTION_BYTES 8U
#define DCC_OPTION_VERSION 0U
#define DCC_OPTION_FLOWS_MAX 0xffffffU

/* The most that a TCP header has room for. */
#define DCC_OPTION_SPACE 40U

/* What a look at an option area finds. */
#define DCC_OPTION_MALFORMED 0x1U /* a length that does not fit, or too long an area */
#define DCC_OPTION_ENDED 0x2U	  /* a kind 0; nobody reads what follows */
#define DCC_OPTION_SIGNED 0x4U	  /* MD5 (RFC 2385) or TCP-AO (RFC 5925) */
#define DCC_OPTION_OURS 0x8U	  /* this ExID, of any version */
#define DCC_OPTION_TWICE 0x10U	  /* and once more */

/* Sets *flows to N, 0 if there is none of a known form; returns DCC_OPTION_*. */
static inline u32 dcc_option_scan(const u8 *options, u32 len, u32 *flows)
{
	u32 found = 0;
	u32 at = 0;
	u32 i;

	*flows = 0;
	if (len > DCC_OPTION_SPACE)
		return DCC_OPTION_MALFORMED;
	for (i = 0; i < DCC_OPTION_SPACE; i++) {
		u32 kind, size;

		if (at >= len || at >= DCC_OPTION_SPACE)
			break;
		kind = options[at];
		if (kind == 0) {
			found |= DCC_OPTION_ENDED;
			break;
		}
		if (kind == 1) {
			at++;
			continue;
		}
		if (at + 1 >= len || at + 1 >= DCC_OPTION_SPACE)
			return found | DCC_OPTION_MALFORMED;
		size = options[at + 1];
		if (size < 2 || size > len - at)
			return found | DCC_OPTION_MALFORMED;
		if (kind == 19 || kind == 29)
			found |= DCC_OPTION_SIGNED;
		if (kind == DCC_OPTION_KIND && size >= 4 &&
		    at + 4 <= DCC_OPTION_SPACE &&
		    options[at + 2] == DCC_OPTION_EXID >> 8 &&
		    options[at + 3] == (DCC_OPTION_EXID & 0xff)) {
			if (found & DCC_OPTION_OURS)
				found |= DCC_OPTION_TWICE;
			found |= DCC_OPTION_OURS;
			if (size == DCC_OPTION_BYTES &&
			    at + DCC_OPTION_BYTES <= DCC_OPTION_SPACE &&
			    options[at + 4] == DCC_OPTION_VERSION)
				*flows = (u32)options[at + 5] << 16 |
					 (u32)options[at + 6] << 8 |
					 options[at + 7];
		}
		at += size;
	}
	return found;
}

/* N, or 0: nothing that is to be believed. */
static inline u32 dcc_option_flows(const u8 *options, u32 len)
{
	u32 flows;
	u32 found = dcc_option_scan(options, len, &flows);

	return found & (DCC_OPTION_MALFORMED | DCC_OPTION_TWICE) ? 0 : flows;
}

/* Whether the option may be put behind these. */
static inline bool dcc_option_fits(const u8 *options, u32 len)
{
	u32 flows;

	return len <= DCC_OPTION_SPACE - DCC_OPTION_BYTES &&
	       dcc_option_scan(options, len, &flows) == 0;
}

/* Writes DCC_OPTION_BYTES. */
static inline void dcc_option_write(u8 *at, u32 flows)
{
	if (flows > DCC_OPTION_FLOWS_MAX)
		flows = DCC_OPTION_FLOWS_MAX;
	at[0] = DCC_OPTION_KIND;
	at[1] = DCC_OPTION_BYTES;
	at[2] = DCC_OPTION_EXID >> 8;
	at[3] = DCC_OPTION_EXID & 0xff;
	at[4] = DCC_OPTION_VERSION;
	at[5] = (u8)(flows >> 16);
	at[6] = (u8)(flows >> 8);
	at[7] = (u8)flows;
}

#endif /* DCC_OPTION_H */
