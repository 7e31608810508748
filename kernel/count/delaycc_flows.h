/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of active flows: how many flows got data within the last active_us.
 *
 * Time is cut into parts of an eighth of active_us.  Each part has the number of
 * flows whose newest data came in it.  A flow that gets data moves from its old
 * part to the newest one; the flows that are still in a part when it becomes too
 * old are idle, and are forgotten with it.  A packet thus costs a look at one set
 * of the table, mostly without a lock, idle flows cost nothing, and there is no
 * timer.
 *
 * A table never grows.  Its owner copies it into a larger one when it is crowded;
 * until then a flow that finds its set full is not counted.
 *
 * delaycc_count.c is the only user.  tests/unit/flows_table_test.cc compiles this
 * file in user space and runs it in many threads, under ThreadSanitizer.
 */
#ifndef DELAYCC_FLOWS_H
#define DELAYCC_FLOWS_H

/* active_us in so many parts; N is up to one part late to fall. */
#define FLOWS_PARTS 8
/* A power of two above FLOWS_PARTS: a part has expired before its place is used again. */
#define FLOWS_RING 16

/*
 * Up to a quarter of its slots in use, less than one flow in a thousand finds
 * its set full.  From 512 slots in 8 KB, for 128 flows, to 16384 in 256 KB, for
 * 4096.
 */
#define FLOWS_WAYS 8
#define FLOWS_SETS_LOG_MIN 6
#define FLOWS_SETS_LOG_MAX 11
/* Each larger table has four times as many sets. */
#define FLOWS_GROWTH_LOG 2

/* One flow that was active lately. */
struct flows_slot {
	const void *flow; /* only ever compared */
	u32 progress;	  /* changes with all data that arrives in the window */
	u32 part;	  /* in which its newest data came */
};

struct flows_table {
	spinlock_t lock; /* for all but a slot's progress */
	u32 part;	 /* the newest one */
	u32 active_us;	 /* that the parts are made for */
	u32 flows;	 /* N: the sum of in_part[] */
	u64 until_ns;	 /* the newest part's end */
	u32 sets_log;
	u32 crowded;	 /* above so many flows a larger table is better */
	bool moved;	 /* another table has taken over */
	struct flows_slot (*set)[FLOWS_WAYS];
	u32 in_part[FLOWS_RING];
};

static inline size_t flows_sets_bytes(u32 sets_log)
{
	return sizeof(struct flows_slot) * FLOWS_WAYS << sets_log;
}

/* t and set, of flows_sets_bytes(sets_log), are zeroed. */
static inline void flows_init(struct flows_table *t,
			      struct flows_slot (*set)[FLOWS_WAYS],
			      u32 sets_log)
{
	spin_lock_init(&t->lock);
	t->set = set;
	t->sets_log = sets_log;
	t->crowded = sets_log < FLOWS_SETS_LOG_MAX ?
		FLOWS_WAYS / 4U << sets_log : U32_MAX;
}

/* Makes the part of now_ns the newest one. */
static inline void flows_advance(struct flows_table *t, u64 now_ns,
				 u32 active_us)
{
	u32 part_ns;
	u64 parts;

	lockdep_assert_held(&t->lock);
	if (t->active_us != active_us) {
		/* The old counts are in parts of another length. */
		WRITE_ONCE(t->active_us, active_us);
		memset(t->in_part, 0, sizeof(t->in_part));
		WRITE_ONCE(t->flows, 0);
		WRITE_ONCE(t->part, t->part + FLOWS_RING);
		WRITE_ONCE(t->until_ns, now_ns);
	}
	if (now_ns < t->until_ns)
		return;

	part_ns = active_us * (NSEC_PER_USEC / FLOWS_PARTS);
	parts = div_u64(now_ns - t->until_ns, part_ns) + 1;
	if (parts > FLOWS_PARTS) {
		memset(t->in_part, 0, sizeof(t->in_part));
		WRITE_ONCE(t->flows, 0);
		WRITE_ONCE(t->part, t->part + (u32)parts);
	} else {
		u32 n;

		for (n = parts; n; n--) {
			u32 *oldest = &t->in_part[(t->part - FLOWS_PARTS) %
						  FLOWS_RING];

			WRITE_ONCE(t->flows, t->flows - *oldest);
			*oldest = 0;
			WRITE_ONCE(t->part, t->part + 1);
		}
	}
	WRITE_ONCE(t->until_ns, t->until_ns + parts * part_ns);
}

/* Under the lock, as all functions below that do not say otherwise. */
static inline bool flows_slot_lives(const struct flows_table *t,
				    const struct flows_slot *slot)
{
	return slot->flow && t->part - slot->part <= FLOWS_PARTS;
}

static inline void flows_take_out(struct flows_table *t,
				  struct flows_slot *slot)
{
	u32 *in_part = &t->in_part[slot->part % FLOWS_RING];

	/* A slot that was not used for 2^32 parts may look alive. */
	if (flows_slot_lives(t, slot) && *in_part) {
		--*in_part;
		WRITE_ONCE(t->flows, t->flows - 1);
	}
}

