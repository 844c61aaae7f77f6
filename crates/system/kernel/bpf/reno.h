/* NewReno in whole segments, as Linux has it: crates/engine/laws/src/sender/newreno.rs, variant "linux". */
#ifndef FANIN_RENO_H
#define FANIN_RENO_H

struct window {
	u32 cwnd;
	u32 ssthresh;
	/* Segments acknowledged since the last growth above ssthresh. */
	u32 credits;
};

/* Slow start: segments that are left for congestion avoidance. */
static inline u32 reno_slow_start(struct window *window, u32 acked)
{
	u32 cwnd = smaller(window->cwnd + acked, window->ssthresh);

	acked -= cwnd - window->cwnd;
	window->cwnd = cwnd;
	return acked;
}

static inline void reno_avoid(struct window *window, u32 acked)
{
	u32 cwnd = larger(window->cwnd, 1);

	if (window->credits >= cwnd) {
		window->credits = 0;
		window->cwnd++;
	}
	window->credits += acked;
	if (window->credits >= cwnd) {
		u32 whole = window->credits / cwnd;

		window->credits -= whole * cwnd;
		window->cwnd += whole;
	}
}

static inline u32 reno_ssthresh(const struct window *window)
{
	return larger(window->cwnd >> 1, 2);
}

#endif
