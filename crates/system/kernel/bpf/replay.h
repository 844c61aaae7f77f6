/* One step of a vector (vectors/NAME.json) through this object, by BPF_PROG_TEST_RUN; never loaded otherwise. */
#ifndef FANIN_REPLAY_H
#define FANIN_REPLAY_H

enum { STEP_START, STEP_OBSERVE, STEP_ACK, STEP_MARK, STEP_LOSS };

struct replay {
	u32 step;
	/* Which congestion control: DCTCP or NewReno, with or without gentle slow start. */
	u32 is_dctcp;
	u32 is_gentle;
	/* An ACK: segments, the stream's offsets, round trip (negative: none), mark. */
	u32 acked;
	u32 una;
	u32 nxt;
	s32 rtt_us;
	u32 marked;
	/* DCTCP's settings. */
	u32 g_q16;
	u32 initial_alpha_q16;
	/* State, which the caller hands back. */
	struct window window;
	struct gss gss;
	struct dctcp dctcp;
	/* Results. */
	u32 alpha_q16;
	u32 cut;
};

static inline void replay_ack(const struct replay *in, struct window *window, struct gss *gss)
{
	u32 acked = in->acked;

	if (window->cwnd < window->ssthresh) {
		if (in->is_gentle) {
			window->cwnd = gss_grow(gss, window->cwnd);
			return;
		}
		acked = reno_slow_start(window, acked);
	}
	if (acked)
		reno_avoid(window, acked);
}

SEC("syscall")
int replay(struct replay *ctx)
{
	struct replay in = *ctx;

	if (in.step == STEP_START) {
		gss_start(&in.gss);
		dctcp_start(&in.dctcp, in.initial_alpha_q16, in.una);
	} else if (in.step == STEP_OBSERVE || in.step == STEP_ACK) {
		dctcp_count(&in.dctcp, in.una, in.nxt, in.marked, in.g_q16);
		gss_observe(&in.gss, in.una, in.nxt, in.rtt_us);
		if (in.step == STEP_ACK)
			replay_ack(&in, &in.window, &in.gss);
	} else {
		bool by_mark = in.is_dctcp && in.step == STEP_MARK;

		in.cut = by_mark ? dctcp_reduced(&in.dctcp, in.window.cwnd) : reno_ssthresh(&in.window);
		in.window.credits = 0;
		in.gss.fraction_q16 = 0;
	}
	in.alpha_q16 = in.is_gentle ? gss_alpha_q16(&in.gss) : in.dctcp.alpha_q16;
	*ctx = in;
	return 0;
}

#endif
