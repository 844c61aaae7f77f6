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
#define MOST_LOOKED 8 /* places of the queue that an ACK looks at: a connection has one, and each is passed once */
#define MOST_HEADERS 128
#define MOST_SCALE 14
#define OPENING_WINDOW 536
#define MOST_OPTIONS 40
#define PAUSE_NS 150000000ULL /* less than the usual retransmission timeout */

/* Set by the loader, CLOCK_MONOTONIC in ns: grants end then, unless it is zero. */
volatile u64 act_until SEC(".data.until") = 0;

/* Connections that are granted and left alone. */
u64 granted = 0;
u64 left_alone = 0;

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

/* Fields of an ACK that tell connections of a host apart, as they are in a packet. */
struct face {
	u32 addresses[8]; /* of the host and the peer: two words with IPv4 */
	u32 tcp[6]; /* ports, number, acknowledgement, flags with the window; timestamps */
	u16 macs[6];
};

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
	u8 is_plain; /* without options but timestamps */
};

/* State too large for the stack. */
struct scratch {
	struct connection new;
	struct face own;
	struct face worn;
	struct face next;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *scratch(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

static __always_inline void count_one(u64 *counter)
{
	add(counter, 1);
}

static __always_inline void fail(struct host *h)
{
	count_one(&h->failed);
}

/* Reads the fields that tell this packet from other ACKs. */
static __always_inline void read_face(u8 *data, u8 *tcp, u8 *end, struct packet *p, struct face *face)
{
	/* The Ethernet header is two bytes off words. */
	for (int i = 0; i < 6; i++)
		face->macs[i] = *(u16 *)(data + 2 * i);
	face->tcp[1] = *(u32 *)(tcp + 4);
	face->tcp[2] = *(u32 *)(tcp + 8);
	face->tcp[3] = *(u32 *)(tcp + 12);
	face->tcp[4] = face->tcp[5] = 0;
	p->is_plain = p->words == TCP_LEAST / 4;
	if (p->words < STAMPED_WORDS || tcp + 32 > end || *(u32 *)(tcp + 20) != bpf_htonl(NOP_NOP_STAMPS))
		return;
	p->is_plain = p->words == STAMPED_WORDS;
	face->tcp[4] = *(u32 *)(tcp + 24);
	face->tcp[5] = *(u32 *)(tcp + 28);
}

/* Reads the headers; the packet leaves if there is a face to read. */
static __always_inline bool parse_headers(struct __sk_buff *skb, struct packet *p, struct face *face)
{
	u8 *data = (u8 *)(long)skb->data, *end = (u8 *)(long)skb->data_end, *ip, *tcp;
	u32 at = ETHERNET_BYTES, bytes;
	bool out = face != 0;
	u16 protocol;

	if (data + ETHERNET_BYTES + VLAN_BYTES + 20 > end)
		return false;
	protocol = *(u16 *)(data + 12);
	if (protocol == bpf_htons(VLAN)) {
		protocol = *(u16 *)(data + 16);
		at += VLAN_BYTES;
	}
	ip = data + at;
	p->ip = at;
	p->is_ipv6 = protocol == bpf_htons(IPV6);
	if (p->is_ipv6) {
		if (ip + 40 > end || ip[6] != PROTOCOL_TCP)
			return false;
		for (int i = 0; i < 4; i++) {
			p->flow.own[i] = *(u32 *)(ip + (out ? 8 : 24) + 4 * i);
			p->flow.peer[i] = *(u32 *)(ip + (out ? 24 : 8) + 4 * i);
		}
		at += 40;
		bytes = 40 + (ip[4] << 8 | ip[5]);
	} else {
		/* No fragments. */
		if (protocol != bpf_htons(IPV4) || ip + 20 > end || ip[9] != PROTOCOL_TCP || (ip[6] & 0x3f) || ip[7])
			return false;
		__builtin_memset(p->flow.peer, 0, sizeof(p->flow.peer));
		__builtin_memset(p->flow.own, 0, sizeof(p->flow.own));
		p->flow.own[0] = *(u32 *)(ip + (out ? 12 : 16));
		p->flow.peer[0] = *(u32 *)(ip + (out ? 16 : 12));
		at += (ip[0] & 15) * 4;
		bytes = ip[2] << 8 | ip[3];
	}
	tcp = data + at;
	if (at > MOST_HEADERS || tcp + TCP_LEAST > end)
		return false;
	p->tcp = at;
	p->words = tcp[12] >> 4;
	/* The length of a packet that the card cuts or has joined may not be in its header. */
	bytes = skb->gso_segs > 1 || !bytes ? skb->len - p->ip : bytes;
	at += p->words * 4 - p->ip;
	p->payload = bytes > at ? bytes - at : 0;
	p->flags = tcp[13];
	p->seq = bpf_ntohl(*(u32 *)(tcp + 4));
	p->ack = bpf_ntohl(*(u32 *)(tcp + 8));
	p->window = bpf_ntohs(*(u16 *)(tcp + 14));
	p->flow.own_port = *(u16 *)(tcp + (out ? 0 : 2));
	p->flow.peer_port = *(u16 *)(tcp + (out ? 2 : 0));
	if (face)
		read_face(data, tcp, end, p, face);
	return true;
}

/* A driver may leave headers outside of the linear part. */
static __always_inline bool parse(struct __sk_buff *skb, struct packet *p, struct face *face)
{
	u32 linear = skb->data_end - skb->data, wanted = smaller(skb->len, MOST_HEADERS);

	if (linear < wanted && bpf_skb_pull_data(skb, wanted))
		return false;
	return parse_headers(skb, p, face);
}

/* The window scale of a SYN; false without one. */
static __always_inline bool scale_of(struct __sk_buff *skb, const struct packet *p, u8 *scale)
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

static __always_inline bool is_ours(struct __sk_buff *skb)
{
	return !settings.cgroup || bpf_skb_ancestor_cgroup_id(skb, settings.cgroup_level) == settings.cgroup;
}

static __always_inline bool is_chosen(const struct packet *p)
{
	u32 hash = p->flow.peer_port * 0x9e3779b1U ^ p->flow.own_port * 0x85ebca6bU ^ p->flow.peer[0] ^ p->flow.peer[3] * 31;

	hash = (hash ^ hash >> 16) * 0x7feb352dU;
	hash = (hash ^ hash >> 15) * 0x846ca68bU;
	return (hash ^ hash >> 16) <= settings.share_q32;
}

static __always_inline struct totals *part_of(const struct connection *c)
{
	u32 place = c->is_treated ? 1 : 0;

	return bpf_map_lookup_elem(&parts, &place);
}

static __always_inline void begin_part(const struct connection *c)
{
	struct totals *totals = part_of(c);

	count_one(c->is_treated ? &granted : &left_alone);
	if (totals)
		count_one(&totals->connections);
}

/* Data for a trial. A response lasts from the request until a segment below a full one; `is_new`: it moves the highest byte. */
static __always_inline void measure_data(struct connection *c, u64 now, u32 segments, bool is_new, bool is_last)
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
static __always_inline void lower_opening(struct __sk_buff *skb, const struct packet *p, struct host *h)
{
	u16 old = bpf_htons(p->window), new = bpf_htons(OPENING_WINDOW);

	if (p->window <= OPENING_WINDOW)
		return;
	if (bpf_l4_csum_replace(skb, p->tcp + 16, old, new, 2) || bpf_skb_store_bytes(skb, p->tcp + 14, &new, 2, 0))
		fail(h);
}

/* A SYN or SYN-ACK leaves: a new connection. */
static __always_inline void open(struct __sk_buff *skb, const struct packet *p, struct host *h)
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
	new->announced = new->known = p->ack + p->window;
	new->state = !new->is_treated ? CLOSED : answers ? SMALL : RESTS;
	new->unasked = answers;
	new->scale = scale_of(skb, p, &scale) ? scale : 0;
	new->sent_ns = bpf_ktime_get_ns();
	new->timed = p->seq + 1;
	if (bpf_map_update_elem(&connections, &p->flow, new, answers ? BPF_ANY : BPF_NOEXIST))
		fail(h);
	else
		begin_part(new);
	if (!answers && new->is_treated)
		lower_opening(skb, p, h);
}

static __always_inline void forget(struct host *h, const struct flow *flow, struct connection *c)
{
	bpf_spin_lock(&h->lock);
	become(h, c, CLOSED);
	set_waits(h, c, false, false);
	bpf_spin_unlock(&h->lock);
	bpf_map_delete_elem(&connections, flow);
}

static __always_inline void measure(struct host *h, struct connection *c, u32 ack, u64 now)
{
	if (!c->timed || (s32)(ack - c->timed) < 0)
		return;
	c->timed = 0;
	measured(h, c, now - c->sent_ns);
}

static __always_inline void note_opening(struct host *h, struct connection *c, u32 seq)
{
	count(h, c, false);
	c->high = c->edge = seq + 1;
	count(h, c, true);
	c->announced = c->known = c->high + OPENING_WINDOW;
	c->ack = c->high;
	connect(h, c);
}

SEC("tc")
int grants_arrives(struct __sk_buff *skb)
{
	bool is_short = false, is_new = true;
	struct connection *c;
	struct packet p;
	struct host *h;
	u64 now;

	if (!parse(skb, &p, 0))
		return GO_ON;
	c = bpf_map_lookup_elem(&connections, &p.flow);
	h = the_host();
	if (!c || !h)
		return GO_ON;
	now = bpf_ktime_get_ns();
	if (act_until && now > act_until)
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
		/* TCP may keep its ACK: another connection's announces the turn. */
		if (c->state == RECEIVES && h->waiting > 0 && !c->waits && credit_of(c) < settings.mss)
			join(h, c, &p.flow, true, c->probed);
	} else if (!(p.flags & FIN) && p.seq + 1 == c->high && c->state != CLOSED) {
		answer_probe(h, c, &p.flow);
	}
	if (p.flags & FIN) {
		become(h, c, CLOSED);
		set_waits(h, c, false, false);
	}
	bpf_spin_unlock(&h->lock);
	/* Scaling needs both. */
	if (p.flags & SYN) {
		u8 scale;

		if (!scale_of(skb, &p, &scale))
			c->scale = 0;
	}
	if (p.payload && settings.flags & MEASURES)
		measure_data(c, now, larger(skb->gso_segs, 1), is_new, is_short);
	return GO_ON;
}

