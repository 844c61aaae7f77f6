/* Waits of this network namespace's connections that send, by their cause, for `fanin watch`. Tracepoints alone, and loads
 * without helpers: a kernel in lockdown allows these. */
#include "cgroup.h"

#include <bpf/bpf_endian.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define FAMILY_IPV6 10

#define ESTABLISHED 1
#define SYN_SENT 2

#define MICROSECOND 1000

/* Shorter waits for the peer's window do not count, ns. A small window has one each round trip. */
#define SHORTEST_SHUT 10000000

/* As src/watch/row.rs has them. */
enum cause { CAUSE_TIMEOUT, CAUSE_PROBE, CAUSE_RECOVERY, CAUSE_ZERO_WINDOW };

/* Set by the loader. */
const volatile struct {
	u32 space; /* number of the network namespace */
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

struct minmax_sample___waits {
	u32 v;
};

struct minmax___waits {
	struct minmax_sample___waits s[3];
};

struct tcp_sock___waits {
	struct inet_connection_sock inet_conn;
	u64 tcp_wstamp_ns;
	u64 delivered_mstamp; /* of the latest delivery that an acknowledgement reports, or of the first data in flight after it; us */
	u32 write_seq;
	u32 snd_nxt;
	u32 snd_una;
	u32 snd_wnd;
	u32 sacked_out;
	u32 mss_cache;
	struct minmax___waits rtt_min; /* us */
	u32 tlp_high_seq;
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
	__uint(max_entries, 1 << 20);
} waits SEC(".maps");

/* Waits of a connection that have not ended, ns; zero if there is none. */
struct times {
	u64 recovers; /* begin of its fast recovery */
	u64 shut; /* since when the peer's window holds data back */
	u64 heard; /* latest packet since then */
	u64 probed; /* time of its probe, if the peer's window holds data back */
	u64 probed_us; /* wait before it */
	u32 next; /* first byte that the window holds back */
	u32 high; /* end of the data when the probe was sent */
};

/* They end with the connection. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct times);
} times SEC(".maps");

/* Segments sent again, by cause; and waits for which the ring buffer had no space. */
u64 segments[4] = {};
#define LOST 3

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
	/* The program looks each 0.1 s. */
	if (bpf_ringbuf_output(&waits, &wait, sizeof(wait), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&segments[LOST], 1);
}

static inline struct tcp_sock___waits *own(struct sock___waits *sk)
{
	if (sk->__sk_common.skc_net.net->ns.inum != settings.space)
		return NULL;
	return (void *)bpf_skc_to_tcp_sock(sk);
}

/* Since when a connection waits. */
static inline u64 progress_of(const struct tcp_sock___waits *tp, u64 now)
{
	u64 progress = tp->delivered_mstamp * MICROSECOND;

	return progress && progress < now ? progress : now;
}

static inline u8 state_of(const struct tcp_sock___waits *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

static inline void report_probe(const struct sock___waits *sk, struct times *found)
{
	report(sk, CAUSE_PROBE, found->probed, found->probed_us);
	found->probed = 0;
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
	before = state_of(tp);
	found = bpf_sk_storage_get(&times, sk, 0, state == CA_RECOVERY ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	/* It showed a loss, or was lost. */
	if (found && found->probed && state >= CA_CWR)
		report_probe(sk, found);
	if (state == CA_LOSS && tp->tcp_wstamp_ns && now > tp->tcp_wstamp_ns)
		report(sk, CAUSE_TIMEOUT, now, (now - tp->tcp_wstamp_ns) / MICROSECOND);
	if (!found || state == before)
		return 0;
	if (state >= CA_RECOVERY)
		found->shut = 0;
	/* A timeout in a recovery is the wait, not the recovery. */
	if (found->recovers && state != CA_LOSS)
		report(sk, CAUSE_RECOVERY, now, (now - found->recovers) / MICROSECOND);
	found->recovers = state == CA_RECOVERY ? progress_of(tp, now) : 0;
	return 0;
}

/* Whether the peer's window holds data back: the next segment is larger. After losses, other waits count. */
static inline bool is_shut(const struct tcp_sock___waits *tp)
{
	u32 unsent = tp->write_seq - tp->snd_nxt;

	if (!unsent || !after(tp->snd_nxt + smaller(unsent, tp->mss_cache), tp->snd_una + tp->snd_wnd))
		return false;
	return !tp->sacked_out && state_of(tp) < CA_RECOVERY;
}

/* The peer has acknowledged all data from before a probe in a closed window. It reports data that it has twice: then the probe was needless,
 * and the wait is the window's. */
static inline void resolve_probe(const struct sock___waits *sk, const struct tcp_sock___waits *tp, struct times *found)
{
	if (after(found->high, tp->snd_una))
		return;
	if (tp->tlp_high_seq)
		report_probe(sk, found);
	found->probed = 0;
}

/* Data that the window held back has left with the latest packet. */
static inline void open(const struct sock___waits *sk, const struct tcp_sock___waits *tp, struct times *found)
{
	u64 took = found->heard - found->shut;

	/* A window that is smaller than the path holds data back for a round trip. */
	if (took >= SHORTEST_SHUT && took / MICROSECOND >= 2 * tp->rtt_min.s[0].v)
		report(sk, CAUSE_ZERO_WINDOW, found->heard, took / MICROSECOND);
	found->shut = 0;
}

/* A packet arrives; the state is that before it, so that its effects count with the next one. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(packet_arrives, struct sock___waits *sk)
{
	struct tcp_sock___waits *tp = own(sk);
	struct times *found;
	bool shut;

	if (!tp)
		return 0;
	shut = is_shut(tp);
	found = bpf_sk_storage_get(&times, sk, 0, shut ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!found)
		return 0;
	if (found->probed)
		resolve_probe(sk, tp, found);
	if (found->shut && found->next != tp->snd_nxt)
		open(sk, tp, found);
	if (!shut)
		return 0;
	found->heard = bpf_ktime_get_ns();
	if (!found->shut) {
		found->shut = progress_of(tp, found->heard);
		found->next = tp->snd_nxt;
	}
	return 0;
}

/* Segments that are sent again outside of recoveries are probes. */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(sends_again, struct sock___waits *sk)
{
	struct tcp_sock___waits *tp = own(sk);
	struct times *found;
	u8 state;

	if (!tp)
		return 0;
	state = state_of(tp);
	if (state == CA_LOSS || sk->__sk_common.skc_state == SYN_SENT) {
		__sync_fetch_and_add(&segments[CAUSE_TIMEOUT], 1);
		return 0;
	}
	__sync_fetch_and_add(&segments[state == CA_RECOVERY ? CAUSE_RECOVERY : CAUSE_PROBE], 1);
	if (state == CA_RECOVERY)
		return 0;
	found = bpf_sk_storage_get(&times, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!found)
		return 0;
	found->probed = bpf_ktime_get_ns();
	found->probed_us = (found->probed - progress_of(tp, found->probed)) / MICROSECOND;
	found->high = tp->snd_nxt;
	/* After this end is closed, no packet comes to packet_arrives. */
	if (!is_shut(tp) || sk->__sk_common.skc_state != ESTABLISHED)
		report_probe(sk, found);
	return 0;
}
