/* Cgroups (v2) of sockets. */
#ifndef FANIN_CGROUP_H
#define FANIN_CGROUP_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock___cgroup {
	struct sock_cgroup_data sk_cgrp_data;
};

#pragma clang attribute pop

/* Number of a socket's cgroup; zero in a kernel without them. */
static inline u64 cgroup_number(const struct sock___cgroup *sk)
{
	return bpf_core_field_exists(sk->sk_cgrp_data) ? sk->sk_cgrp_data.cgroup->kn->id : 0;
}

#endif
