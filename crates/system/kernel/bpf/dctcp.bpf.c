/* Gentle slow start over DCTCP; and DCTCP alone, which many kernels lack. */
#include "over_reno.h"

#define G_Q16 4096

static inline void begin_dctcp(struct sock *sk, bool gentle)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *dctcp = &state_of(sk)->dctcp;

	dctcp_start(dctcp, ONE_Q16, tp->snd_una);
	dctcp->received = tp->rcv_nxt;
	begin(sk, gentle);
}

/* A loss halves the window, whatever alpha is (RFC 8257, section 3.5). */
static inline void react_to_loss(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct window window = { .cwnd = state_of(sk)->cwnd };

	tp->snd_ssthresh = reno_ssthresh(&window);
	state_of(sk)->ssthresh = tp->snd_ssthresh;
}

static inline void echo_marks(struct tcp_sock *tp, bool marked)
{
	tp->ecn_flags = marked ? tp->ecn_flags | DEMAND_CWR : tp->ecn_flags & ~DEMAND_CWR;
}

/* The receiver's half (RFC 8257, section 3.2): packets with and without a mark are never acknowledged together. */
static inline void receive(struct sock *sk, bool marked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *dctcp = &state_of(sk)->dctcp;

	if (dctcp->was_marked != marked) {
		if (tp->inet_conn.icsk_ack.pending & ACK_DELAYED) {
			echo_marks(tp, dctcp->was_marked);
			bpf_tcp_send_ack(tp, dctcp->received);
		}
		tp->inet_conn.icsk_ack.pending |= ACK_NOW;
	}
	dctcp->received = tp->rcv_nxt;
	dctcp->was_marked = marked;
	echo_marks(tp, marked);
}

SEC("struct_ops")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	begin_dctcp(sk, false);
}

SEC("struct_ops")
void BPF_PROG(gss_dctcp_init, struct sock *sk)
{
	begin_dctcp(sk, true);
}

SEC("struct_ops")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, u32 flags)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (state_of(sk)->started)
		dctcp_count(&state_of(sk)->dctcp, tp->snd_una, tp->snd_nxt, flags & ACK_ECHOES_MARK, G_Q16);
}

SEC("struct_ops")
u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	return reduced(sk, dctcp_reduced(&state_of(sk)->dctcp, ((struct tcp_sock *)sk)->snd_cwnd));
}

SEC("struct_ops")
void BPF_PROG(dctcp_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == CA_RECOVERY && BPF_CORE_READ_BITFIELD((struct tcp_sock *)sk, inet_conn.icsk_ca_state) != CA_RECOVERY)
		react_to_loss(sk);
}

SEC("struct_ops")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, u32 event)
{
	if (event == EVENT_LOSS)
		react_to_loss(sk);
	else if (event == EVENT_ECN_IS_CE || event == EVENT_ECN_NO_CE)
		receive(sk, event == EVENT_ECN_IS_CE);
}

SEC("struct_ops")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	if (limited_by_window((struct tcp_sock *)sk))
		grow_as_reno(sk, acked);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops gss_dctcp = {
	.init = (void *)gss_dctcp_init,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.pkts_acked = (void *)gss_pkts_acked,
	.cong_avoid = (void *)gss_cong_avoid,
	.ssthresh = (void *)dctcp_ssthresh,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.undo_cwnd = (void *)gss_undo_cwnd,
	.flags = NEEDS_ECN,
	.name = "fanin_gss_dctcp",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops dctcp = {
	.init = (void *)dctcp_init,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.pkts_acked = (void *)gss_pkts_acked,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.ssthresh = (void *)dctcp_ssthresh,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.undo_cwnd = (void *)gss_undo_cwnd,
	.flags = NEEDS_ECN,
	.name = "fanin_dctcp",
};

#include "replay.h"
