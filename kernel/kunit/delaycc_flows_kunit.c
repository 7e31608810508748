// SPDX-License-Identifier: GPL-2.0
/*
 * The table of active flows.  tests/unit/flows_table_test.cc has the same in
 * user space, also with many threads.
 */
#include <kunit/test.h>
#include <linux/hash.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/time64.h>

#include "count/delaycc_flows.h"

#define ACTIVE_US 8000U
#define PART_NS (ACTIVE_US * NSEC_PER_USEC / FLOWS_PARTS)

static struct flows_table *table_of(struct kunit *test, u32 sets_log)
{
	struct flows_table *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	void *sets = kunit_kzalloc(test, flows_sets_bytes(sets_log), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sets);
	flows_init(t, sets, sets_log);
	return t;
}

/* An address as a slab gives it; the table only compares. */
static const void *flow(unsigned long i)
{
	return (const void *)(PAGE_OFFSET + i * 2368);
}

static u32 sum_of_parts(const struct flows_table *t)
{
	u32 i, sum = 0;

	for (i = 0; i < FLOWS_RING; i++)
		sum += t->in_part[i];
	return sum;
}

static void counts_a_flow_once_however_often_it_sends(struct kunit *test)
{
	struct flows_table *t = table_of(test, FLOWS_SETS_LOG_MIN);
	u32 progress;

	for (progress = 1; progress <= 100; progress++)
		KUNIT_EXPECT_EQ(test, flows_note(t, flow(1), progress,
						 progress * 1000, ACTIVE_US), 1U);
	KUNIT_EXPECT_EQ(test, flows_note(t, flow(2), 1, 200000, ACTIVE_US), 2U);
}

static void forgets_who_gets_nothing_more(struct kunit *test)
{
	struct flows_table *t = table_of(test, FLOWS_SETS_LOG_MIN);
	u64 active_ns = (u64)ACTIVE_US * NSEC_PER_USEC;

	flows_note(t, flow(1), 5, PART_NS / 2, ACTIVE_US);
	KUNIT_EXPECT_EQ(test, flows_now(t, PART_NS / 2 + active_ns, ACTIVE_US), 1U);
	KUNIT_EXPECT_EQ(test, flows_now(t, PART_NS * 3 / 2 + active_ns, ACTIVE_US), 0U);
	/* What it sends without new data does not bring it back. */
	KUNIT_EXPECT_EQ(test, flows_note(t, flow(1), 5, PART_NS * 20, ACTIVE_US), 0U);
}

static void forgets_at_once_who_has_ended(struct kunit *test)
{
	struct flows_table *t = table_of(test, FLOWS_SETS_LOG_MIN);

	flows_note(t, flow(1), 1, 1000, ACTIVE_US);
	flows_note(t, flow(2), 1, 1000, ACTIVE_US);
	flows_forget(t, flow(1));
	flows_forget(t, flow(3));
	KUNIT_EXPECT_EQ(test, flows_now(t, 2000, ACTIVE_US), 1U);
}

static void keeps_every_flow_in_a_larger_table(struct kunit *test)
{
	struct flows_table *small = table_of(test, FLOWS_SETS_LOG_MIN);
	struct flows_table *large =
		table_of(test, FLOWS_SETS_LOG_MIN + FLOWS_GROWTH_LOG);
	struct flows_table __rcu *published = RCU_INITIALIZER(small);
	u32 i, flows;

	for (i = 0; small->flows <= small->crowded && i < 1000; i++)
		flows_note(small, flow(i), 1, 1000, ACTIVE_US);
	flows = small->flows;
	KUNIT_EXPECT_GT(test, flows, small->crowded);
	flows_move(large, small, &published);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(published), large);
	KUNIT_EXPECT_EQ(test, large->flows, flows);
	KUNIT_EXPECT_EQ(test, sum_of_parts(large), flows);
	for (i = 0; i < flows; i++)
		KUNIT_EXPECT_NOT_NULL(test, flows_find(large, flow(i)));
	/* Who still has the old table changes nothing. */
	flows_note(small, flow(i + 1), 1, 1000, ACTIVE_US);
	KUNIT_EXPECT_EQ(test, large->flows, flows);
}

static struct kunit_case flows_cases[] = {
	KUNIT_CASE(counts_a_flow_once_however_often_it_sends),
	KUNIT_CASE(forgets_who_gets_nothing_more),
	KUNIT_CASE(forgets_at_once_who_has_ended),
	KUNIT_CASE(keeps_every_flow_in_a_larger_table),
	{}
};

static struct kunit_suite flows_suite = {
	.name = "delaycc_flows",
	.test_cases = flows_cases,
};

kunit_test_suite(flows_suite);
