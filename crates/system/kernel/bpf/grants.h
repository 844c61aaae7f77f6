/* Grants: windows of a receiving host, as crates/engine/laws/src/receiver/grants.rs has them. Times are in ns. */
#ifndef FANIN_GRANTS_H
#define FANIN_GRANTS_H

#define FIRST 10
#define ALONE 3
#define NO_RTT (~0ULL)
#define MOST_GRANT (1U << 30)
#define QUEUE_PLACES 65536 /* a power of two */
#define CONNECTIONS 65536

/* Flags of the settings. */
#define PAIRS 1 /* TCP acknowledges every second segment */
#define MEASURES 2 /* a trial */
#define USUAL 64
#define LEAST_PAUSE_NS 200000ULL
#define STALL_NS 20000000ULL /* a wait on an idle link that no timer ends */

enum { CLOSED, RECEIVES, RESTS, SMALL };

/* Ends of a connection. */
#define OWN_FIN 1
#define PEER_FIN 2
#define PEER_FIN_EARLY 4 /* it has arrived out of order */
#define DOUBTFUL 8 /* a segment that may have ended it */

/* Set by the loader. */
const volatile struct {
	u64 rate; /* bytes a second */
	u64 queue;
	u64 idle_ns;
	u32 mss;
	u32 turn; /* bytes of a turn */
	u32 share_q32; /* connections that are granted, in 1/2^32 */
	u32 flags;
	u32 device;
	u64 cgroup; /* 0: all */
	u32 cgroup_level;
	u32 unused;
	u64 limit; /* bytes a second that are granted in all; 0: none, else `rate` is the same */
	u64 depth_ns; /* how far `paid_ns` lags behind the present at most */
	u64 limit_bits; /* as the user has it, for `status` */
} settings = {};

struct flow {
	u32 peer[4];
	u32 own[4];
	u16 peer_port;
	u16 own_port;
};

struct connection {
	/* Tests read these two: the next byte in order, as TCP has it, and one past the highest byte. */
	u32 next;
	u32 high;
	u64 rtt_ns;
	u64 place; /* in the queue of turns, plus one */
	u64 doubt_place; /* in that of connections in doubt, plus one */
	u32 path; /* bytes that the link carries in a round trip */
	u32 edge;
	u32 announced;
	u32 known; /* the largest edge announced: a window shrinks by parts of its unit */
	u32 period;
	u32 full_bytes; /* a full segment */
	u32 widest; /* the largest window that the peer knows of */
	u32 base; /* the highest byte before the present response */
	u32 sizes[2]; /* of the last two responses */
	u32 step; /* data that arrived since the last grant */
	u8 state;
	u8 waits;
	u8 probed; /* its window has to be announced, whatever was announced before */
	u8 unasked;
	u8 full;
	u8 splits; /* a response went on after a short segment that had ended it */
	u8 may_go_on; /* its last segment was short, but its response has another size than those before */
	u8 in_doubt; /* its response may not have ended */
	/* By which TCP accepts a segment, beside `next`: the right edge of TCP's own window, the oldest byte that the peer has not
	 * acknowledged, the number of bytes that it has, at most 4 GiB, the byte after the last one sent, and the peer's largest window. */
	u32 most;
	u32 una;
	u32 acked;
	u32 sent;
	u32 peer_most;
	u32 peer_fin; /* the number after the peer's FIN */
	u8 peer_scale;
	u8 ends; /* flags below */
	u64 seen_ns; /* last packet */
	u64 waits_ns; /* since when it waits */
	/* The host's last segment, for an ACK without TCP. */
	u32 seq;
	u32 ack;
	u32 own_edge;
	u32 tsval;
	u32 tsecr;
	u8 scale;
	u8 is_stamped;
	u8 is_ipv6;
	u8 is_tagged; /* in its header, or beside it */
	u8 flags;
	u16 tag;
	u16 macs[6];
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
	u64 resting;
	u32 connections;
};

