/* DCTCP (RFC 8257), as in crates/engine/laws/src/sender/dctcp.rs: marks by bytes, windows in segments. */
#ifndef FANIN_DCTCP_H
#define FANIN_DCTCP_H

#include "reno.h"

struct dctcp {
	u32 alpha_q16;
	/* Bytes acknowledged in this window, and those whose ACK echoed a mark. */
	u32 acked;
	u32 marked;
	u32 window_end;
	u32 una;
	/* What the receiver's half last saw: the next byte expected, and whether a packet had a mark. */
	u32 received;
	u8 was_marked;
};

static inline void dctcp_start(struct dctcp *dctcp, u32 alpha_q16, u32 una)
{
	__builtin_memset(dctcp, 0, sizeof(*dctcp));
	dctcp->alpha_q16 = alpha_q16;
	dctcp->una = una;
	dctcp->window_end = una;
}

/* Count an ACK; at the end of a window, update alpha (RFC 8257, section 3.3). */
static inline void dctcp_count(struct dctcp *dctcp, u32 una, u32 nxt, bool marked, u32 g_q16)
{
	u32 acked = after(una, dctcp->una) ? una - dctcp->una : 0;
	u64 share_q16;

	dctcp->una = una;
	dctcp->acked += acked;
	if (marked)
		dctcp->marked += acked;
	if (!after(una, dctcp->window_end))
		return;
	share_q16 = dctcp->acked ? ((u64)dctcp->marked << 16) / dctcp->acked : 0;
	dctcp->alpha_q16 = ((65536 - (u64)g_q16) * dctcp->alpha_q16 + g_q16 * share_q16) >> 16;
	dctcp->acked = 0;
	dctcp->marked = 0;
	dctcp->window_end = nxt;
}

/* The window after a mark (RFC 8257, section 3.5), at least two segments. */
static inline u32 dctcp_reduced(const struct dctcp *dctcp, u32 cwnd)
{
	return larger(cwnd - (u32)((u64)cwnd * dctcp->alpha_q16 >> 17), 2);
}

#endif
