// SPDX-License-Identifier: GPL-2.0
/*
 * The cores' arithmetic and the TCP option, by the same vectors as the unit
 * tests in user space.
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/module.h>

#include "core/dcc_math.h"
#include "core/dcc_option.h"
#include "kunit/dcc_vectors.h"

static void muldiv_is_exact_or_saturates(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(dcc_muldiv_vectors); i++) {
		const struct dcc_muldiv_vector *v = &dcc_muldiv_vectors[i];

		KUNIT_EXPECT_EQ_MSG(test, dcc_muldiv_u64(v->a, v->b, v->d),
				    v->result, "%llu * %llu / %llu", v->a, v->b,
				    v->d);
	}
}

static void option_says_all_or_nothing(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(dcc_option_vectors); i++) {
		const struct dcc_option_vector *v = &dcc_option_vectors[i];
		/* An exact allocation, so that KASAN sees a read behind it. */
		u8 *area = kunit_kzalloc(test, v->len, GFP_KERNEL);

		memcpy(area, v->area, v->len);
		KUNIT_EXPECT_EQ_MSG(test, dcc_option_flows(area, v->len),
				    v->flows, "option vector %u", i);
	}
}

static void option_is_read_as_written(struct kunit *test)
{
	static const u32 numbers[] = { 1, 255, 65536, DCC_OPTION_FLOWS_MAX };
	u8 area[DCC_OPTION_BYTES];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		dcc_option_write(area, numbers[i]);
		KUNIT_EXPECT_EQ(test, dcc_option_flows(area, sizeof(area)),
				numbers[i]);
	}
	dcc_option_write(area, U32_MAX);
	KUNIT_EXPECT_EQ(test, dcc_option_flows(area, sizeof(area)),
			DCC_OPTION_FLOWS_MAX);
}

static struct kunit_case arithmetic_cases[] = {
	KUNIT_CASE(muldiv_is_exact_or_saturates),
	KUNIT_CASE(option_says_all_or_nothing),
	KUNIT_CASE(option_is_read_as_written),
	{}
};

static struct kunit_suite arithmetic_suite = {
	.name = "delaycc_arithmetic",
	.test_cases = arithmetic_cases,
};

kunit_test_suite(arithmetic_suite);

MODULE_DESCRIPTION("KUnit tests of delaycc");
MODULE_LICENSE("GPL");
