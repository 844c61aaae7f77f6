/* Windows granted by a receiving host: tc programs of its network device. Only connections whose opening they see are granted. */
#include "kernel.h"

#include <bpf/bpf_endian.h>

#include "grants.h"
#include "histogram.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define ETHERNET_BYTES 14
#define VLAN_BYTES 4
#define IPV4 0x0800
#define IPV6 0x86DD
#define VLAN 0x8100
#define TCP_LEAST 20
#define PROTOCOL_TCP 6
#define GO_ON (-1) /* the next program, if any */
#define FIN 1
#define SYN 2
#define RST 4
#define ACK 16
#define ECE 64
#define STAMPED_WORDS 8 /* TCP's header with timestamps alone */
#define NOP_NOP_STAMPS 0x0101080a
#define WOKEN 0xfa1170a4 /* mark of an ACK that this program makes */
#define MOST_WOKEN 4
#define MOST_SCALE 14
#define OPENING_WINDOW 536
#define MOST_OPTIONS 40
#define PAUSE_NS 150000000ULL /* less than the usual retransmission timeout */

/* Set by the loader, CLOCK_MONOTONIC in ns: grants end then, unless it is zero. */
volatile u64 act_until SEC(".data.until") = 0;

/* Connections that are granted and left alone; windows lowered; ACKs made; failures. */
u64 granted = 0;
u64 left_alone = 0;
u64 lowered = 0;
u64 woken = 0;
u64 failed = 0;

/* Two parts of a trial: connections that are left alone, and those that are granted. Words as in canary.bpf.c. */
struct totals {
	u64 connections;
	u64 refused;
	u64 returned;
	u64 segments;
	u64 repeated;
	u64 pauses;
	u64 transfers;
	u64 transfers_repeated;
	u64 transfers_paused;
	u64 transfer_us;
	u64 rtts;
	u64 rtt_us;
	u64 rtt_buckets[BUCKETS];
	u64 transfer_buckets[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct totals);
} parts SEC(".maps");

struct packet {
	struct flow flow;
	u32 ip; /* offset of its header */
	u32 tcp;
	u32 payload;
	u32 seq;
	u32 ack;
	u16 window;
	u8 flags;
	u8 words; /* of TCP's header */
	u8 is_ipv6;
};

/* Fields of an ACK that tell connections of a host apart. */
struct face {
	struct flow flow;
	u32 seq;
	u32 ack;
	u32 flags; /* with the header's length and the window: one word */
	u32 stamps[2];
	u8 macs[12];
};

