/* Types and helpers of the kernel that the programs use: libbpf finds each field in the running kernel (CO-RE). */
#ifndef FANIN_KERNEL_H
#define FANIN_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;

/* States of loss recovery (enum tcp_ca_state) and events (enum tcp_ca_event), which are part of the kernel's interface. */
enum { CA_OPEN, CA_DISORDER, CA_CWR, CA_RECOVERY, CA_LOSS };
enum tcp_ca_event { EVENT_TX_START, EVENT_CWND_RESTART, EVENT_COMPLETE_CWR, EVENT_LOSS, EVENT_ECN_NO_CE, EVENT_ECN_IS_CE };

#define NEEDS_ECN 2 /* TCP_CONG_NEEDS_ECN */
#define ACK_ECHOES_MARK 4 /* CA_ACK_ECE */
#define DEMAND_CWR 4 /* TCP_ECN_DEMAND_CWR */
#define ACK_DELAYED 2 /* ICSK_ACK_TIMER */
#define ACK_NOW 16 /* ICSK_ACK_NOW */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	u8 skc_state;
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
};

struct inet_connection_sock {
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
	struct {
		u8 pending;
	} icsk_ack;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 rcv_nxt;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 data_segs_out;
	u32 max_packets_out;
	u32 mss_cache;
	u8 ecn_flags;
	u8 is_cwnd_limited : 1;
};

struct gnet_stats_queue {
	u32 backlog;
};

struct Qdisc {
	struct gnet_stats_queue qstats;
};

struct net_device {
	struct Qdisc *qdisc;
};

struct sk_buff {
	struct net_device *dev;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
};

struct bictcp {
	u32 cnt;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	u32 flags;
	char name[16];
};

#pragma clang attribute pop

/* Sequence numbers wrap. */
static inline bool after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

static inline u32 smaller(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u32 larger(u32 a, u32 b)
{
	return a > b ? a : b;
}

#endif
