/* Grants: windows of a receiving host, as crates/engine/laws/src/receiver/grants.rs has them. Times are in ns. */
#ifndef FANIN_GRANTS_H
#define FANIN_GRANTS_H

#define FIRST 10
#define ALONE 3
#define NO_RTT (~0ULL)
#define MOST_GRANT (1U << 30)
/* A loop of the kernel's program needs a bound: a segment frees few turns. */
#define MOST_TURNS 8

enum { CLOSED, RECEIVES, RESTS, SMALL };

/* Set by the loader. */
const volatile struct {
	u64 rate; /* bytes a second */
	u64 queue;
	u64 idle_ns;
	u32 mss;
	u32 turn; /* bytes of a turn */
	u32 share_q32; /* connections that are granted, in 1/2^32 */
	u64 cgroup; /* 0: all */
	u32 cgroup_level;
} settings = {};

struct flow {
	u32 peer[4];
	u32 own[4];
	u16 peer_port;
	u16 own_port;
};

struct connection {
	u64 rtt_ns;
	u32 high;
	u32 edge;
	u32 announced;
	u32 period;
	u32 full_bytes; /* a full segment */
	u32 widest; /* the largest window that the peer knows of */
	u32 step; /* data that arrived since the last grant */
	u8 state;
	u8 waits;
	u8 unasked;
	u8 full;
	/* The host's last segment, for an ACK without TCP. */
	u32 seq;
	u32 ack;
	u32 own_edge;
	u32 tsval;
	u32 tsecr;
	u8 scale;
	u8 has_scale;
	u8 doff;
	u8 flags;
	u8 macs[12];
	u64 sent_ns; /* of the segment whose round trip is measured */
	u32 timed;
	/* Of a trial. */
	u8 is_treated;
	u8 has_repeated;
	u8 has_paused;
	u64 began_ns;
	u64 last_ns;
};

struct sum {
	u64 credit;
	u32 connections;
};

struct host {
	struct bpf_spin_lock lock;
	u32 period;
	u64 began_ns;
	u64 resting;
	u64 crowded_ns; /* start of the last period with several connections; 0: none */
	u64 rtt_ns;
	struct sum now;
	struct sum last;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct host);
} hosts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct flow);
	__type(value, struct connection);
} connections SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 131072);
	__type(value, struct flow);
} turns SEC(".maps");

static inline u32 ahead(u32 of, u32 behind)
{
	s32 by = (s32)(of - behind);

	return by > 0 ? by : 0;
}

static inline u32 credit_of(const struct connection *c)
{
	return ahead(c->edge, c->high);
}

/* The host's lock is held from here on down to the next section. */

static inline void count(struct host *h, const struct connection *c, bool adds)
{
	/* Senders do not use parts of a segment. */
	u64 credit = credit_of(c) - credit_of(c) % settings.mss;
	u32 age = h->period - c->period;
	struct sum *sum = age == 0 ? &h->now : &h->last;

	if (c->state == RESTS) {
		h->resting = adds ? h->resting + credit : h->resting > credit ? h->resting - credit : 0;
		return;
	}
	if (c->state != RECEIVES || age > 1)
		return;
	if (adds) {
		sum->credit += credit;
		sum->connections++;
	} else {
		sum->credit = sum->credit > credit ? sum->credit - credit : 0;
		sum->connections -= sum->connections > 0;
	}
}

static inline void become(struct host *h, struct connection *c, u8 state)
{
	count(h, c, false);
	c->state = state;
	c->period = h->period;
	count(h, c, true);
}

static inline void set_edge(struct host *h, struct connection *c, u32 credit)
{
	count(h, c, false);
	c->edge = c->high + credit;
	count(h, c, true);
}

static inline void advance(struct host *h, u64 now)
{
	u64 elapsed = now - h->began_ns;
	struct sum none = {};
	bool skips = elapsed >= 2 * settings.idle_ns;

	if (elapsed < settings.idle_ns)
		return;
	h->last = skips ? none : h->now;
	h->now = none;
	h->period += 1 + skips;
	h->began_ns = now;
}

static inline void keep_a_segment(struct host *h, struct connection *c)
{
	if (credit_of(c) >= settings.mss)
		return;
	set_edge(h, c, settings.mss);
	c->waits = 0;
}

/* Whole segments, up to the share and `step` more than the credit; a connection without a segment gets a turn or nothing. Returns whether
 * it has a segment then. */
