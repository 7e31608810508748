// SPDX-License-Identifier: GPL-2.0
/*
 * A module that does what a module must not do, to see that the debug kernels report it.
 * It refuses to stay, so that it can be loaded again with another fault=.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

static char *fault = "";
module_param(fault, charp, 0444);

static noinline void faulty_use_after_free(void)
{
	char *memory = kmalloc(100, GFP_KERNEL);

	if (!memory)
		return;
	kfree(memory);
	WRITE_ONCE(memory[7], 1);
}

static noinline void faulty_leak(void)
{
	char *memory = kmalloc(1234, GFP_KERNEL);

	/* The only pointer to it goes with this function. */
	if (memory)
		WRITE_ONCE(*memory, 1);
}

static DEFINE_SPINLOCK(faulty_a);
static DEFINE_SPINLOCK(faulty_b);

static noinline void faulty_lock_order(void)
{
	spin_lock(&faulty_a);
	spin_lock(&faulty_b);
	spin_unlock(&faulty_b);
	spin_unlock(&faulty_a);
	spin_lock(&faulty_b);
	spin_lock(&faulty_a);
	spin_unlock(&faulty_a);
	spin_unlock(&faulty_b);
}

static noinline void faulty_sleep(void)
{
	spin_lock(&faulty_a);
	might_sleep();
	spin_unlock(&faulty_a);
}

static int __rcu *faulty_pointer;

static noinline void faulty_rcu(void)
{
	READ_ONCE(faulty_pointer);
	rcu_dereference(faulty_pointer);
}

static void faulty_expired(struct timer_list *timer)
{
}

static noinline void faulty_timer(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, faulty_expired, 0);
	mod_timer(timer, jiffies + 1000 * HZ);
	kfree(timer);
}

static long faulty_shared;

static int faulty_racer(void *unused)
{
	while (!kthread_should_stop()) {
		faulty_shared++;
		barrier();
		cond_resched();
	}
	return 0;
}

static noinline void faulty_race(void)
{
	struct task_struct *other = kthread_run(faulty_racer, NULL, "faulty");
	unsigned long end = jiffies + 3 * HZ;

	while (time_before(jiffies, end)) {
		faulty_shared++;
		barrier();
		cond_resched();
	}
	if (!IS_ERR(other))
		kthread_stop(other);
}

static int __init faulty_init(void)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} faults[] = {
		{ "use_after_free", faulty_use_after_free },
		{ "leak", faulty_leak },
		{ "lock_order", faulty_lock_order },
		{ "sleep", faulty_sleep },
		{ "rcu", faulty_rcu },
		{ "timer", faulty_timer },
		{ "race", faulty_race },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(faults[i].name, fault))
			continue;
		faults[i].function();
		return -ECANCELED;
	}
	return -EINVAL;
}
module_init(faulty_init);

MODULE_DESCRIPTION("Faults for the debug kernels to report");
MODULE_LICENSE("GPL");