/* Gives a packet with one face another one. */
static __always_inline int wear(struct __sk_buff *skb, const struct packet *p, struct face *from, struct face *to)
{
	u32 at = p->ip + (p->is_ipv6 ? 8 : 12), sum = p->tcp + 16, bytes = p->is_ipv6 ? 32 : 8;
	__s64 addresses = bpf_csum_diff(from->addresses, bytes, to->addresses, bytes, 0);
	__s64 others = bpf_csum_diff(from->tcp, sizeof(to->tcp), to->tcp, sizeof(to->tcp), 0);
	int bad = bpf_skb_store_bytes(skb, 0, to->macs, sizeof(to->macs), 0);

	if (!p->is_ipv6)
		bad |= bpf_l3_csum_replace(skb, p->ip + 10, 0, addresses, 0);
	bad |= bpf_l4_csum_replace(skb, sum, 0, addresses, BPF_F_PSEUDO_HDR);
	bad |= bpf_l4_csum_replace(skb, sum, 0, others, 0);
	bad |= bpf_skb_store_bytes(skb, at, to->addresses, bytes, 0);
	bad |= bpf_skb_store_bytes(skb, p->tcp, to->tcp, 16, 0);
	if (p->words == STAMPED_WORDS)
		bad |= bpf_skb_store_bytes(skb, p->tcp + 24, &to->tcp[4], 8, 0);
	return bad;
}