static inline bool grant(struct host *h, struct connection *c, u32 step)
{
	u64 rtt = c->rtt_ns != NO_RTT ? c->rtt_ns : h->rtt_ns != NO_RTT ? h->rtt_ns : 0;
	u64 carried = settings.rate * rtt / 1000000000ULL, path = carried < MOST_GRANT ? carried : MOST_GRANT;
	u64 budget = path + settings.queue;
	u64 used = h->now.credit + h->last.credit, most, room, granted;
	u32 many = h->now.connections + h->last.connections, credit = credit_of(c);
	u32 least = credit < settings.mss ? settings.turn : settings.mss;

	/* Senders make segments of at most half of the largest window that they know of (tcp_bound_to_half_wnd). */
	if (credit < settings.mss && c->widest < 2 * settings.mss)
		least = larger(least, 2 * settings.mss);

	if (budget < settings.turn)
		budget = settings.turn;
	used += h->resting < budget / 2 ? h->resting : budget / 2;
	if (many > 1)
		h->crowded_ns = h->began_ns | 1;
	else if (!h->crowded_ns || h->began_ns - h->crowded_ns >= settings.idle_ns)
		budget += ALONE * path;
	most = budget / (many ? many : 1);
	if (most > (u64)credit + step)
		most = (u64)credit + step;
	if (most < least)
		most = least;
	room = credit + (budget > used ? budget - used : 0);
	granted = most < room ? most : room;
	if (granted > MOST_GRANT)
		granted = MOST_GRANT;
	granted -= granted % settings.mss;
	if (granted >= least && granted > credit)
		set_edge(h, c, granted);
	return credit_of(c) >= settings.mss;
}

/* A segment has arrived; a grant follows with `serve`. */
static inline void take(struct host *h, struct connection *c, u64 now, u32 end, u32 payload, bool is_short)
{
	u32 more = ahead(end, c->high), credit;
	bool small, ends;

	advance(h, now);
	if (!is_short)
		c->full = 1;
	small = c->state == SMALL && !c->full;
	count(h, c, false);
	c->high += more;
	credit = credit_of(c);
	c->edge = c->high + credit;
	/* The peer knew of a larger window. */
	ends = is_short && ahead(c->announced, c->high) > 0;
	c->state = small || (ends && !c->full) ? SMALL : ends ? RESTS : RECEIVES;
	if (c->state == RECEIVES)
		c->period = h->period;
	if (ends || small)
		c->waits = 0;
	count(h, c, true);
	c->step += more;
}

/* A connection at rest keeps a segment if its peer may use it without a request, or if resting credit is small. */
static inline void keep_resting(struct host *h, struct connection *c, bool queued)
{
	if (c->unasked || (!queued && h->resting + settings.mss <= settings.queue))
		keep_a_segment(h, c);
}

/* The connection opens: its first grant is that of one at rest. */
static inline void connect(struct host *h, struct connection *c)
{
	if (c->state == RESTS)
		keep_resting(h, c, false);
	else if (c->state == SMALL)
		keep_a_segment(h, c);
}

/* A request. */
static inline void ask(struct host *h, struct connection *c)
{
	if (c->state == SMALL)
		keep_a_segment(h, c);
	else if (c->state != CLOSED)
		become(h, c, RECEIVES);
	c->full = 0;
}

static inline void answer_probe(struct host *h, struct connection *c)
{
	c->unasked |= c->state == RESTS;
	keep_a_segment(h, c);
}

/* Here the lock is free: helpers may be called. */

static inline struct host *the_host(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&hosts, &zero);
}

/* Grants to the queue's head. Returns 1 if it has a grant, 0 if it has none, and -1 if the queue is empty. */
static inline int serve_turn(struct host *h, struct flow *flow, struct connection **found)
{
	struct connection *c;
	struct flow popped;
	bool granted = false, waits = false;

	if (bpf_map_peek_elem(&turns, flow))
		return -1;
	c = bpf_map_lookup_elem(&connections, flow);
	if (c) {
		bpf_spin_lock(&h->lock);
		waits = c->waits;
		if (waits) {
			become(h, c, RECEIVES);
			granted = grant(h, c, FIRST * settings.mss);
			c->waits = !granted;
		}
		bpf_spin_unlock(&h->lock);
		if (waits && !granted)
			return 0;
	}
	bpf_map_pop_elem(&turns, &popped);
	*found = granted ? c : 0;
	return 1;
}

/* After turns have been served: a grant to the connection itself, or its place in the queue. */
static inline void serve(struct host *h, struct connection *c, const struct flow *flow, u32 step)
{
	struct flow head;
	bool queued = !bpf_map_peek_elem(&turns, &head), joins = false;

	bpf_spin_lock(&h->lock);
	c->step = 0;
	if (c->state == SMALL) {
		keep_a_segment(h, c);
	} else if (c->state == RESTS) {
		keep_resting(h, c, queued);
	} else if (c->state == RECEIVES) {
		bool granted = !queued && grant(h, c, step);

		joins = !granted && !c->waits && credit_of(c) < settings.mss;
		c->waits |= joins;
	}
	bpf_spin_unlock(&h->lock);
	/* Without a place in the queue, nobody is left waiting. */
	if (joins && bpf_map_push_elem(&turns, flow, 0)) {
		bpf_spin_lock(&h->lock);
		keep_a_segment(h, c);
		bpf_spin_unlock(&h->lock);
	}
}

static inline bool must_announce(const struct connection *c)
{
	return ahead(c->announced, c->high) < settings.mss && ahead(c->edge, c->announced) > 0 &&
	       credit_of(c) >= settings.mss;
}

#endif