struct host {
	struct bpf_spin_lock lock;
	u32 period;
	u64 began_ns;
	u64 rested; /* credit of connections that have rested for longer than two periods */
	u64 crowded_ns; /* start of the last period with several connections; 0: none */
	u64 rtt_ns;
	u32 path;
	u32 waiting; /* connections that wait for a turn or an announcement */
	u64 now_ns;
	u64 quiet_ns; /* since then nothing has arrived and nothing was granted */
	u64 idle_bytes; /* turns to give because the link is idle */
	u64 due_ns; /* since when they are due */
	u32 usual[2]; /* the largest response of this group, and of the last one */
	u32 finished; /* responses of this group */
	u32 expired; /* how often the timer has expired since an arrival */
	u32 is_armed;
	u64 armed_ns; /* when the timer expires */
	u64 paid_ns; /* the time by which the limit has paid for all grants */
	u64 turned_ns; /* when the timer last gave turns that were paid for */
	u32 unpaid; /* a connection waits because its grant is not paid for */
	u32 turns_due; /* the loader is to give turns */
	struct bpf_timer timer;
	struct sum now;
	struct sum last;
	/* The queue of turns: places from `head` to `tail`; and likewise that of connections in doubt. */
	u64 head;
	u64 tail;
	u64 doubt_head;
	u64 doubt_tail;
	u32 doubting; /* connections in doubt */
	/* Packets whose window was lowered, ACKs made, and failures. */
	u64 lowered;
	u64 woken;
	u64 failed;
	u64 ignored; /* segments that TCP does not accept */
	u64 entries; /* connections in the map */
	u64 full; /* connections that found no place there */
	u64 longest_ns; /* longest wait for a turn, and longest wait on an idle link */
	u64 longest_idle_ns;
	u64 stalls; /* waits on an idle link of STALL_NS and more */
	u64 probes; /* of windows that the programs had closed */
	u64 expirations;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct host);
} hosts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CONNECTIONS);
	__type(key, struct flow);
	__type(value, struct connection);
} connections SEC(".maps");

/* Numbers and scales from the SYNs of both ends. */
struct opening {
	u64 sent_ns;
	u32 own;
	u32 peer;
	u32 window; /* of the host's SYN */
	u8 own_scale;
	u8 peer_scale;
	u8 is_scaled; /* OWN and PEER: which of them scales */
	u8 accepts; /* the peer opens it */
	u8 is_sent; /* the host's SYN has left */
};

#define OWN 1
#define PEER 2

/* Connections that open. A flood of SYNs replaces only these. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow);
	__type(value, struct opening);
} openings SEC(".maps");

struct flow turns[QUEUE_PLACES];
struct flow doubts[QUEUE_PLACES];

static __always_inline u32 ahead(u32 of, u32 behind)
{
	s32 by = (s32)(of - behind);

	return by > 0 ? by : 0;
}

static __always_inline u32 credit_of(const struct connection *c)
{
	return ahead(c->edge, c->high);
}

/* The host's lock is held from here on down to the next section. */