/* State too large for the stack. */
struct scratch {
	struct connection new;
	struct face own;
	struct face other;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static inline struct scratch *scratch(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

static inline void count_one(u64 *counter)
{
	add(counter, 1);
}

/* Reads the headers; `out`: the packet leaves. */
static inline bool parse(struct __sk_buff *skb, struct packet *p, bool out)
{
	u32 at = ETHERNET_BYTES, from[4] = {}, to[4] = {}, bytes;
	u8 ip[40], tcp[TCP_LEAST];
	u16 protocol;

	if (bpf_skb_load_bytes(skb, 12, &protocol, 2))
		return false;
	if (protocol == bpf_htons(VLAN)) {
		if (bpf_skb_load_bytes(skb, 16, &protocol, 2))
			return false;
		at += VLAN_BYTES;
	}
	p->ip = at;
	p->is_ipv6 = protocol == bpf_htons(IPV6);
	if (p->is_ipv6) {
		if (bpf_skb_load_bytes(skb, at, ip, 40) || ip[6] != PROTOCOL_TCP)
			return false;
		__builtin_memcpy(from, ip + 8, 16);
		__builtin_memcpy(to, ip + 24, 16);
		at += 40;
		bytes = 40 + (ip[4] << 8 | ip[5]);
	} else if (protocol == bpf_htons(IPV4)) {
		/* No fragments. */
		if (bpf_skb_load_bytes(skb, at, ip, 20) || ip[9] != PROTOCOL_TCP || (ip[6] & 0x3f) || ip[7])
			return false;
		__builtin_memcpy(from, ip + 12, 4);
		__builtin_memcpy(to, ip + 16, 4);
		at += (ip[0] & 15) * 4;
		bytes = ip[2] << 8 | ip[3];
	} else {
		return false;
	}
	if (bpf_skb_load_bytes(skb, at, tcp, TCP_LEAST))
		return false;
	p->tcp = at;
	p->words = tcp[12] >> 4;
	/* The length of a packet that the card cuts or has joined may not be in its header. */
	bytes = skb->gso_segs > 1 || !bytes ? skb->len - p->ip : bytes;
	p->payload = bytes > at - p->ip + p->words * 4 ? bytes - (at - p->ip) - p->words * 4 : 0;
	p->flags = tcp[13];
	p->seq = (u32)tcp[4] << 24 | tcp[5] << 16 | tcp[6] << 8 | tcp[7];
	p->ack = (u32)tcp[8] << 24 | tcp[9] << 16 | tcp[10] << 8 | tcp[11];
	p->window = tcp[14] << 8 | tcp[15];
	__builtin_memset(&p->flow, 0, sizeof(p->flow));
	__builtin_memcpy(p->flow.own, out ? from : to, 16);
	__builtin_memcpy(p->flow.peer, out ? to : from, 16);
	__builtin_memcpy(out ? &p->flow.own_port : &p->flow.peer_port, tcp, 2);
	__builtin_memcpy(out ? &p->flow.peer_port : &p->flow.own_port, tcp + 2, 2);
	return true;
}

/* The window scale of a SYN; false without one. */
static inline bool scale_of(struct __sk_buff *skb, const struct packet *p, u8 *scale)
{
	u32 at = p->tcp + TCP_LEAST, end = p->tcp + p->words * 4;

	for (u32 looked = 0; looked < MOST_OPTIONS && at + 3 <= end; looked++) {
		u8 option[3];

		if (bpf_skb_load_bytes(skb, at, option, 3) || option[0] == 0)
			return false;
		if (option[0] == 3) {
			*scale = option[2] > MOST_SCALE ? MOST_SCALE : option[2];
			return true;
		}
		if (option[0] != 1 && option[1] < 2)
			return false;
		at += option[0] == 1 ? 1 : option[1];
	}
	return false;
}

static inline bool is_ours(struct __sk_buff *skb)
{
	return !settings.cgroup || bpf_skb_ancestor_cgroup_id(skb, settings.cgroup_level) == settings.cgroup;
}

static inline bool is_chosen(const struct packet *p)
{
	u32 hash = p->flow.peer_port * 0x9e3779b1U ^ p->flow.own_port * 0x85ebca6bU ^ p->flow.peer[0] ^ p->flow.peer[3] * 31;

	hash = (hash ^ hash >> 16) * 0x7feb352dU;
	hash = (hash ^ hash >> 15) * 0x846ca68bU;
	return (hash ^ hash >> 16) <= settings.share_q32;
}

static inline struct totals *part_of(const struct connection *c)
{
	u32 place = c->is_treated ? 1 : 0;

	return bpf_map_lookup_elem(&parts, &place);
}

static inline void begin_part(const struct connection *c)
{
	struct totals *totals = part_of(c);

	count_one(c->is_treated ? &granted : &left_alone);
	if (totals)
		count_one(&totals->connections);
}

/* Data for a trial. A response lasts from the request until a segment below a full one; `is_new`: it moves the highest byte. */
static inline void measure_data(struct connection *c, u64 now, u32 segments, bool is_new, bool is_last)
{
	struct totals *totals = part_of(c);
	u64 took_us = (now - c->began_ns) / 1000;

	if (!totals)
		return;
	__sync_fetch_and_add(&totals->segments, segments);
	if (!is_new) {
		count_one(&totals->repeated);
		c->has_repeated = 1;
	}
	if (!c->began_ns)
		return;
	if (now - c->last_ns > PAUSE_NS) {
		count_one(&totals->pauses);
		c->has_paused = 1;
	}
	c->last_ns = now;
	if (!is_last)
		return;
	count_one(&totals->transfers);
	__sync_fetch_and_add(&totals->transfers_repeated, c->has_repeated);
	__sync_fetch_and_add(&totals->transfers_paused, c->has_paused);
	__sync_fetch_and_add(&totals->transfer_us, took_us);
	count_bucket(totals->transfer_buckets, took_us);
	c->began_ns = 0;
	c->has_repeated = 0;
	c->has_paused = 0;
}

/* The window of a SYN, which is not scaled: less than a segment. The first ACK carries the first grant. */
static inline void lower_opening(struct __sk_buff *skb, const struct packet *p)
{
	u16 old = bpf_htons(p->window), new = bpf_htons(OPENING_WINDOW);

	if (p->window <= OPENING_WINDOW)
		return;
	if (bpf_l4_csum_replace(skb, p->tcp + 16, old, new, 2) || bpf_skb_store_bytes(skb, p->tcp + 14, &new, 2, 0))
		count_one(&failed);
}

/* A SYN or SYN-ACK leaves: a new connection. */
static inline void open(struct __sk_buff *skb, const struct packet *p)
{
	struct scratch *s = scratch();
	bool answers = p->flags & ACK;
	struct connection *new;
	u8 scale = 0;

	if (!s || !is_ours(skb)) {
		count_one(&left_alone);
		return;
	}
	new = &s->new;
	__builtin_memset(new, 0, sizeof(*new));
	new->rtt_ns = NO_RTT;
	new->full_bytes = OPENING_WINDOW;
	new->is_treated = is_chosen(p);
	/* The peer's first byte: the SYN-ACK of a connection that the host opens will say. */
	new->high = new->edge = p->ack;
	new->announced = p->ack + p->window;
	new->state = !new->is_treated ? CLOSED : answers ? SMALL : RESTS;
	new->unasked = answers;
	new->has_scale = scale_of(skb, p, &scale);
	new->scale = new->has_scale ? scale : 0;
	new->sent_ns = bpf_ktime_get_ns();
	new->timed = p->seq + 1;
	if (bpf_map_update_elem(&connections, &p->flow, new, answers ? BPF_ANY : BPF_NOEXIST))
		count_one(&failed);
	else
		begin_part(new);
	if (!answers && new->is_treated)
		lower_opening(skb, p);
}

static inline void forget(struct host *h, const struct flow *flow, struct connection *c)
{
	bpf_spin_lock(&h->lock);
	become(h, c, CLOSED);
	c->waits = 0;
	bpf_spin_unlock(&h->lock);
	bpf_map_delete_elem(&connections, flow);
}

static inline void measure(struct host *h, struct connection *c, u32 ack, u64 now)
{
	u64 rtt = now - c->sent_ns;

	if (!c->timed || (s32)(ack - c->timed) < 0)
		return;
	c->timed = 0;
	if (rtt < c->rtt_ns)
		c->rtt_ns = rtt;
	if (rtt < h->rtt_ns || !h->rtt_ns)
		h->rtt_ns = rtt;
}

static inline void note_opening(struct host *h, struct connection *c, u32 seq)
{
	count(h, c, false);
	c->high = c->edge = seq + 1;
	count(h, c, true);
	c->announced = c->high + OPENING_WINDOW;
	connect(h, c);
}

SEC("tc")
int grants_arrives(struct __sk_buff *skb)
{
	u64 now = bpf_ktime_get_ns();
	bool is_short = false, is_new = true;
	struct connection *c;
	struct packet p;
	struct host *h;

	if ((act_until && now > act_until) || !parse(skb, &p, false))
		return GO_ON;
	c = bpf_map_lookup_elem(&connections, &p.flow);
	h = the_host();
	if (!c || !h)
		return GO_ON;
	if (p.flags & RST) {
		forget(h, &p.flow, c);
		return GO_ON;
	}
	bpf_spin_lock(&h->lock);
	if (p.flags & ACK)
		measure(h, c, p.ack, now);
	if (p.flags & SYN) {
		note_opening(h, c, p.seq);
	} else if (p.payload) {
		u32 unit = skb->gso_segs > 1 ? skb->gso_size : p.payload;

		c->full_bytes = larger(c->full_bytes, unit);
		is_short = unit < c->full_bytes || (skb->gso_segs > 1 && p.payload % unit);
		is_new = ahead(p.seq + p.payload, c->high) > 0;
		if (c->state == CLOSED)
			c->high += ahead(p.seq + p.payload, c->high);
		else
			take(h, c, now, p.seq + p.payload, p.payload, is_short);
	} else if (!(p.flags & FIN) && p.seq + 1 == c->high && c->state != CLOSED) {
		answer_probe(h, c);
	}
	if (p.flags & FIN) {
		become(h, c, CLOSED);
		c->waits = 0;
	}
	bpf_spin_unlock(&h->lock);
	/* Scaling needs both. */
	if (p.flags & SYN) {
		u8 scale;

		if (!scale_of(skb, &p, &scale))
			c->scale = 0;
	}
	if (p.payload)
		measure_data(c, now, larger(skb->gso_segs, 1), is_new, is_short);
	return GO_ON;
}

static inline int replace(struct __sk_buff *skb, u32 sum, u32 at, u32 new, u64 more)
{
	u32 old;

	if (bpf_skb_load_bytes(skb, at, &old, 4))
		return -1;
	if (old == new)
		return 0;
	return bpf_l4_csum_replace(skb, sum, old, new, 4 | more) || bpf_skb_store_bytes(skb, at, &new, 4, 0) ? -1 : 0;
}

static inline int replace_address(struct __sk_buff *skb, const struct packet *p, u32 at, u32 new)
{
	u32 old;

	if (bpf_skb_load_bytes(skb, at, &old, 4))
		return -1;
	if (old == new)
		return 0;
	if (!p->is_ipv6 && bpf_l3_csum_replace(skb, p->ip + 10, old, new, 4))
		return -1;
	return replace(skb, p->tcp + 16, at, new, BPF_F_PSEUDO_HDR);
}

static inline int wear(struct __sk_buff *skb, const struct packet *p, const struct face *face)
{
	u32 sum = p->tcp + 16, at = p->ip + (p->is_ipv6 ? 8 : 12), ports;
	int bad = bpf_skb_store_bytes(skb, 0, face->macs, 12, 0);

	if (p->is_ipv6) {
		for (int i = 0; i < 4; i++) {
			bad |= replace_address(skb, p, at + 4 * i, face->flow.own[i]);
			bad |= replace_address(skb, p, at + 16 + 4 * i, face->flow.peer[i]);
		}
	} else {
		bad |= replace_address(skb, p, at, face->flow.own[0]);
		bad |= replace_address(skb, p, at + 4, face->flow.peer[0]);
	}
	ports = (u32)face->flow.peer_port << 16 | face->flow.own_port;
	bad |= replace(skb, sum, p->tcp, ports, 0);
	bad |= replace(skb, sum, p->tcp + 4, face->seq, 0);
	bad |= replace(skb, sum, p->tcp + 8, face->ack, 0);
	bad |= replace(skb, sum, p->tcp + 12, face->flags, 0);
	if (p->words == STAMPED_WORDS) {
		bad |= replace(skb, sum, p->tcp + 24, face->stamps[0], 0);
		bad |= replace(skb, sum, p->tcp + 28, face->stamps[1], 0);
	}
	return bad;
}

static inline bool read_face(struct __sk_buff *skb, const struct packet *p, struct face *face)
{
	u32 options;

	face->flow = p->flow;
	if (bpf_skb_load_bytes(skb, 0, face->macs, 12) || bpf_skb_load_bytes(skb, p->tcp + 4, &face->seq, 12))
		return false;
	if (p->words != STAMPED_WORDS)
		return p->words == TCP_LEAST / 4;
	return !bpf_skb_load_bytes(skb, p->tcp + 20, &options, 4) && options == bpf_htonl(NOP_NOP_STAMPS) &&
	       !bpf_skb_load_bytes(skb, p->tcp + 24, face->stamps, 8);
}

/* Sends an ACK of another connection, made from this pure ACK, which is restored. */
static inline void wake(struct __sk_buff *skb, const struct packet *p, struct scratch *s, const struct flow *flow,
			const struct connection *c)
{
	u32 window = (c->own_edge - c->ack) >> c->scale, mark = skb->mark;
	struct face *face = &s->other;

	face->flow = *flow;
	face->seq = bpf_htonl(c->seq);
	face->ack = bpf_htonl(c->ack);
	face->flags = bpf_htonl((u32)p->words << 28 | (u32)(c->flags & (ACK | ECE)) << 16 | (window > 65535 ? 65535 : window));
	face->stamps[0] = c->tsval;
	face->stamps[1] = c->tsecr;
	__builtin_memcpy(face->macs, c->macs, 12);
	skb->mark = WOKEN;
	if (!wear(skb, p, face) && !bpf_clone_redirect(skb, skb->ifindex, 0))
		count_one(&woken);
	else
		count_one(&failed);
	skb->mark = mark;
	if (wear(skb, p, &s->own))
		count_one(&failed);
}

/* Writes the granted window, in whole units of the scale: never below the announced one. */
static inline void write_window(struct __sk_buff *skb, const struct packet *p, struct connection *c)
{
	u32 own = (u32)p->window << c->scale, edge = ahead(c->announced, c->edge) ? c->announced : c->edge;
	u32 units = (ahead(edge, p->ack) + (1U << c->scale) - 1) >> c->scale;
	u16 old, new;

	c->own_edge = p->ack + own;
	if (c->state == CLOSED || units >= p->window) {
		c->announced = c->own_edge;
		c->widest = larger(c->widest, own);
		return;
	}
	old = bpf_htons(p->window);
	new = bpf_htons((u16)units);
	if (bpf_l4_csum_replace(skb, p->tcp + 16, old, new, 2) || bpf_skb_store_bytes(skb, p->tcp + 14, &new, 2, 0)) {
		count_one(&failed);
		return;
	}
	c->announced = p->ack + (units << c->scale);
	c->widest = larger(c->widest, units << c->scale);
	count_one(&lowered);
}

static inline void remember(const struct packet *p, struct connection *c, const struct face *face, u64 now)
{
	c->seq = p->seq + p->payload;
	c->ack = p->ack;
	c->flags = p->flags;
	c->doff = p->words;
	c->tsval = face->stamps[0];
	c->tsecr = face->stamps[1];
	__builtin_memcpy(c->macs, face->macs, 12);
	if (p->payload && !c->timed) {
		c->timed = c->seq;
		c->sent_ns = now;
	}
}

static inline void wake_others(struct __sk_buff *skb, const struct packet *p, struct host *h, struct scratch *s)
{
	for (int i = 0; i < MOST_WOKEN; i++) {
		struct connection *c = 0;
		struct flow flow;

		if (serve_turn(h, &flow, &c) <= 0)
			return;
		/* Another layout of options: its own next ACK, or a probe, announces it. */
		if (c && c->doff == p->words && must_announce(c))
			wake(skb, p, s, &flow, c);
	}
}

SEC("tc")
int grants_leaves(struct __sk_buff *skb)
{
	u64 now = bpf_ktime_get_ns();
	struct connection *c;
	struct scratch *s;
	struct packet p;
	struct host *h;
	bool is_plain;

	if ((act_until && now > act_until) || !parse(skb, &p, true))
		return GO_ON;
	if ((p.flags & SYN) && !(p.flags & RST))
		open(skb, &p);
	c = bpf_map_lookup_elem(&connections, &p.flow);
	h = the_host();
	if (!c || !h)
		return GO_ON;
	if (p.flags & RST) {
		forget(h, &p.flow, c);
		return GO_ON;
	}
	if (p.flags & SYN) {
		/* Scaling begins after it; the window of an opening segment is TCP's. */
		return GO_ON;
	}
	if (skb->mark == WOKEN) {
		write_window(skb, &p, c);
		return GO_ON;
	}
	if (p.payload && !c->began_ns)
		c->began_ns = c->last_ns = now;
	if (!c->is_treated)
		return GO_ON;
	s = scratch();
	if (!s)
		return GO_ON;
	__builtin_memset(s->own.stamps, 0, sizeof(s->own.stamps));
	is_plain = read_face(skb, &p, &s->own);
	bpf_spin_lock(&h->lock);
	advance(h, now);
	if (p.payload)
		ask(h, c);
	bpf_spin_unlock(&h->lock);
	/* An own ACK is where others' turns can be announced. */
	if (is_plain && !p.payload && !(p.flags & FIN))
		wake_others(skb, &p, h, s);
	if (p.payload || c->step)
		serve(h, c, &p.flow, p.payload ? FIRST * settings.mss : larger(2 * c->step, settings.mss));
	write_window(skb, &p, c);
	remember(&p, c, &s->own, now);
	if ((p.flags & FIN) && c->state == CLOSED)
		forget(h, &p.flow, c);
	return GO_ON;
}

/* One step of vectors/grants.json, by BPF_PROG_TEST_RUN; never attached. */
struct replay {
	u64 now_ns;
	u64 rtt_ns;
	u32 step;
	u32 place;
	u32 seq;
	u32 payload;
	u32 silent;
	/* Results. */
	u32 credit;
	u32 woken; /* a bit for each connection */
	u32 connections;
	u64 outstanding;
};

enum { STEP_OPEN, STEP_ACCEPT, STEP_REQUEST, STEP_DATA, STEP_CLOSE };

static inline void replay_turns(struct host *h, struct replay *in)
{
	for (int i = 0; i < MOST_TURNS; i++) {
		struct connection *c = 0;
		struct flow flow;

		if (serve_turn(h, &flow, &c) <= 0)
			return;
		if (!c)
			continue;
		c->announced = c->edge;
		if (flow.own_port != in->place)
			in->woken |= 1U << (flow.own_port & 31);
	}
}

SEC("syscall")
int grants_replay(struct replay *ctx)
{
	struct replay in = *ctx;
	struct flow flow = { .own_port = in.place };
	struct host *h = the_host();
	struct connection *c;

	if (!h)
		return 1;
	in.woken = 0;
	if (in.step == STEP_OPEN || in.step == STEP_ACCEPT) {
		struct scratch *s = scratch();
		struct connection *new;

		if (!s)
			return 1;
		new = &s->new;
		__builtin_memset(new, 0, sizeof(*new));
		new->rtt_ns = NO_RTT;
		new->high = new->edge = new->announced = in.seq;
		new->full_bytes = settings.mss;
		new->widest = 2 * settings.mss;
		new->unasked = in.step == STEP_ACCEPT;
		new->state = new->unasked ? SMALL : RESTS;
		h->rtt_ns = NO_RTT;
		h->period = 2;
		return bpf_map_update_elem(&connections, &flow, new, BPF_ANY);
	}
	c = bpf_map_lookup_elem(&connections, &flow);
	if (!c)
		return 2;
	if (in.step == STEP_REQUEST) {
		bpf_spin_lock(&h->lock);
		advance(h, in.now_ns);
		bpf_spin_unlock(&h->lock);
		replay_turns(h, &in);
		bpf_spin_lock(&h->lock);
		ask(h, c);
		bpf_spin_unlock(&h->lock);
		serve(h, c, &flow, FIRST * settings.mss);
	} else if (in.step == STEP_DATA) {
		u32 before;

		bpf_spin_lock(&h->lock);
		advance(h, in.now_ns);
		if (in.rtt_ns) {
			c->rtt_ns = in.rtt_ns < c->rtt_ns ? in.rtt_ns : c->rtt_ns;
			h->rtt_ns = in.rtt_ns < h->rtt_ns ? in.rtt_ns : h->rtt_ns;
		}
		if (in.payload)
			take(h, c, in.now_ns, in.seq + in.payload, in.payload, in.payload < settings.mss);
		else if (in.seq + 1 == c->high)
			answer_probe(h, c);
		before = c->step;
		bpf_spin_unlock(&h->lock);
		if (in.payload || in.seq + 1 == c->high)
			replay_turns(h, &in);
		if (in.payload)
			serve(h, c, &flow, larger(2 * before, settings.mss));
	} else {
		bpf_spin_lock(&h->lock);
		become(h, c, CLOSED);
		c->waits = 0;
		bpf_spin_unlock(&h->lock);
	}
	if (!in.silent) {
		c->announced = c->edge;
	}
	if (in.silent && in.step == STEP_DATA && must_announce(c))
		in.woken |= 1U << (in.place & 31);
	in.credit = credit_of(c);
	in.outstanding = h->now.credit + h->last.credit;
	in.connections = h->now.connections + h->last.connections;
	*ctx = in;
	return 0;
}
