/* Selection by cgroup: every new connection of the cgroup gets the congestion control. */
#include "sockops.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set by the loader. */
const volatile struct name control = {};

/* Connections that got it, and those that could not. */
u64 selected = 0;
u64 refused = 0;

SEC("sockops")
int select_control(struct bpf_sock_ops *ctx)
{
	struct name name;

	if (!begins(ctx))
		return 1;
	name = loaded_name(&control);
	if (set_control(ctx, &name))
		__sync_fetch_and_add(&refused, 1);
	else
		__sync_fetch_and_add(&selected, 1);
	return 1;
}
