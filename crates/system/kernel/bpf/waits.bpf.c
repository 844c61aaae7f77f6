/* Waits of this network namespace's connections that send, by their cause, for `fanin watch`. Tracepoints alone, and loads
 * without helpers: a kernel in lockdown allows these. */
#include "cgroup.h"

#include <bpf/bpf_endian.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define FAMILY_IPV6 10

#define SYN_SENT 2

#define MICROSECOND 1000

/* Shorter closed windows are no waits, ns: a connection with a small window has one each round trip. */
#define SHORTEST_SHUT 10000000

/* As src/watch/row.rs has them. */
enum cause { CAUSE_TIMEOUT, CAUSE_PROBE, CAUSE_RECOVERY, CAUSE_ZERO_WINDOW };

/* Set by the loader. */
const volatile struct {
	u32 space; /* number of the network namespace */
	u32 tick_us; /* time of the kernel's ticks */
} settings = {};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr___waits {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common___waits {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	u8 skc_state;
	possible_net_t skc_net;
	struct in6_addr___waits skc_v6_daddr;
	struct in6_addr___waits skc_v6_rcv_saddr;
};

struct sock___waits {
	struct sock_common___waits __sk_common;
};

struct tcp_sock___waits {
	struct inet_connection_sock inet_conn;
	u32 rcv_tstamp;
	u64 tcp_wstamp_ns;
	u32 write_seq;
	u32 snd_nxt;
	u32 snd_una;
	u32 snd_wnd;
	u32 packets_out;
	u32 mss_cache;
};

#pragma clang attribute pop

struct wait {
	u64 at; /* CLOCK_MONOTONIC, ns */
	u64 us;
	u64 cgroup; /* zero: unknown */
	u8 own[16];
	u8 peer[16];
	u16 own_port;
	u16 peer_port;
	u16 family;
	u16 cause;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} waits SEC(".maps");

/* Times of a connection, ns; zero if it does not wait. */
struct times {
	u64 recovers; /* begin of its fast recovery */
	u64 shut; /* when the peer closed its window, and the latest packet since then */
	u64 heard;
};

/* They end with the connection. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct times);
} times SEC(".maps");

/* Segments sent again, by cause. */
u64 segments[3] = {};

static inline void copy(u8 *to, const struct in6_addr___waits *from)
{
	for (int i = 0; i < 4; i++)
		((u32 *)to)[i] = from->in6_u.u6_addr32[i];
}

static inline void report(const struct sock___waits *sk, enum cause cause, u64 now, u64 us)
{
	struct wait wait = { .at = now, .us = us, .cause = cause };

	wait.cgroup = cgroup_number((const void *)sk);
	wait.family = sk->__sk_common.skc_family;
	wait.own_port = sk->__sk_common.skc_num;
	wait.peer_port = bpf_ntohs(sk->__sk_common.skc_dport);
	if (wait.family == FAMILY_IPV6) {
		copy(wait.own, &sk->__sk_common.skc_v6_rcv_saddr);
		copy(wait.peer, &sk->__sk_common.skc_v6_daddr);
	} else {
		*(u32 *)wait.own = sk->__sk_common.skc_rcv_saddr;
		*(u32 *)wait.peer = sk->__sk_common.skc_daddr;
	}
	bpf_ringbuf_output(&waits, &wait, sizeof(wait), 0);
}

static inline struct tcp_sock___waits *own(struct sock___waits *sk)
{
	if (sk->__sk_common.skc_net.net->ns.inum != settings.space)
		return NULL;
	return (void *)bpf_skc_to_tcp_sock(sk);
}

/* Time since the latest acknowledgement before this packet, us. */
static inline u64 unheard_us(const struct tcp_sock___waits *tp)
{
	return (u64)((u32)bpf_jiffies64() - tp->rcv_tstamp) * settings.tick_us;
}

/* A timeout enters the state of loss, also if that is the state already. */
SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(state_changes, struct sock___waits *sk, u8 state)
{
	struct tcp_sock___waits *tp = own(sk);
	u64 now = bpf_ktime_get_ns();
	struct times *found;
	u8 before;

	if (!tp)
		return 0;
	before = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	if (state == CA_LOSS && tp->tcp_wstamp_ns && now > tp->tcp_wstamp_ns)
		report(sk, CAUSE_TIMEOUT, now, (now - tp->tcp_wstamp_ns) / MICROSECOND);
	if (state == before || (state != CA_RECOVERY && before != CA_RECOVERY))
		return 0;
	found = bpf_sk_storage_get(&times, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!found)
		return 0;
	/* A timeout in a recovery is the wait, not the recovery. */
	if (found->recovers && state != CA_LOSS)
		report(sk, CAUSE_RECOVERY, now, (now - found->recovers) / MICROSECOND);
	found->recovers = state == CA_RECOVERY ? now : 0;
	return 0;
}

/* Whether the peer's window alone holds data back: nothing is in flight, and the next segment is larger. */
static inline bool is_shut(const struct tcp_sock___waits *tp)
{
	u32 unsent = tp->write_seq - tp->snd_nxt;

	return unsent && !tp->packets_out && after(tp->snd_nxt + smaller(unsent, tp->mss_cache), tp->snd_una + tp->snd_wnd);
}

/* A packet arrives; the state is that before it. A window opens with the last packet that finds it closed. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(packet_arrives, struct sock___waits *sk)
{
	struct tcp_sock___waits *tp = own(sk);
	struct times *found;
	bool shut;
	u64 now;

	if (!tp)
		return 0;
	shut = is_shut(tp);
	found = bpf_sk_storage_get(&times, sk, 0, shut ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!found || (!shut && !found->shut))
		return 0;
	if (shut) {
		now = bpf_ktime_get_ns();
		if (!found->shut)
			found->shut = now - unheard_us(tp) * MICROSECOND;
		found->heard = now;
		return 0;
	}
	if (found->heard - found->shut >= SHORTEST_SHUT)
		report(sk, CAUSE_ZERO_WINDOW, found->heard, (found->heard - found->shut) / MICROSECOND);
	found->shut = 0;
	return 0;
}

/* Segments that are sent again outside of recoveries are probes; the latest acknowledgement came a wait ago. */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(sends_again, struct sock___waits *sk)
{
	struct tcp_sock___waits *tp = own(sk);
	u8 state;

	if (!tp)
		return 0;
	state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	if (state == CA_LOSS || sk->__sk_common.skc_state == SYN_SENT) {
		__sync_fetch_and_add(&segments[CAUSE_TIMEOUT], 1);
		return 0;
	}
	__sync_fetch_and_add(&segments[state == CA_RECOVERY ? CAUSE_RECOVERY : CAUSE_PROBE], 1);
	if (state != CA_RECOVERY)
		report(sk, CAUSE_PROBE, bpf_ktime_get_ns(), unheard_us(tp));
	return 0;
}
