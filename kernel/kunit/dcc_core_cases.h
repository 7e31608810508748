/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every core owes the code around it, whatever its law: defines the suite
 * CORE_SUITE_suite for the core CORE (such as dcc_oscar), whose header has been
 * included before.  CORE_SETUP(params) may change the default parameters.  All
 * three are undefined at the end, so that the file can be included again.
 *
 * tests/unit/dcc_contract_test.cc has the same contract, and more of it.
 */
#define CORE_JOIN3(a, b, c) a##b##c
#define CORE_JOIN2(a, b, c) CORE_JOIN3(a, b, c)
/* dcc_oscar_init() for CORE_FUNCTION(init), and names of this file's own. */
#define CORE_FUNCTION(name) CORE_JOIN2(CORE, _, name)
#define CORE_OWN(name) CORE_JOIN2(CORE_SUITE, _, name)
#define core_flow CORE_OWN(flow)
/* KUNIT_CASE() would make a name of the macro. */
#define CORE_CASE(function) { .run_case = CORE_OWN(function), .name = #function }

/* One flow under the core. */
struct core_flow {
	struct dcc_path path;
	struct CORE_FUNCTION(params) params;
	struct CORE state;
	struct dcc_control control;
	u64 now_ns;
};

static struct core_flow *CORE_OWN(start)(struct kunit *test)
{
	struct core_flow *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f);
	f->path = kunit_path;
	f->now_ns = NSEC_PER_SEC;
	CORE_FUNCTION(params_default)(&f->params);
	CORE_SETUP(f->params);
	CORE_FUNCTION(init)(&f->state, &f->path, &f->params, &f->control);
	return f;
}

/* An acknowledgment of a packet, or the reply to the probe of a stopped flow. */
static void CORE_OWN(ack)(struct core_flow *f, u32 rtt_ns, u64 after_ns)
{
	u64 window = f->control.cwnd_q16 * f->path.wire_bytes >> DCC_WINDOW_SHIFT;
	struct dcc_ack ack = {
		.rtt_ns = rtt_ns,
		.acked_bytes = f->path.wire_bytes,
		.inflight_bytes = min_t(u64, window, 1U << 30),
	};

	f->now_ns += after_ns;
	ack.now_ns = f->now_ns;
	ack.send_ns = f->now_ns - rtt_ns;
	if (f->control.probe_ns) {
		ack.flags = DCC_ACK_PROBE;
		ack.acked_bytes = 0;
	}
	CORE_FUNCTION(ack)(&f->state, &f->path, &f->params, &ack, &f->control);
}

static void CORE_OWN(acks)(struct core_flow *f, u32 count, u32 rtt_ns,
			   u64 after_ns)
{
	while (count--)
		CORE_OWN(ack)(f, rtt_ns, after_ns);
}

static void CORE_OWN(starts_within_bounds)(struct kunit *test)
{
	struct core_flow *f = CORE_OWN(start)(test);

	KUNIT_EXPECT_TRUE(test, CORE_FUNCTION(params_valid)(&f->params));
	KUNIT_EXPECT_TRUE(test, kunit_in_bounds(&f->control, &f->path));
}

static void CORE_OWN(gives_way_to_a_queue_and_comes_back)(struct kunit *test)
{
	struct core_flow *f = CORE_OWN(start)(test);
	u64 alone, beside;

	CORE_OWN(acks)(f, 20000, KUNIT_BASE_NS, KUNIT_PACKET_NS);
	alone = kunit_packets_q16(&f->control, &f->path);
	CORE_OWN(acks)(f, 20000, 100 * KUNIT_BASE_NS, 40 * KUNIT_PACKET_NS);
	beside = kunit_packets_q16(&f->control, &f->path);
	CORE_OWN(acks)(f, 20000, KUNIT_BASE_NS, KUNIT_BASE_NS);
	KUNIT_EXPECT_GT(test, alone, 10 * DCC_WINDOW_ONE);
	KUNIT_EXPECT_LT(test, beside, alone / 2);
	KUNIT_EXPECT_GT(test, kunit_packets_q16(&f->control, &f->path), beside);
}

