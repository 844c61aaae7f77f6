/* Callbacks of gentle slow start over a congestion control that grows as NewReno does from ssthresh on. */
#ifndef FANIN_OVER_RENO_H
#define FANIN_OVER_RENO_H

#include "connection.h"

SEC("struct_ops")
void BPF_PROG(gss_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	observe(sk, sample);
}

SEC("struct_ops")
void BPF_PROG(gss_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	if (limited_by_window((struct tcp_sock *)sk) && !grows_gently(sk))
		grow_as_reno(sk, acked);
}

#endif