/* Needs no lock. */
static inline struct flows_slot *flows_find(struct flows_table *t,
					    const void *flow)
{
	struct flows_slot *set = t->set[hash_ptr(flow, t->sets_log)];
	unsigned int i;

	for (i = 0; i < FLOWS_WAYS; i++)
		if (READ_ONCE(set[i].flow) == flow)
			return &set[i];
	return NULL;
}

/* A slot for a flow that has none; NULL: its set is full. */
static inline struct flows_slot *flows_claim(struct flows_table *t,
					     const void *flow)
{
	struct flows_slot *set = t->set[hash_ptr(flow, t->sets_log)];
	unsigned int i;

	for (i = 0; i < FLOWS_WAYS; i++) {
		if (flows_slot_lives(t, &set[i]))
			continue;
		WRITE_ONCE(set[i].flow, flow);
		/* Not alive yet. */
		WRITE_ONCE(set[i].part, t->part - FLOWS_RING);
		return &set[i];
	}
	return NULL;
}

/*
 * A flow that has got data lately sends.  Returns N, itself included, or 0 if it
 * has got nothing for longer than active_us.  Needs no lock; the caller keeps
 * each flow to one processor at a time.
 */
static inline u32 flows_note(struct flows_table *t, const void *flow,
			     u32 progress, u64 now_ns, u32 active_us)
{
	struct flows_slot *slot = flows_find(t, flow);
	u32 flows = 0;

	if (likely(slot && now_ns < READ_ONCE(t->until_ns) &&
		   READ_ONCE(slot->part) == READ_ONCE(t->part) &&
		   READ_ONCE(t->active_us) == active_us)) {
		/*
		 * If this processor is delayed here until the slot belongs to
		 * another flow, that flow stays active for one part longer.  No
		 * sum depends on a slot's progress.
		 */
		WRITE_ONCE(slot->progress, progress);
		return READ_ONCE(t->flows);
	}

	spin_lock_bh(&t->lock);
	if (unlikely(t->moved)) {
		/* The flow's next packet finds the new table. */
		flows = t->flows;
		goto unlock;
	}
	flows_advance(t, now_ns, active_us);
	slot = flows_find(t, flow);
	if (!slot) {
		slot = flows_claim(t, flow);
		if (slot)
			WRITE_ONCE(slot->progress, ~progress);
	}
	/* Only the flow's owner writes progress, but for the case above. */
	if (slot && READ_ONCE(slot->progress) != progress) {
		flows_take_out(t, slot);
		WRITE_ONCE(slot->part, t->part);
		WRITE_ONCE(slot->progress, progress);
		t->in_part[t->part % FLOWS_RING]++;
		WRITE_ONCE(t->flows, t->flows + 1);
	}
	if (!slot || flows_slot_lives(t, slot))
		flows = max(t->flows, 1U);
unlock:
	spin_unlock_bh(&t->lock);
	return flows;
}

/* A flow that will get no more data.  Needs no lock. */
static inline void flows_forget(struct flows_table *t, const void *flow)
{
	struct flows_slot *slot;

	if (!flows_find(t, flow))
		return;
	spin_lock_bh(&t->lock);
	slot = flows_find(t, flow);
	if (slot) {
		flows_take_out(t, slot);
		WRITE_ONCE(slot->flow, NULL);
	}
	spin_unlock_bh(&t->lock);
}

/* N.  Needs no lock. */
static inline u32 flows_now(struct flows_table *t, u64 now_ns, u32 active_us)
{
	u32 flows;

	spin_lock_bh(&t->lock);
	if (!t->moved)
		flows_advance(t, now_ns, active_us);
	flows = t->flows;
	spin_unlock_bh(&t->lock);
	return flows;
}

/*
 * Copies a table into a larger one, which is not published yet, and publishes it.
 * No flow is lost, as one set's flows spread over several.  Needs no lock.
 */
static inline void flows_move(struct flows_table *to, struct flows_table *from,
			      struct flows_table __rcu **published)
{
	u32 set, i;

	spin_lock_bh(&from->lock);
	to->part = from->part;
	to->active_us = from->active_us;
	to->until_ns = from->until_ns;
	to->flows = from->flows;
	memcpy(to->in_part, from->in_part, sizeof(to->in_part));
	for (set = 0; set < 1U << from->sets_log; set++) {
		for (i = 0; i < FLOWS_WAYS; i++) {
			const struct flows_slot *old = &from->set[set][i];
			struct flows_slot *slot;

			if (!flows_slot_lives(from, old))
				continue;
			slot = flows_claim(to, old->flow);
			if (WARN_ON_ONCE(!slot))
				continue;
			slot->part = old->part;
			slot->progress = READ_ONCE(old->progress);
		}
	}
	from->moved = true;
	rcu_assign_pointer(*published, to);
	spin_unlock_bh(&from->lock);
}

#endif /* DELAYCC_FLOWS_H */
