/* State of a connection, and callbacks that all of these congestion controls share. */
#ifndef FANIN_CONNECTION_H
#define FANIN_CONNECTION_H

#include "kernel.h"
#include "gss.h"
#include "dctcp.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Time (CLOCK_MONOTONIC) until which gentle slow start acts; zero for ever. A loader that died cannot move it on. */
volatile u64 gentle_until_ns = 0;

#define INITIAL_WINDOW 2

struct state {
	union {
		struct dctcp dctcp;
		/* CUBIC's own state, which the kernel's functions keep here (struct bictcp). */
		u64 cubic[8];
	};
	struct gss gss;
	/* The last window and threshold that this program saw or set; see `repair`. */
	u32 cwnd;
	u32 ssthresh;
	u32 una;
	u8 started;
};

_Static_assert(sizeof(struct state) <= 104, "a connection's state in the kernel has 104 bytes");

static inline struct state *state_of(struct sock *sk)
{
	return (struct state *)((struct tcp_sock *)sk)->inet_conn.icsk_ca_priv;
}

static inline struct window window_of(const struct tcp_sock *tp)
{
	return (struct window){ tp->snd_cwnd, tp->snd_ssthresh, tp->snd_cwnd_cnt };
}

static inline void set_window(struct tcp_sock *tp, const struct window *window)
{
	tp->snd_cwnd = smaller(larger(window->cwnd, 1), tp->snd_cwnd_clamp);
	tp->snd_cwnd_cnt = window->credits;
}

static inline bool limited_by_window(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

static inline bool is_gentle(void)
{
	return !gentle_until_ns || bpf_ktime_get_ns() < gentle_until_ns;
}

static inline void begin(struct sock *sk, bool gentle)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct state *state = state_of(sk);

	gss_start(&state->gss);
	if (gentle && !tp->data_segs_out)
		tp->snd_cwnd = INITIAL_WINDOW;
	state->cwnd = tp->snd_cwnd;
	state->ssthresh = tp->snd_ssthresh;
	state->una = tp->snd_una;
	state->started = 1;
}

/* Some kernels skip a callback and take a stray value for its result. A threshold that nobody set is replaced. */
static inline void repair(struct tcp_sock *tp, struct state *state)
{
	if (tp->snd_ssthresh != state->ssthresh && tp->snd_ssthresh > larger(state->cwnd, 2) &&
	    BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state) >= CA_CWR)
		tp->snd_ssthresh = larger(state->cwnd >> 1, 2);
	if (tp->snd_cwnd > 4 * larger(state->cwnd, 16))
		tp->snd_cwnd = larger(state->cwnd >> 1, 2);
	state->ssthresh = tp->snd_ssthresh;
	state->cwnd = tp->snd_cwnd;
}

static inline u32 reduced(struct sock *sk, u32 ssthresh)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct state *state = state_of(sk);

	state->cwnd = tp->snd_cwnd;
	state->ssthresh = ssthresh;
	state->gss.fraction_q16 = 0;
	tp->snd_cwnd_cnt = 0;
	return ssthresh;
}

static inline u32 undone(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	state_of(sk)->cwnd = larger(tp->snd_cwnd, tp->prior_cwnd);
	return state_of(sk)->cwnd;
}

/* Each ACK, in recovery too. The handshake's comes before `init`. */
static inline void observe(struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct state *state = state_of(sk);

	if (!state->started)
		return;
	repair(tp, state);
	/* An ACK that only reports packets out of order moves no window. */
	state->gss.window_done = 0;
	if (!after(tp->snd_una, state->una))
		return;
	state->una = tp->snd_una;
	gss_observe(&state->gss, tp->snd_una, tp->snd_nxt, sample->rtt_us);
}

/* Whether gentle slow start has taken this ACK. */
static inline bool grows_gently(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct state *state = state_of(sk);

	if (tp->snd_cwnd >= tp->snd_ssthresh || !is_gentle())
		return false;
	tp->snd_cwnd = smaller(gss_grow(&state->gss, tp->snd_cwnd), tp->snd_cwnd_clamp);
	state->cwnd = tp->snd_cwnd;
	return true;
}

static inline void grow_as_reno(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct window window = window_of(tp);

	if (window.cwnd < window.ssthresh)
		acked = reno_slow_start(&window, acked);
	if (acked)
		reno_avoid(&window, acked);
	set_window(tp, &window);
	state_of(sk)->cwnd = tp->snd_cwnd;
}

SEC("struct_ops")
u32 BPF_PROG(gss_undo_cwnd, struct sock *sk)
{
	return undone(sk);
}

#endif