static __always_inline void set_addresses(struct face *face, const struct flow *flow, bool is_ipv6)
{
	__builtin_memcpy(face->addresses, flow->own, 16);
	if (is_ipv6)
		__builtin_memcpy(face->addresses + 4, flow->peer, 16);
	else
		face->addresses[1] = flow->peer[0];
	face->tcp[0] = (u32)flow->peer_port << 16 | flow->own_port;
}

/* The window to announce from an acknowledgement on, in units of the scale. It is rounded up, unless no segment is granted: TCP probes a
 * part of a segment as late as a closed window, and sends it then. No window is taken back by more than the rounding (RFC 7323, 2.4). */
static __always_inline u32 units_of(struct host *h, struct connection *c, u32 ack, u32 own)
{
	u32 edge = ahead(c->announced, c->edge) ? c->announced : c->edge, window = ahead(edge, ack), units;

	units = credit_of(c) < settings.mss ? window >> c->scale : (window + (1U << c->scale) - 1) >> c->scale;
	c->own_edge = ack + (own << c->scale);
	if (c->state == CLOSED || units > own)
		units = own;
	c->announced = ack + (units << c->scale);
	if (ahead(c->announced, c->known))
		c->known = c->announced;
	c->widest = larger(c->widest, units << c->scale);
	/* A large unit is more than was granted. */
	if (c->state != CLOSED && units < own && ahead(c->announced, c->edge) >= settings.mss)
		set_edge(h, c, ahead(c->announced, c->high));
	return units;
}