static __always_inline void count(struct host *h, const struct connection *c, bool adds)
{
	/* Senders do not use parts of a segment. */
	u64 credit = credit_of(c) - credit_of(c) % settings.mss;
	u32 age = h->period - c->period;
	struct sum *sum = age == 0 ? &h->now : &h->last;

	if (c->state == RESTS) {
		u64 *resting = age > 1 ? &h->rested : &sum->resting;

		*resting = adds ? *resting + credit : *resting > credit ? *resting - credit : 0;
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

/* A response has ended, at the latest with the next request. */
static __always_inline void finish(struct host *h, struct connection *c)
{
	u32 size = c->high - c->base;

	if (!size || c->state == SMALL || c->state == CLOSED)
		return;
	c->sizes[1] = c->sizes[0];
	c->sizes[0] = size;
	c->base = c->high;
	h->usual[0] = larger(h->usual[0], size);
	if (++h->finished < USUAL)
		return;
	h->finished = 0;
	h->usual[1] = h->usual[0];
	h->usual[0] = 0;
}

/* Bytes of a response that the connection awaits; zero before any. */
static __always_inline u32 expected_of(const struct host *h, const struct connection *c)
{
	return c->sizes[0] ? larger(c->sizes[0], c->sizes[1]) : larger(h->usual[0], h->usual[1]);
}

/* Without branches, of which the verifier would follow each: a difference if it is negative, else 0. */
static __always_inline u64 if_negative(u64 difference)
{
	__s64 sign = (__s64)difference >> 63;

	asm volatile("" : "+r"(sign));
	return difference & sign;
}

static __always_inline u64 least_of(u64 a, u64 b)
{
	return b + if_negative(a - b);
}

static __always_inline u64 most_of(u64 a, u64 b)
{
	return a - if_negative(a - b);
}

/* How much of one number is left beside another. */
static __always_inline u64 beside(u64 whole, u64 part)
{
	return whole - part - if_negative(whole - part);
}

/* Time in which the limit pays for this many bytes. */
static __always_inline u64 time_of(u64 bytes)
{
	return bytes * 1000000000ULL / settings.limit;
}

/* Pays for bytes by which an edge advances. */
static __always_inline void pay(struct host *h, u32 bytes)
{
	if (settings.limit && bytes)
		h->paid_ns = most_of(h->paid_ns, h->now_ns - settings.depth_ns) + time_of(bytes);
}

/* Bytes that the limit has paid for, and nobody has been granted. */
static __always_inline u64 allowance_of(const struct host *h)
{
	if (!settings.limit)
		return MOST_GRANT;
	return least_of(least_of(beside(h->now_ns, h->paid_ns), settings.depth_ns) * settings.limit / 1000000000ULL, MOST_GRANT);
}

/* When the limit has paid for a turn. */
static __always_inline u64 paid_turn_ns(const struct host *h)
{
	return settings.limit ? h->paid_ns + time_of(settings.turn) : 0;
}

static __always_inline void become(struct host *h, struct connection *c, u8 state)
{
	count(h, c, false);
	c->state = state;
	c->period = h->period;
	count(h, c, true);
}

static __always_inline void set_edge(struct host *h, struct connection *c, u32 credit)
{
	u32 before = c->edge;

	count(h, c, false);
	c->edge = c->high + credit;
	count(h, c, true);
	pay(h, ahead(c->edge, before));
}

static __always_inline void advance(struct host *h, u64 now)
{
	u64 elapsed = now - h->began_ns;
	struct sum none = {};
	bool skips = elapsed >= 2 * settings.idle_ns;

	h->now_ns = now;
	if (elapsed < settings.idle_ns)
		return;
	h->rested += h->last.resting + (skips ? h->now.resting : 0);
	h->last = skips ? none : h->now;
	h->now = none;
	h->period += 1 + skips;
	h->began_ns = now;
}

static __always_inline void set_doubt(struct host *h, struct connection *c, bool in_doubt)
{
	h->doubting -= c->in_doubt;
	c->in_doubt = in_doubt;
	h->doubting += in_doubt;
}

static __always_inline void set_waits(struct host *h, struct connection *c, bool waits, bool probed)
{
	if (waits && !c->waits)
		c->waits_ns = h->now_ns;
	else if (c->waits && !waits && h->now_ns - c->waits_ns > h->longest_ns)
		h->longest_ns = h->now_ns - c->waits_ns;
	h->waiting -= c->waits || c->probed;
	c->waits = waits;
	c->probed = probed;
	h->waiting += waits || probed;
}

/* Segments that a sender needs for an ACK. */
static __always_inline u32 acknowledged(void)
{
	return settings.flags & PAIRS ? 2 * settings.mss : settings.mss;
}

static __always_inline void give_a_segment(struct host *h, struct connection *c)
{
	if (credit_of(c) >= settings.mss)
		return;
	set_edge(h, c, acknowledged());
	set_waits(h, c, false, c->probed);
	set_doubt(h, c, false);
}

/* TCP acknowledges at the end of the grant: an even number of segments, with those that are not acknowledged yet. */
static __always_inline u32 in_pairs(const struct connection *c, u32 bytes)
{
	u32 segments = bytes / settings.mss, open = (ahead(c->high, c->ack) + settings.mss - 1) / settings.mss;

	return bytes - ((segments + open) & 1 && segments ? settings.mss : 0);
}

/* A place in the queue of turns. Without one, nobody is left waiting. */
static __always_inline void join(struct host *h, struct connection *c, const struct flow *flow, bool waits, bool probed)
{
	if (c->place <= h->head) {
		if (h->tail - h->head >= QUEUE_PLACES) {
			give_a_segment(h, c);
			return;
		}
		turns[h->tail & (QUEUE_PLACES - 1)] = *flow;
		c->place = ++h->tail;
	}
	set_waits(h, c, waits, probed);
}

/* A place in the queue of those in doubt. Without one, the connection is served at once. */
static __always_inline void join_doubts(struct host *h, struct connection *c, const struct flow *flow)
{
	if (c->doubt_place <= h->doubt_head) {
		if (h->doubt_tail - h->doubt_head >= QUEUE_PLACES) {
			give_a_segment(h, c);
			return;
		}
		doubts[h->doubt_tail & (QUEUE_PLACES - 1)] = *flow;
		c->doubt_place = ++h->doubt_tail;
	}
	set_doubt(h, c, true);
}

/* Grants one segment if there is none, as soon as the limit has paid for it. */
static __always_inline void keep_a_segment(struct host *h, struct connection *c, const struct flow *flow)
{
	if (credit_of(c) >= settings.mss)
		return;
	if (allowance_of(h) >= settings.mss) {
		give_a_segment(h, c);
		return;
	}
	h->unpaid = 1;
	if (!c->waits)
		join(h, c, flow, true, c->probed);
}

/* Bytes that the link carries in a round trip. */
static __always_inline u32 carried(u64 rtt_ns)
{
	u64 bytes = rtt_ns < 1000000000ULL * 60 ? settings.rate / 1000 * (rtt_ns / 1000) / 1000 : MOST_GRANT;

	return bytes < MOST_GRANT ? bytes : MOST_GRANT;
}

static __always_inline void measured(struct host *h, struct connection *c, u64 rtt)
{
	if (rtt < c->rtt_ns) {
		c->rtt_ns = rtt;
		c->path = carried(rtt);
	}
	if (rtt < h->rtt_ns || !h->rtt_ns) {
		h->rtt_ns = rtt;
		h->path = carried(rtt);
	}
}

static __always_inline bool is_alone(const struct host *h, u32 many)
{
	return many <= 1 && (!h->crowded_ns || h->began_ns - h->crowded_ns >= settings.idle_ns);
}

/* The limit of all credit, and the bytes that connections share. */
static __always_inline u64 limit_of(const struct host *h, u64 path, bool alone, bool asks, u64 *whole)
{
	u64 most = most_of(path, 2 * settings.queue - settings.queue / 8), budget = least_of(path + settings.queue, most);
	u64 rest = h->now.resting + h->last.resting + h->rested;

	if (settings.limit)
		budget = least_of(budget + carried(2 * LEAST_PAUSE_NS), most);
	budget = most_of(budget, settings.turn);
	*whole = budget + (alone ? ALONE * path : 0);
	if (asks)
		return most_of(least_of(most_of(budget, most - most / 8), beside(most, rest)), settings.turn);
	if (alone)
		return *whole - least_of(rest, budget / 2);
	rest -= beside(h->rested, budget / 2);
	return most_of(least_of(budget, beside(most, rest)), settings.turn);
}

/* A turn. Senders make segments of at most half of the largest window that they know of (tcp_bound_to_half_wnd). */
static __always_inline u32 turn_of(const struct connection *c)
{
	u32 bytes = c->widest < 2 * settings.mss ? larger(settings.turn, 2 * settings.mss) : settings.turn;

	return settings.flags & PAIRS ? larger(in_pairs(c, bytes), settings.mss) : bytes;
}

/* Whole segments, up to the share and `step` more than the credit; a connection without a segment gets a turn or nothing. Returns whether
 * it has a segment then. */
static __always_inline bool grant(struct host *h, struct connection *c, u32 step, bool asks)
{
	u64 path = c->rtt_ns != NO_RTT ? c->path : h->path, whole, limit;
	u64 used = h->now.credit + h->last.credit, most, room, granted;
	u32 many = h->now.connections + h->last.connections, credit = credit_of(c);
	u32 least = credit < settings.mss ? turn_of(c) : settings.mss, left;
	u64 paid = credit + allowance_of(h);
	bool alone;

	if (many > 1)
		h->crowded_ns = h->began_ns | 1;
	alone = is_alone(h, many);
	limit = limit_of(h, path, alone, asks, &whole);
	most = asks && expected_of(h, c) ? MOST_GRANT : whole / (many ? many : 1);
	if (most > (u64)credit + step)
		most = (u64)credit + step;
	left = ahead(expected_of(h, c), c->high - c->base);
	if (!alone && left) {
		left += settings.mss - 1;
		most = least_of(most, left - left % settings.mss);
	}
	if (most < least)
		most = least;
	room = credit + (limit > used ? limit - used : 0);
	h->unpaid = paid < least;
	granted = least_of(most < room ? most : room, paid);
	if (granted > MOST_GRANT)
		granted = MOST_GRANT;
	granted -= granted % settings.mss;
	if (settings.flags & PAIRS)
		granted = in_pairs(c, granted);
	if (granted >= least && granted > credit) {
		set_edge(h, c, granted);
		h->quiet_ns = h->now_ns;
	}
	return credit_of(c) >= settings.mss;
}

/* How long the link is idle before turns are given. */
static __always_inline u64 pause_of(const struct host *h)
{
	u64 known = h->rtt_ns < 60ULL * 1000000000 ? 2 * h->rtt_ns : 0, least = most_of(known, LEAST_PAUSE_NS);

	return most_of(least_of(least << (h->expired < 16 ? h->expired : 16), settings.idle_ns), least);
}

/* Something happens after a pause in which connections waited. */
static __always_inline void end_quiet(struct host *h, u64 now)
{
	u64 since = most_of(h->idle_bytes ? h->due_ns : h->quiet_ns, paid_turn_ns(h)), idle = h->waiting ? beside(now, since) : 0;

	h->longest_idle_ns = most_of(h->longest_idle_ns, idle);
	h->stalls += idle >= STALL_NS;
	h->quiet_ns = now;
}

/* When the link has been idle for long enough. */
static __always_inline u64 idle_due_ns(const struct host *h)
{
	return most_of(h->quiet_ns, paid_turn_ns(h)) + pause_of(h);
}

/* When those who wait for the limit get turns. */
static __always_inline u64 paid_due_ns(const struct host *h)
{
	return most_of(h->turned_ns + LEAST_PAUSE_NS, paid_turn_ns(h));
}

/* When the timer is to expire. */
static __always_inline u64 due_of(const struct host *h)
{
	return settings.limit && h->unpaid ? least_of(idle_due_ns(h), paid_due_ns(h)) : idle_due_ns(h);
}

/* The link has been idle while connections wait: those with credit do not use it, so others get turns. Or the limit has paid for a turn. */
static __always_inline void expire(struct host *h, u64 now)
{
	if ((!h->waiting && !h->doubting) || (__s64)(now - due_of(h)) < 0)
		return;
	advance(h, now);
	if (settings.limit && h->unpaid && (__s64)(now - paid_due_ns(h)) >= 0) {
		h->turned_ns = now;
		h->unpaid = 0;
		h->turns_due = 1;
		return;
	}
	end_quiet(h, now);
	if (!h->idle_bytes)
		h->due_ns = now;
	h->expired++;
	h->expirations++;
	h->idle_bytes = most_of(least_of(h->path, settings.queue), 1);
}

/* A segment has arrived; a grant follows with `serve`. */
static __always_inline void take(struct host *h, struct connection *c, u64 now, u32 end, bool is_short)
{
	u32 more = ahead(end, c->high), credit, expected;
	bool small, ends, is_last, is_exact;

	c->splits |= more && c->high != c->base && c->state == RESTS;

	advance(h, now);
	end_quiet(h, now);
	h->expired = 0;
	h->idle_bytes = 0;
	if (!is_short)
		c->full = 1;
	small = c->state == SMALL && !c->full;
	count(h, c, false);
	c->high += more;
	pay(h, ahead(c->high, c->edge));
	credit = credit_of(c);
	c->edge = c->high + credit;
	/* The peer knew of a larger window. A part of a segment may also fill its window. */
	expected = expected_of(h, c);
	is_last = (credit >= settings.mss && !c->splits) || c->high - c->base >= expected;
	is_exact = c->high - c->base == c->sizes[0] || c->high - c->base == c->sizes[1];
	ends = is_short && ((ahead(c->known, c->high) > 0 && is_last) || is_exact);
	c->state = small || (ends && !c->full) ? SMALL : ends ? RESTS : RECEIVES;
	c->may_go_on = ends && !is_exact;
	set_doubt(h, c, false);
	c->period = h->period;
	if (ends || small)
		set_waits(h, c, false, c->probed);
	count(h, c, true);
	c->step += more;
}

/* A connection at rest keeps a segment if its peer may use it without a request, or if resting credit is small. */
static __always_inline void keep_resting(struct host *h, struct connection *c, const struct flow *flow, bool queued)
{
	u64 resting = h->now.resting + h->last.resting + h->rested;

	if (c->unasked || (!queued && resting + acknowledged() <= settings.queue && allowance_of(h) >= settings.mss))
		keep_a_segment(h, c, flow);
}

/* The connection opens: its first grant is that of one at rest. */
static __always_inline void connect(struct host *h, struct connection *c, const struct flow *flow)
{
	if (c->state == RESTS)
		keep_resting(h, c, flow, false);
	else if (c->state == SMALL)
		keep_a_segment(h, c, flow);
}

/* A request. */
static __always_inline void ask(struct host *h, struct connection *c, const struct flow *flow)
{
	if (c->state == SMALL)
		keep_a_segment(h, c, flow);
	else if (c->state != CLOSED) {
		finish(h, c);
		set_doubt(h, c, false);
		become(h, c, RECEIVES);
	}
	c->full = 0;
}

/* TCP answers only some probes (tcp_invalid_ratelimit), so that another connection's ACK may have to announce the window. */
static __always_inline void answer_probe(struct host *h, struct connection *c, const struct flow *flow)
{
	c->unasked |= c->state == RESTS;
	/* Not a keepalive, nor a wait for the limit. */
	h->probes += c->state == RECEIVES && credit_of(c) < settings.mss && allowance_of(h) >= settings.mss;
	keep_a_segment(h, c, flow);
	if (credit_of(c) >= settings.mss)
		join(h, c, flow, c->waits, true);
}

/* A grant to the connection itself, unless others wait; or its place among them. */
static __always_inline void serve(struct host *h, struct connection *c, const struct flow *flow, u32 step, bool asks)
{
	bool queued = h->waiting > c->probed;

	c->step = 0;
	if (c->state == SMALL) {
		keep_a_segment(h, c, flow);
	} else if (c->state == RESTS) {
		keep_resting(h, c, flow, queued);
		if (c->may_go_on && credit_of(c) < settings.mss)
			join_doubts(h, c, flow);
		c->may_go_on = 0;
	} else if (c->state == RECEIVES) {
		bool granted = !queued && grant(h, c, step, asks);

		if (!granted && !c->waits && credit_of(c) < settings.mss)
			join(h, c, flow, true, c->probed);
	}
}

/* Without anybody who waits, the queue's places are of connections that need none. */
static __always_inline void empty_queue(struct host *h)
{
	if (!h->waiting)
		h->head = h->tail;
	if (!h->doubting)
		h->doubt_head = h->doubt_tail;
}

/* Here the lock is free: helpers may be called. */

static __always_inline struct host *the_host(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&hosts, &zero);
}

enum { NOBODY = -1, NOTHING_LEFT, PASSED, SERVED };

/* Why a turn is given. */
enum cause { REQUEST, DATA, IDLE };

/* A turn on an idle link, whatever credit there is. */
static __always_inline bool give_idle_turn(struct host *h, struct connection *c)
{
	u32 bytes = turn_of(c);

	if (!h->idle_bytes)
		return false;
	if (allowance_of(h) < settings.turn) {
		h->unpaid = 1;
		h->idle_bytes = 0;
		return false;
	}
	h->idle_bytes -= least_of(h->idle_bytes, bytes);
	set_edge(h, c, larger(bytes, settings.mss));
	return true;
}

static __always_inline bool must_announce(const struct connection *c)
{
	return ahead(c->announced, c->high) < settings.mss && ahead(c->edge, c->announced) > 0 &&
	       credit_of(c) >= settings.mss;
}

#endif
