/* Gentle slow start over NewReno. */
#include "over_reno.h"

SEC("struct_ops")
void BPF_PROG(gss_init, struct sock *sk)
{
	begin(sk, true);
}

SEC("struct_ops")
u32 BPF_PROG(gss_ssthresh, struct sock *sk)
{
	struct window window = window_of((struct tcp_sock *)sk);

	return reduced(sk, reno_ssthresh(&window));
}

SEC(".struct_ops.link")
struct tcp_congestion_ops gss_reno = {
	.init = (void *)gss_init,
	.pkts_acked = (void *)gss_pkts_acked,
	.cong_avoid = (void *)gss_cong_avoid,
	.ssthresh = (void *)gss_ssthresh,
	.undo_cwnd = (void *)gss_undo_cwnd,
	.name = "fanin_gss_reno",
};

#include "replay.h"