static void CORE_OWN(losses_cut_at_most_once_per_rtt)(struct kunit *test)
{
	struct core_flow *f = CORE_OWN(start)(test);
	unsigned int i, cuts = 0;

	CORE_OWN(acks)(f, 5000, 2 * KUNIT_BASE_NS, KUNIT_PACKET_NS);
	for (i = 0; i < 10; i++) {
		const struct dcc_control before = f->control;

		CORE_FUNCTION(loss)(&f->state, &f->path, &f->params, f->now_ns,
				    &f->control);
		f->now_ns += 2 * KUNIT_BASE_NS / 11;
		cuts += !!memcmp(&before, &f->control, sizeof(before));
		KUNIT_EXPECT_LE(test, f->control.cwnd_q16, before.cwnd_q16);
		KUNIT_EXPECT_LE(test, f->control.pacing_bps, before.pacing_bps);
	}
	KUNIT_EXPECT_LE(test, cuts, 1U);
}

static void CORE_OWN(timeouts_leave_two_packets_per_rtt)(struct kunit *test)
{
	struct core_flow *f = CORE_OWN(start)(test);
	unsigned int i;

	CORE_OWN(acks)(f, 5000, 2 * KUNIT_BASE_NS, KUNIT_PACKET_NS);
	for (i = 0; i < 20; i++) {
		f->now_ns += 200 * NSEC_PER_MSEC;
		CORE_FUNCTION(rto)(&f->state, &f->path, &f->params, f->now_ns,
				   &f->control);
		KUNIT_EXPECT_TRUE(test, kunit_in_bounds(&f->control, &f->path));
	}
	KUNIT_EXPECT_LE(test, kunit_packets_q16(&f->control, &f->path),
			DCC_WINDOW_ONE * 201 / 100);
}

/* Also with a zeroed state, as before a socket's init(). */
static void CORE_OWN(no_sample_leads_out_of_bounds)(struct kunit *test)
{
	static const u32 rtts[] = { 0, 1, KUNIT_BASE_NS, U32_MAX };
	struct core_flow *f = CORE_OWN(start)(test);
	unsigned int i;

	memset(&f->state, 0, sizeof(f->state));
	for (i = 0; i < 2000; i++) {
		CORE_OWN(ack)(f, rtts[i % ARRAY_SIZE(rtts)],
			      i % 7 ? KUNIT_PACKET_NS : 5 * NSEC_PER_SEC);
		if (i % 50 == 49)
			CORE_FUNCTION(loss)(&f->state, &f->path, &f->params,
					    f->now_ns, &f->control);
		if (!kunit_in_bounds(&f->control, &f->path))
			break;
	}
	KUNIT_EXPECT_EQ_MSG(test, i, 2000U, "window %llu pace %llu probe %llu",
			    f->control.cwnd_q16, f->control.pacing_bps,
			    f->control.probe_ns);
}

static struct kunit_case CORE_OWN(cases)[] = {
	CORE_CASE(starts_within_bounds),
	CORE_CASE(gives_way_to_a_queue_and_comes_back),
	CORE_CASE(losses_cut_at_most_once_per_rtt),
	CORE_CASE(timeouts_leave_two_packets_per_rtt),
	CORE_CASE(no_sample_leads_out_of_bounds),
	{}
};

static struct kunit_suite CORE_OWN(suite) = {
	.name = "dcc_" __stringify(CORE_SUITE),
	.test_cases = CORE_OWN(cases),
};

#undef CORE
#undef CORE_SUITE
#undef CORE_SETUP
#undef CORE_JOIN3
#undef CORE_JOIN2
#undef CORE_FUNCTION
#undef CORE_OWN
#undef core_flow
#undef CORE_CASE
