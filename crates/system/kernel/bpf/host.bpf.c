/* M21's halves of hosts: senders ask for a window in each data segment, receivers echo it, and senders stay below it. */
#include "kernel.h"
#include "m21.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define PROTOCOL_TCP 6
#define WINDOW_CLAMP 1002 /* TCP_BPF_SNDCWND_CLAMP */
#define FLAG_SYN 2

/* Network namespaces of the hosts, by inode: other sockets of the cgroup are left alone. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u32);
} hosts SEC(".maps");

struct connection {
	/* The latest window that arrived in data. */
	u32 offered;
	u32 clamp;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

/* Segments with the option, windows that were set, and failures. */
u64 written = 0;
u64 clamped = 0;
u64 failed = 0;

static inline struct tcp_sock *tcp_of(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	return sk ? (struct tcp_sock *)bpf_skc_to_tcp_sock(sk) : 0;
}

static inline void start(struct bpf_sock_ops *ctx)
{
	struct connection new = { NO_OFFER, 0 };
	struct tcp_sock *tp = tcp_of(ctx);
	struct bpf_sock *sk = ctx->sk;
	u32 inode;

	if (!tp || !sk)
		return;
	inode = ((struct sock *)tp)->__sk_common.skc_net.net->ns.inum;
	if (!bpf_map_lookup_elem(&hosts, &inode))
		return;
	if (!bpf_sk_storage_get(&connections, sk, &new, BPF_SK_STORAGE_GET_F_CREATE))
		return;
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG |
					       BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
}

static inline void reserve(struct bpf_sock_ops *ctx)
{
	if (!(ctx->skb_tcp_flags & FLAG_SYN))
		bpf_reserve_hdr_opt(ctx, OPTION_BYTES, 0);
}

/* Bytes of payload of the packet that is being written, whose header is complete but for this option. */
static inline bool has_data(struct bpf_sock_ops *ctx)
{
	u8 *header = ctx->skb_data, *end = ctx->skb_data_end;

	if (header + 13 > end)
		return false;
	return ctx->skb_len > (u32)(header[12] >> 4) * 4;
}

static inline void write(struct bpf_sock_ops *ctx, const struct connection *connection)
{
	struct option option;

	if (ctx->skb_tcp_flags & FLAG_SYN)
		return;
	option = has_data(ctx) ? option_of(OFFERED, NO_OFFER) : option_of(ECHOED, connection->offered);
	__sync_fetch_and_add(bpf_store_hdr_opt(ctx, &option, OPTION_BYTES, 0) ? &failed : &written, 1);
}

/* The window in whole segments, less the bytes of the option; at least one. */
static inline void obey(struct bpf_sock_ops *ctx, struct connection *connection, u32 window)
{
	struct tcp_sock *tp = tcp_of(ctx);
	int segments;

	if (window == NO_OFFER || !tp || !tp->mss_cache)
		return;
	segments = window > OPTION_BYTES ? larger((window - OPTION_BYTES) / tp->mss_cache, 1) : 1;
	if (connection->clamp == segments)
		return;
	connection->clamp = segments;
	__sync_fetch_and_add(bpf_setsockopt(ctx, PROTOCOL_TCP, WINDOW_CLAMP, &segments, sizeof(segments)) ? &failed : &clamped,
			     1);
}

static inline void parse(struct bpf_sock_ops *ctx, struct connection *connection)
{
	struct option option = { OPTION_KIND, 4, bpf_htons(OFFERED), 0 };

	if (bpf_load_hdr_opt(ctx, &option, sizeof(option), 0) == OPTION_BYTES)
		connection->offered = bpf_ntohl(option.window);
	option = (struct option){ OPTION_KIND, 4, bpf_htons(ECHOED), 0 };
	if (bpf_load_hdr_opt(ctx, &option, sizeof(option), 0) == OPTION_BYTES)
		obey(ctx, connection, bpf_ntohl(option.window));
}

SEC("sockops")
int m21_host(struct bpf_sock_ops *ctx)
{
	struct connection *connection;
	struct bpf_sock *sk = ctx->sk;

	if (ctx->op == BPF_SOCK_OPS_TCP_CONNECT_CB || ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) {
		start(ctx);
		return 1;
	}
	if (!sk || !ctx->is_fullsock)
		return 1;
	connection = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!connection)
		return 1;
	if (ctx->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB)
		reserve(ctx);
	else if (ctx->op == BPF_SOCK_OPS_WRITE_HDR_OPT_CB)
		write(ctx, connection);
	else if (ctx->op == BPF_SOCK_OPS_PARSE_HDR_OPT_CB)
		parse(ctx, connection);
	return 1;
}
