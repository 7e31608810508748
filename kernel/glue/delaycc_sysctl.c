// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of integer parameters, one per network namespace.
 *
 * The values of a namespace are allocated with it, so the kernel lets the
 * namespace's owner write them; a table that pointed to the module's own data
 * would be made read-only outside the initial namespace.
 */
#include <linux/slab.h>
#include <linux/sysctl.h>

#include "delaycc.h"

static int delaycc_proc_param(const struct ctl_table *table, int write,
			      void *buffer, size_t *lenp, loff_t *ppos)
{
	const struct delaycc_param *param = table->extra1;
	struct delaycc_values *values = table->extra2;
	int *data = table->data;
	int min = param->zero_ok ? 0 : param->min;
	int max = param->max;
	int value = READ_ONCE(*data);
	struct ctl_table parse = {
		.procname = table->procname,
		.data = &value,
		.maxlen = sizeof(value),
		.mode = table->mode,
		.extra1 = &min,
		.extra2 = &max,
	};
	int err;

	err = proc_dointvec_minmax(&parse, write, buffer, lenp, ppos);
	if (err || !write)
		return err;
	/* Between the 0 of "automatic" and the range there is a gap. */
	if (value && value < param->min)
		return -EINVAL;

	WRITE_ONCE(*data, value);
	atomic_inc_return_release(&values->generation);
	if (values->changed)
		values->changed(values);
	return 0;
}

DELAYCC_DEFINE_MUTABLE_HANDLER(delaycc_proc_param)

/**
 * delaycc_table_register() - give a namespace a table of sysctls
 * @net: the namespace
 * @path: where
 * @table: n entries and an empty one, from kcalloc(); freed on failure, else by
 *	   delaycc_table_unregister()
 * @n: how many
 *
 * Return: what to unregister, or NULL: no memory.
 */
struct ctl_table_header *delaycc_table_register(struct net *net, const char *path,
						struct ctl_table *table, size_t n)
{
	struct ctl_table_header *header =
		delaycc_register_net_sysctl(net, path, table, n);

	if (!header)
		kfree(table);
	return header;
}

/**
 * delaycc_table_unregister() - take a namespace's table away
 * @header: from delaycc_table_register()
 *
 * Waits for readers and writers that are in the table.
 */
void delaycc_table_unregister(struct ctl_table_header *header)
{
	const struct ctl_table *table = header->ctl_table_arg;

	unregister_net_sysctl_table(header);
	kfree(table);
}

/**
 * delaycc_sysctl_register() - give a namespace a table of parameters
 * @net: the namespace
 * @path: where, such as "net/ipv4/delaycc/oscar"
 * @param: name, default and range of each
 * @n: how many, 1..DELAYCC_PARAM_MAX
 * @defaults: struct that the offsets are for, or NULL: @param has the defaults
 * @values: set to the defaults; must outlive the table
 *
 * Return: 0, or -ENOMEM.
 */
int delaycc_sysctl_register(struct net *net, const char *path,
			    const struct delaycc_param *param, unsigned int n,
			    const void *defaults, struct delaycc_values *values)
{
	struct ctl_table *table;
	unsigned int i;

	if (WARN_ON_ONCE(!n || n > DELAYCC_PARAM_MAX))
		return -EINVAL;
	table = kcalloc(n + 1, sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return -ENOMEM;

	atomic_set(&values->generation, 1);
	for (i = 0; i < n; i++) {
		values->value[i] = defaults ?
			*(const u32 *)(defaults + param[i].offset) :
			param[i].def;
		table[i].procname = param[i].name;
		table[i].data = &values->value[i];
		table[i].maxlen = sizeof(values->value[i]);
		table[i].mode = 0644;
		table[i].proc_handler =
			DELAYCC_PROC_HANDLER(delaycc_proc_param);
		table[i].extra1 = (void *)&param[i];
		table[i].extra2 = values;
	}
	values->header = delaycc_table_register(net, path, table, n);
	return values->header ? 0 : -ENOMEM;
}
EXPORT_SYMBOL_GPL(delaycc_sysctl_register);

/**
 * delaycc_sysctl_unregister() - take a namespace's table away
 * @values: as given to delaycc_sysctl_register()
 *
 * Waits for readers and writers that are in the table.
 */
void delaycc_sysctl_unregister(struct delaycc_values *values)
{
	delaycc_table_unregister(values->header);
	values->header = NULL;
}
EXPORT_SYMBOL_GPL(delaycc_sysctl_unregister);

/**
 * delaycc_read_params() - a namespace's values as an algorithm wants them
 * @values: of the namespace
 * @param: the table that they were registered with
 * @n: its length
 * @params: the struct that the offsets are for
 */
void delaycc_read_params(const struct delaycc_values *values,
			 const struct delaycc_param *param, unsigned int n,
			 void *params)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		*(u32 *)(params + param[i].offset) = delaycc_value(values, i);
}
EXPORT_SYMBOL_GPL(delaycc_read_params);
