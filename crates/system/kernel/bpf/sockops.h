/* Shared by the programs of a cgroup's sockets: selection of a congestion control for new connections. */
#ifndef FANIN_SOCKOPS_H
#define FANIN_SOCKOPS_H

#include "kernel.h"

#define PROTOCOL_TCP 6
#define TCP_CONGESTION 13
#define NAME_BYTES 16

struct name {
	char bytes[NAME_BYTES];
};

/* A constant that the loader sets: the compiler must not take its value in the source for granted. */
static inline struct name loaded_name(const volatile struct name *constant)
{
	const void *place = (const void *)constant;

	asm volatile("" : "+r"(place));
	return *(const struct name *)place;
}

static inline long get_control(struct bpf_sock_ops *ctx, struct name *name)
{
	return bpf_getsockopt(ctx, PROTOCOL_TCP, TCP_CONGESTION, name->bytes, NAME_BYTES);
}

static inline long set_control(struct bpf_sock_ops *ctx, const struct name *name)
{
	struct name copy = *name;

	return bpf_setsockopt(ctx, PROTOCOL_TCP, TCP_CONGESTION, copy.bytes, NAME_BYTES);
}

/* A new connection, before its first data; an active one even before its SYN, which asks for ECN. */
static inline bool begins(const struct bpf_sock_ops *ctx)
{
	return ctx->op == BPF_SOCK_OPS_TCP_CONNECT_CB || ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB;
}

#endif