/* Sends an ACK of another connection, made from this pure ACK. */
static __always_inline void wake(struct __sk_buff *skb, const struct packet *p, struct host *h, struct scratch *s, const struct flow *flow,
			struct connection *c)
{
	struct face *face = &s->next;
	u32 units, mark = skb->mark, own;

	bpf_spin_lock(&h->lock);
	own = ahead(c->own_edge, c->ack) >> c->scale;
	units = units_of(h, c, c->ack, own > 65535 ? 65535 : own);
	bpf_spin_unlock(&h->lock);
	set_addresses(face, flow, p->is_ipv6);
	face->tcp[1] = bpf_htonl(c->seq);
	face->tcp[2] = bpf_htonl(c->ack);
	face->tcp[3] = bpf_htonl((u32)p->words << 28 | (u32)(c->flags & (ACK | ECE)) << 16 | units);
	face->tcp[4] = c->tsval;
	face->tcp[5] = c->tsecr;
	__builtin_memcpy(face->macs, c->macs, sizeof(face->macs));
	skb->mark = WOKEN;
	if (!wear(skb, p, &s->worn, face) && !bpf_clone_redirect(skb, skb->ifindex, 0))
		count_one(&h->woken);
	else
		fail(h);
	skb->mark = mark;
	s->worn = *face;
}

static __always_inline void write_window(struct __sk_buff *skb, const struct packet *p, struct host *h, u32 units)
{
	u16 old = bpf_htons(p->window), new = bpf_htons((u16)units);

	if (units == p->window)
		return;
	if (bpf_l4_csum_replace(skb, p->tcp + 16, old, new, 2) || bpf_skb_store_bytes(skb, p->tcp + 14, &new, 2, 0))
		fail(h);
}

static __always_inline void remember(const struct packet *p, struct connection *c, const struct face *face, u64 now)
{
	c->seq = p->seq + p->payload;
	c->ack = p->ack;
	c->flags = p->flags;
	c->is_stamped = p->words >= STAMPED_WORDS;
	c->tsval = face->tcp[4];
	c->tsecr = face->tcp[5];
	__builtin_memcpy(c->macs, face->macs, sizeof(c->macs));
	if (p->payload && !c->timed) {
		c->timed = c->seq;
		c->sent_ns = now;
	}
}

static __always_inline bool is_same(const struct flow *a, const struct flow *b)
{
	return a->own_port == b->own_port && a->peer_port == b->peer_port && !__builtin_memcmp(a->peer, b->peer, 16) &&
	       !__builtin_memcmp(a->own, b->own, 16);
}

/* Gives a turn to the queue's head, and announces it by an ACK made from this one. Not inlined, so that the verifier has less to look at;
 * not global, because a kernel without BTF knows no context of such a function. */
static __noinline int give_turn(struct __sk_buff *skb, struct packet *p)
{
	struct scratch *s = scratch();
	struct host *h = the_host();
	struct connection *c = 0;
	struct flow flow;
	int turn;

	if (!s || !h || !p)
		return NOBODY;
	turn = serve_turn(h, &flow, &c, false);
	if (turn != SERVED || !c)
		return turn;
	/* Without timestamps as here: its own next ACK, or a probe, announces it. */
	if (is_same(&flow, &p->flow) || c->is_stamped != (p->words == STAMPED_WORDS))
		return PASSED;
	wake(skb, p, h, s, &flow, c);
	return SERVED;
}

/* Gives turns to those who wait. The packet is restored. */
static __always_inline void wake_others(struct __sk_buff *skb, struct packet *p, struct host *h, struct scratch *s)
{
	u32 woken = 0;

	s->worn = s->own;
	for (int i = 0; i < MOST_LOOKED && woken < MOST_WOKEN; i++) {
		int turn = give_turn(skb, p);

		if (turn == NOBODY || turn == NOTHING_LEFT)
			break;
		woken += turn == SERVED;
	}
	if (woken && wear(skb, p, &s->worn, &s->own))
		fail(h);
}

