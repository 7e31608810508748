/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What delaycc_count.ko offers to algorithms that want the receiver's count of
 * flows.  docs/operate/flow-count.md says what that is.
 *
 * All three need the socket lock, which TCP holds around init(), cong_control()
 * and release().
 */
#ifndef DELAYCC_COUNT_H
#define DELAYCC_COUNT_H

#include <net/sock.h>

/* What the receiver has reported about one socket. */
struct delaycc_report;

struct delaycc_report *delaycc_count_open(struct sock *sk);
void delaycc_count_close(struct delaycc_report *report);
u32 delaycc_count_flows(const struct sock *sk, const struct delaycc_report *report);

#endif /* DELAYCC_COUNT_H */
