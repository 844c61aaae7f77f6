/* A trial: a share of a cgroup's new connections gets the congestion control, and both parts are measured alike. */
#include "sockops.h"
#include "histogram.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define ESTABLISHED 1

/* Set by the loader: the congestion control, and the share of connections that get it, in 1/2^32. */
const volatile struct {
	struct name control;
	u32 share_q32;
} settings = {};

/* The loader sets it to end the trial: each connection then returns to its own control with its next packet. */
volatile u32 is_over = 0;

struct totals {
	u64 connections;
	u64 refused;
	u64 returned;
	u64 segments;
	u64 retransmits;
	u64 timeouts;
	u64 transfers;
	u64 transfers_repeated;
	u64 transfers_timed_out;
	u64 transfer_us;
	u64 rtts;
	u64 rtt_us;
	u64 rtt_buckets[BUCKETS];
	u64 transfer_buckets[BUCKETS];
};

/* Two parts: untouched connections, and those that got the control. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct totals);
} parts SEC(".maps");

struct connection {
	struct name before;
	u64 began_ns;
	u32 segments;
	u8 is_treated;
	/* Of the present transfer. */
	u8 has_repeated;
	u8 has_timed_out;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

static inline struct totals *part_of(const struct connection *connection)
{
	u32 place = connection->is_treated ? 1 : 0;

	return bpf_map_lookup_elem(&parts, &place);
}

static inline void start(struct bpf_sock_ops *ctx)
{
	struct connection *connection;
	struct bpf_sock *sk = ctx->sk;
	struct totals *totals;
	struct name name;

	if (is_over || !sk)
		return;
	connection = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!connection)
		return;
	name = loaded_name(&settings.control);
	get_control(ctx, &connection->before);
	connection->is_treated = bpf_get_prandom_u32() < settings.share_q32;
	totals = part_of(connection);
	if (!totals)
		return;
	if (connection->is_treated && set_control(ctx, &name)) {
		add(&totals->refused, 1);
		bpf_sk_storage_delete(&connections, sk);
		return;
	}
	add(&totals->connections, 1);
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RTO_CB_FLAG | BPF_SOCK_OPS_RETRANS_CB_FLAG |
					       BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG |
					       BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

static inline void count_segments(struct bpf_sock_ops *ctx, struct connection *connection, struct totals *totals)
{
	u32 segments = ctx->data_segs_out;

	add(&totals->segments, segments - connection->segments);
	connection->segments = segments;
}

/* A transfer lasts from the first byte after a pause until everything written is acknowledged: on an acknowledgement with a round trip, or
 * when the connection's state changes, since the last one may have none. */
static inline void finish(struct bpf_sock_ops *ctx, struct connection *connection, struct totals *totals)
{
	struct bpf_sock *sk = ctx->sk;
	struct tcp_sock *tp;
	u64 took_us;

	if (!connection->began_ns || !sk)
		return;
	tp = (struct tcp_sock *)bpf_skc_to_tcp_sock(sk);
	if (!tp || tp->snd_una != tp->write_seq)
		return;
	took_us = (bpf_ktime_get_ns() - connection->began_ns) / 1000;
	connection->began_ns = 0;
	add(&totals->transfers, 1);
	add(&totals->transfers_repeated, connection->has_repeated);
	add(&totals->transfers_timed_out, connection->has_timed_out);
	connection->has_repeated = 0;
	connection->has_timed_out = 0;
	add(&totals->transfer_us, took_us);
	count_bucket(totals->transfer_buckets, took_us);
}

static inline void count_rtt(struct bpf_sock_ops *ctx, struct totals *totals)
{
	u64 rtt_us = ctx->srtt_us >> 3;

	add(&totals->rtts, 1);
	add(&totals->rtt_us, rtt_us);
	count_bucket(totals->rtt_buckets, rtt_us);
}

static inline void repeat(struct bpf_sock_ops *ctx, struct connection *connection, struct totals *totals)
{
	add(&totals->retransmits, ctx->args[1]);
	connection->has_repeated = 1;
}

static inline void time_out(struct connection *connection, struct totals *totals)
{
	add(&totals->timeouts, 1);
	connection->has_timed_out = 1;
}

static inline void give_back(struct bpf_sock_ops *ctx, struct connection *connection, struct totals *totals)
{
	if (connection->is_treated && !set_control(ctx, &connection->before)) {
		connection->is_treated = 0;
		add(&totals->returned, 1);
	}
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags &
					       ~(BPF_SOCK_OPS_RTO_CB_FLAG | BPF_SOCK_OPS_RETRANS_CB_FLAG |
						 BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG |
						 BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG));
}

SEC("sockops")
int canary(struct bpf_sock_ops *ctx)
{
	struct connection *connection;
	struct bpf_sock *sk = ctx->sk;
	struct totals *totals;

	if (begins(ctx)) {
		start(ctx);
		return 1;
	}
	if (!sk)
		return 1;
	connection = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!connection)
		return 1;
	totals = part_of(connection);
	if (!totals)
		return 1;
	count_segments(ctx, connection, totals);
	if (ctx->op == BPF_SOCK_OPS_RTT_CB || ctx->op == BPF_SOCK_OPS_STATE_CB)
		finish(ctx, connection, totals);
	if (is_over && ctx->state == ESTABLISHED) {
		give_back(ctx, connection, totals);
		return 1;
	}
	if (ctx->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB && ctx->skb_len && !connection->began_ns)
		connection->began_ns = bpf_ktime_get_ns();
	else if (ctx->op == BPF_SOCK_OPS_RTT_CB)
		count_rtt(ctx, totals);
	else if (ctx->op == BPF_SOCK_OPS_RETRANS_CB)
		repeat(ctx, connection, totals);
	else if (ctx->op == BPF_SOCK_OPS_RTO_CB)
		time_out(connection, totals);
	return 1;
}