SEC("tc")
int grants_leaves(struct __sk_buff *skb)
{
	struct connection *c;
	struct scratch *s;
	struct packet p;
	struct host *h;
	u32 units;
	u64 now;

	s = scratch();
	if (skb->mark == WOKEN || !s || !parse(skb, &p, &s->own))
		return GO_ON;
	c = bpf_map_lookup_elem(&connections, &p.flow);
	h = the_host();
	if ((!c && !(p.flags & SYN)) || !h)
		return GO_ON;
	now = bpf_ktime_get_ns();
	if (act_until && now > act_until)
		return GO_ON;
	if ((p.flags & SYN) && !(p.flags & RST)) {
		/* Scaling begins after it; the window of an opening segment is TCP's. */
		open(skb, &p, h);
		return GO_ON;
	}
	if (!c)
		return GO_ON;
	if (p.flags & RST) {
		forget(h, &p.flow, c);
		return GO_ON;
	}
	if (p.payload && !c->began_ns)
		c->began_ns = c->last_ns = now;
	if (!c->is_treated)
		return GO_ON;
	set_addresses(&s->own, &p.flow, p.is_ipv6);
	bpf_spin_lock(&h->lock);
	advance(h, now);
	remember(&p, c, &s->own, now);
	if (p.payload)
		ask(h, c);
	empty_queue(h);
	if (h->head != h->tail && p.is_plain && !p.payload && !(p.flags & FIN)) {
		/* An own ACK is where others' turns can be announced. */
		bpf_spin_unlock(&h->lock);
		wake_others(skb, &p, h, s);
		bpf_spin_lock(&h->lock);
	}
	if (p.payload || c->step)
		serve(h, c, &p.flow, p.payload ? FIRST * settings.mss : larger(2 * c->step, settings.mss), p.payload);
	units = units_of(h, c, p.ack, p.window);
	if (c->probed)
		set_waits(h, c, c->waits, false);
	h->lowered += units < p.window;
	bpf_spin_unlock(&h->lock);
	write_window(skb, &p, h, units);
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

static __always_inline void replay_turns(struct host *h, struct replay *in, bool asks)
{
	for (int i = 0; i < MOST_LOOKED; i++) {
		struct connection *c = 0;
		struct flow flow;

		int turn = serve_turn(h, &flow, &c, asks);

		if (turn == NOBODY || turn == NOTHING_LEFT)
			return;
		if (turn != SERVED || !c)
			continue;
		c->announced = c->known = c->edge;
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
	bool probes = false;

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
		new->high = new->edge = new->announced = new->known = new->ack = in.seq;
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
		replay_turns(h, &in, true);
		bpf_spin_lock(&h->lock);
		ask(h, c);
		serve(h, c, &flow, FIRST * settings.mss, true);
		bpf_spin_unlock(&h->lock);
	} else if (in.step == STEP_DATA) {
		u32 before;

		bpf_spin_lock(&h->lock);
		advance(h, in.now_ns);
		if (in.rtt_ns)
			measured(h, c, in.rtt_ns);
		probes = !in.payload && in.seq + 1 == c->high;
		if (in.payload)
			take(h, c, in.now_ns, in.seq + in.payload, in.payload, in.payload < settings.mss);
		else if (probes)
			answer_probe(h, c, &flow);
		before = c->step;
		c->ack = c->high;
		bpf_spin_unlock(&h->lock);
		if (in.payload || probes)
			replay_turns(h, &in, false);
		bpf_spin_lock(&h->lock);
		set_waits(h, c, c->waits, false);
		if (in.payload)
			serve(h, c, &flow, larger(2 * before, settings.mss), false);
		bpf_spin_unlock(&h->lock);
	} else {
		bpf_spin_lock(&h->lock);
		become(h, c, CLOSED);
		set_waits(h, c, false, false);
		bpf_spin_unlock(&h->lock);
	}
	if (!in.silent)
		c->announced = c->known = c->edge;
	if (in.silent && in.step == STEP_DATA && (probes || must_announce(c)))
		in.woken |= 1U << (in.place & 31);
	in.credit = credit_of(c);
	in.outstanding = h->now.credit + h->last.credit;
	in.connections = h->now.connections + h->last.connections;
	*ctx = in;
	return 0;
}
