/* Gentle slow start over CUBIC. */
#include "connection.h"

/* CUBIC is the kernel's own, but for slow start. */
extern void cubictcp_init(struct sock *sk) __weak __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __weak __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __weak __ksym;
extern void cubictcp_state(struct sock *sk, u8 new_state) __weak __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __weak __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __weak __ksym;

SEC("struct_ops")
void BPF_PROG(gss_cubic_init, struct sock *sk)
{
	cubictcp_init(sk);
	begin(sk, true);
}

SEC("struct_ops")
void BPF_PROG(gss_cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	observe(sk, sample);
	cubictcp_acked(sk, sample);
}

SEC("struct_ops")
void BPF_PROG(gss_cubic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (limited_by_window(tp) && !grows_gently(sk)) {
		cubictcp_cong_avoid(sk, ack, acked);
		state_of(sk)->cwnd = tp->snd_cwnd;
	}
}

SEC("struct_ops")
u32 BPF_PROG(gss_cubic_ssthresh, struct sock *sk)
{
	return reduced(sk, cubictcp_recalc_ssthresh(sk));
}

SEC("struct_ops")
void BPF_PROG(gss_cubic_set_state, struct sock *sk, u8 new_state)
{
	cubictcp_state(sk, new_state);
}

SEC("struct_ops")
void BPF_PROG(gss_cubic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops gss_cubic = {
	.init = (void *)gss_cubic_init,
	.pkts_acked = (void *)gss_cubic_pkts_acked,
	.cong_avoid = (void *)gss_cubic_cong_avoid,
	.ssthresh = (void *)gss_cubic_ssthresh,
	.set_state = (void *)gss_cubic_set_state,
	.cwnd_event = (void *)gss_cubic_cwnd_event,
	.undo_cwnd = (void *)gss_undo_cwnd,
	.name = "fanin_gss_cubic",
};
