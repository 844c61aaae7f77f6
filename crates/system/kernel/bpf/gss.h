/* Gentle slow start, as in crates/engine/laws/src/sender/gentle_slow_start.rs: times in microseconds, windows in segments. */
#ifndef FANIN_GSS_H
#define FANIN_GSS_H

#include "fixed.h"

#define ROUNDING_Q16 1024

struct gss {
	u32 rtt;
	u32 rtt_min;
	u32 rtt_max;
	/* End of the window being acknowledged, if one is open. */
	u32 window_end;
	/* Fraction of a segment that the window has beyond its whole ones. */
	u16 fraction_q16;
	u8 window_open;
	u8 window_done;
};

static inline void gss_start(struct gss *gss)
{
	__builtin_memset(gss, 0, sizeof(*gss));
	gss->rtt_min = ~0u;
}

static inline void gss_sample(struct gss *gss, u32 rtt_us)
{
	gss->rtt = rtt_us;
	gss->rtt_min = smaller(gss->rtt_min, rtt_us);
	gss->rtt_max = larger(gss->rtt_max, rtt_us);
}

/* Take an ACK of new data; the round trip is negative if the ACK measured none. */
static inline void gss_observe(struct gss *gss, u32 una, u32 nxt, s32 rtt_us)
{
	bool ends = gss->window_open && !after(gss->window_end, una);

	if (rtt_us >= 0)
		gss_sample(gss, rtt_us);
	gss->window_done = ends || !after(nxt, una);
	if (gss->window_done) {
		gss->window_open = 0;
	} else if (!gss->window_open || after(gss->window_end, nxt)) {
		/* An end beyond the data sent dates from before a timeout. */
		gss->window_end = nxt;
		gss->window_open = 1;
	}
}

/* Equation 7. */
static inline u32 gss_alpha_q16(const struct gss *gss)
{
	u32 range = gss->rtt_max - gss->rtt_min;

	if (gss->rtt_max <= gss->rtt_min)
		return 0;
	return ((u64)(gss->rtt - gss->rtt_min) << 16) / range;
}

/* Equation 8, once a window: the new window. */
static inline u32 gss_grow(struct gss *gss, u32 cwnd)
{
	u64 segments_q16 = ((u64)cwnd << 16) + gss->fraction_q16;

	if (!gss->window_done)
		return cwnd;
	if (segments_q16 < ONE_Q16)
		segments_q16 = ONE_Q16;
	segments_q16 += pow_q16(segments_q16, ONE_Q16 - gss_alpha_q16(gss));
	/* The power is rounded down, so that it may miss a whole segment by a little. */
	cwnd = (segments_q16 + ROUNDING_Q16) >> 16;
	gss->fraction_q16 = segments_q16 >> 16 == cwnd ? segments_q16 & 0xffff : 0;
	return cwnd;
}

#endif
