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
#define CLOCK_MONOTONIC 1
#define GO_ON (-1) /* the next program, if any */
#define FIN 1
#define SYN 2
#define RST 4
#define PSH 8
#define ACK 16
#define ECE 64
#define STAMPED_WORDS 8 /* TCP's header with timestamps alone */
#define NOP_NOP_STAMPS 0x0101080a
#define WOKEN 0xfa1170a4 /* mark of an ACK that this program makes */
#define MOST_WOKEN 4
#define MOST_EXPIRED 32 /* turns that a run on an idle link gives */
#define MOST_LOOKED 8 /* places of the queue that an ACK looks at: a connection has one, and each is passed once */
#define MOST_HEADERS 128
#define MOST_SCALE 14
#define OPENING_WINDOW 536
#define MOST_OPTIONS 40
#define OPENING_NS 130000000000ULL /* the time of all SYNs of a connection, and a little more */
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
	u16 tag; /* of its VLAN; 0: none */
};

/* State too large for the stack. */
struct scratch {
	struct connection new;
	struct face own;
	struct face worn;
	struct face next;
	struct flow turn; /* that was served last */
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

/* Grants to the queue's head, for a cause. SERVED: its window is to be announced; PASSED: it needed no turn. Its flow is in `turn`. These two are
 * global, so that the verifier looks at each once. */
__noinline int serve_turn(u32 cause)
{
	struct scratch *s = scratch();
	struct host *h = the_host();
	struct connection *c;
	int done = PASSED;
	u64 head;

	if (!s || !h)
		return NOBODY;
	head = *(volatile u64 *)&h->head;
	if (head == *(volatile u64 *)&h->tail)
		return NOBODY;
	s->turn = turns[head & (QUEUE_PLACES - 1)];
	c = bpf_map_lookup_elem(&connections, &s->turn);
	bpf_spin_lock(&h->lock);
	if (h->head != head) {
		bpf_spin_unlock(&h->lock);
		return PASSED;
	}
	if (c && c->waits) {
		u32 expected = expected_of(h, c);
		/* The response is longer than expected. */
		bool is_longer = expected && c->high - c->base >= expected, gets;

		become(h, c, RECEIVES);
		gets = cause == IDLE ? give_idle_turn(h, c) : grant(h, c, is_longer ? settings.turn : FIRST * settings.mss, cause == REQUEST);
		done = gets ? SERVED : NOTHING_LEFT;
	}
	if (c && done != NOTHING_LEFT) {
		if (c->probed)
			done = SERVED;
		set_waits(h, c, false, false);
	}
	h->head += done != NOTHING_LEFT;
	bpf_spin_unlock(&h->lock);
	return done;
}

/* The same for the first of those in doubt, on an idle link. */
__noinline int serve_doubt(void)
{
	struct scratch *s = scratch();
	struct host *h = the_host();
	struct connection *c;
	int done = PASSED;
	u64 head;

	if (!s || !h)
		return NOBODY;
	head = *(volatile u64 *)&h->doubt_head;
	if (head == *(volatile u64 *)&h->doubt_tail)
		return NOBODY;
	s->turn = doubts[head & (QUEUE_PLACES - 1)];
	c = bpf_map_lookup_elem(&connections, &s->turn);
	bpf_spin_lock(&h->lock);
	if (h->doubt_head != head) {
		bpf_spin_unlock(&h->lock);
		return PASSED;
	}
	if (c && c->in_doubt) {
		become(h, c, RECEIVES);
		done = give_idle_turn(h, c) ? SERVED : NOTHING_LEFT;
		if (done == SERVED)
			set_doubt(h, c, false);
	}
	h->doubt_head += done != NOTHING_LEFT;
	bpf_spin_unlock(&h->lock);
	return done;
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
	u16 protocol, at_tag = 0;

	if (data + ETHERNET_BYTES + VLAN_BYTES + 20 > end)
		return false;
	protocol = *(u16 *)(data + 12);
	if (protocol == bpf_htons(VLAN)) {
		protocol = *(u16 *)(data + 16);
		at_tag = bpf_ntohs(*(u16 *)(data + 14));
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
	p->tag = skb->vlan_present ? skb->vlan_tci : at_tag;
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

/* Ends a connection's part, with the lock. The limit is paid back for unused bytes. */
static __always_inline void end(struct host *h, struct connection *c)
{
	finish(h, c);
	set_doubt(h, c, false);
	if (settings.limit && c->state != CLOSED)
		h->paid_ns = beside(h->paid_ns, time_of(credit_of(c)));
	become(h, c, CLOSED);
	c->edge = c->high;
	set_waits(h, c, false, false);
}

static __always_inline void forget(struct host *h, const struct flow *flow, struct connection *c)
{
	bpf_spin_lock(&h->lock);
	end(h, c);
	bpf_spin_unlock(&h->lock);
	if (!bpf_map_delete_elem(&connections, flow))
		add(&h->entries, -1);
}

/* A SYN or SYN-ACK leaves. */
static __always_inline void note_own_syn(struct __sk_buff *skb, const struct packet *p, struct host *h, u64 now)
{
	struct opening *old = bpf_map_lookup_elem(&openings, &p->flow), new = {};

	if (!is_ours(skb)) {
		count_one(&left_alone);
		return;
	}
	if (p->flags & ACK) {
		/* Without the peer's SYN, nothing tells which numbers TCP accepts. */
		if (!old || !old->accepts || old->peer + 1 != p->ack)
			return;
		new = *old;
	} else if (is_chosen(p)) {
		lower_opening(skb, p, h);
	}
	new.is_sent = 1;
	new.own = p->seq;
	new.window = p->window;
	new.sent_ns = now;
	new.is_scaled = (new.is_scaled & PEER) | (scale_of(skb, p, &new.own_scale) ? OWN : 0);
	if (bpf_map_update_elem(&openings, &p->flow, &new, BPF_ANY))
		fail(h);
}

/* A SYN arrives, which changes no connection (RFC 5961, 4): a peer may open one. */
static __always_inline void note_peer_syn(struct __sk_buff *skb, const struct packet *p, u64 now)
{
	struct opening *old = bpf_map_lookup_elem(&openings, &p->flow), new = {};

	/* The same SYN again, or the host opens it, too. */
	if (old && (old->accepts ? old->peer == p->seq : now - old->sent_ns < OPENING_NS))
		return;
	new.accepts = 1;
	new.peer = p->seq;
	new.sent_ns = now;
	new.is_scaled = scale_of(skb, p, &new.peer_scale) ? PEER : 0;
	bpf_map_update_elem(&openings, &p->flow, &new, BPF_ANY);
}

/* The connection that this segment establishes: its numbers have to be the only ones that TCP accepts then (RFC 9293, 3.10.7.3 and
 * 3.10.7.4). */
static __always_inline struct connection *establish(struct __sk_buff *skb, const struct packet *p, struct host *h)
{
	struct opening *o = bpf_map_lookup_elem(&openings, &p->flow);
	struct scratch *s = scratch();
	struct connection *new;

	if (!o || !s || !o->is_sent || !(p->flags & ACK) || (p->flags & RST) || p->ack != o->own + 1)
		return 0;
	if (o->accepts ? (p->flags & SYN) || p->seq != o->peer + 1 : !(p->flags & SYN))
		return 0;
	new = &s->new;
	__builtin_memset(new, 0, sizeof(*new));
	new->is_treated = is_chosen(p);
	new->state = !new->is_treated ? CLOSED : o->accepts ? SMALL : RESTS;
	new->unasked = o->accepts;
	new->rtt_ns = NO_RTT;
	new->full_bytes = OPENING_WINDOW;
	new->high = new->edge = new->base = new->next = new->ack = p->seq + (o->accepts ? 0 : 1);
	new->most = new->high + o->window;
	new->announced = new->known = new->high + (o->accepts ? o->window : OPENING_WINDOW);
	new->una = new->sent = new->timed = o->own + 1;
	new->sent_ns = o->sent_ns;
	if (!o->accepts && scale_of(skb, p, &o->peer_scale))
		o->is_scaled |= PEER;
	if (o->is_scaled == (OWN | PEER)) {
		new->scale = o->own_scale;
		new->peer_scale = o->peer_scale;
	}
	if (bpf_map_update_elem(&connections, &p->flow, new, BPF_NOEXIST)) {
		count_one(&h->full);
		return 0;
	}
	count_one(&h->entries);
	begin_part(new);
	bpf_map_delete_elem(&openings, &p->flow);
	return bpf_map_lookup_elem(&connections, &p->flow);
}

static __always_inline void measure(struct host *h, struct connection *c, u32 ack, u64 now)
{
	if (!c->timed || (s32)(ack - c->timed) < 0)
		return;
	c->timed = 0;
	measured(h, c, now - c->sent_ns);
}

/* The numbers of RFC 9293, 3.3.1, by which a segment is judged. */
struct numbers {
	u32 next;
	u32 una;
	u32 sent;
	u32 acked; /* bytes that the peer has acknowledged, at most 4 GiB */
};

/* As the socket has them; zero if this network namespace has none. */
static __noinline int ask_socket(struct __sk_buff *skb, struct packet *p, struct numbers *n)
{
	struct bpf_sock_tuple tuple = {};
	struct bpf_tcp_sock *tcp;
	struct bpf_sock *found;

	if (p->is_ipv6) {
		__builtin_memcpy(tuple.ipv6.saddr, p->flow.peer, 16);
		__builtin_memcpy(tuple.ipv6.daddr, p->flow.own, 16);
		tuple.ipv6.sport = p->flow.peer_port;
		tuple.ipv6.dport = p->flow.own_port;
		found = bpf_skc_lookup_tcp(skb, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
	} else {
		tuple.ipv4.saddr = p->flow.peer[0];
		tuple.ipv4.daddr = p->flow.own[0];
		tuple.ipv4.sport = p->flow.peer_port;
		tuple.ipv4.dport = p->flow.own_port;
		found = bpf_skc_lookup_tcp(skb, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	}
	if (!found)
		return 0;
	/* A listener is found in place of a connection. */
	tcp = found->state == BPF_TCP_LISTEN ? 0 : bpf_tcp_sock(found);
	if (tcp) {
		n->next = tcp->rcv_nxt;
		n->una = tcp->snd_una;
		n->sent = tcp->snd_nxt;
		n->acked = least_of(tcp->bytes_acked, ~0U);
	}
	bpf_sk_release(found);
	return tcp != 0;
}

/* Whether the segment is the expected one. */
static __always_inline bool is_next(const struct packet *p, const struct connection *c)
{
	return p->seq == c->next && p->ack - c->una <= c->sent - c->una;
}

/* Whether a reset has the next number, that of the peer's FIN if it has come, or the one after all that has been received out of order
 * (tcp_reset_check and tcp_validate_incoming). */
static __always_inline bool is_reset(const struct packet *p, const struct connection *c, u32 next)
{
	u32 top = c->ends & PEER_FIN_EARLY && ahead(c->peer_fin, c->high) ? c->peer_fin : c->high;

	if (c->ends & PEER_FIN)
		return p->seq == next || p->seq + 1 == next;
	return p->seq == next || (ahead(top, next) && p->seq == top);
}

/* Whether TCP accepts the segment: RFC 9293, 3.10.7.4; RFC 5961, 3 to 5. One that is not the next in order is compared with the socket. */
static __always_inline bool is_accepted(struct __sk_buff *skb, struct packet *p, const struct connection *c)
{
	struct numbers n = { .next = c->next, .una = c->una, .sent = c->sent, .acked = c->acked };
	u32 end = p->seq + p->payload;

	if (!is_next(p, c) || (p->flags & RST))
		ask_socket(skb, p, &n);
	if (p->flags & RST)
		return is_reset(p, c, n.next);
	/* An acknowledgement may be older than the last one by the largest window of the peer, and by what it has acknowledged (tcp_ack). */
	if (p->flags & SYN || !(p->flags & ACK) || (s32)(n.sent - p->ack) < 0 || (s32)(p->ack - (n.una - smaller(c->peer_most, n.acked))) < 0)
		return false;
	/* A probe, or a keepalive, which TCP answers (RFC 9293, 3.8.6.1). */
	if (!p->payload && p->seq + 1 == n.next)
		return true;
	/* Nothing follows a FIN. */
	return (s32)(c->most - end) >= 0 && (s32)(end - n.next) >= 0 && !(p->payload && c->ends & PEER_FIN);
}

static __always_inline void peer_closes(struct host *h, struct connection *c)
{
	c->ends |= PEER_FIN;
	if (ahead(c->peer_fin, c->next))
		c->next = c->peer_fin;
	end(h, c);
}

static __always_inline bool is_over(const struct connection *c)
{
	return (c->ends & (OWN_FIN | PEER_FIN)) == (OWN_FIN | PEER_FIN);
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wakes SEC(".maps");

/* Only the loader can send packets that follow no other: it is told to run `grants_expires`. */
static int timer_expires(void *map, u32 *key, struct host *h)
{
	u64 now = bpf_ktime_get_ns(), left = 0;
	u32 expirations = 0;

	bpf_spin_lock(&h->lock);
	expire(h, now);
	if (h->idle_bytes || h->turns_due)
		expirations = h->expired + h->turns_due;
	h->is_armed = h->waiting + h->doubting > 0;
	if (h->is_armed) {
		h->armed_ns = due_of(h);
		left = most_of(beside(h->armed_ns, now), 1);
	}
	bpf_spin_unlock(&h->lock);
	if (expirations)
		bpf_ringbuf_output(&wakes, &expirations, sizeof(expirations), BPF_RB_FORCE_WAKEUP);
	if (left)
		bpf_timer_start(&h->timer, left, 0);
	return 0;
}

/* With the lock: whether the timer is to be started. */
static __always_inline bool must_arm(struct host *h)
{
	bool waits = h->waiting + h->doubting > 0, must = waits && !h->is_armed;

	/* Those who wait for the limit may be earlier than an idle link. */
	if (settings.limit && waits && h->unpaid && h->is_armed)
		must = (__s64)(h->armed_ns - paid_due_ns(h)) > 0;
	if (must)
		h->armed_ns = settings.limit ? due_of(h) : h->now_ns + LEAST_PAUSE_NS;
	h->is_armed |= must;
	return must;
}

static __always_inline void arm(struct host *h)
{
	/* It fails from the second time on. */
	bpf_timer_init(&h->timer, &hosts, CLOCK_MONOTONIC);
	if (bpf_timer_set_callback(&h->timer, timer_expires) ||
	    bpf_timer_start(&h->timer, most_of(beside(h->armed_ns, h->now_ns), 1), 0))
		fail(h);
}

/* An accepted segment with data. */
static __always_inline void take_data(struct host *h, struct connection *c, const struct packet *p, u64 now, bool is_short)
{
	u32 last = p->seq + p->payload;

	if (c->state == CLOSED)
		c->high += ahead(last, c->high);
	else
		take(h, c, now, last, is_short);
	if (!ahead(p->seq, c->next) && ahead(last, c->next))
		c->next = last;
	/* TCP may keep its ACK: another connection's announces the turn. */
	if (c->state == RECEIVES && h->waiting > 0 && !c->waits && credit_of(c) < settings.mss)
		join(h, c, &p->flow, true, c->probed);
}

SEC("tc")
int grants_arrives(struct __sk_buff *skb)
{
	bool is_short = false, is_new = true, arms;
	struct connection *c;
	struct packet p;
	struct host *h;
	u32 unit;
	u64 now;

	if (!parse(skb, &p, 0))
		return GO_ON;
	c = bpf_map_lookup_elem(&connections, &p.flow);
	h = the_host();
	if (!h)
		return GO_ON;
	now = bpf_ktime_get_ns();
	if (act_until && now > act_until)
		return GO_ON;
	if ((p.flags & (SYN | ACK | RST)) == SYN) {
		note_peer_syn(skb, &p, now);
		return GO_ON;
	}
	if (!c) {
		c = establish(skb, &p, h);
		if (!c)
			return GO_ON;
		bpf_spin_lock(&h->lock);
		h->now_ns = now;
		connect(h, c, &p.flow);
		bpf_spin_unlock(&h->lock);
	} else if (!is_accepted(skb, &p, c)) {
		count_one(&h->ignored);
		/* TCP may know more of it, so that the connection ends by age if nothing follows. */
		if (p.flags & RST)
			c->ends |= DOUBTFUL;
		return GO_ON;
	}
	if (p.flags & RST) {
		forget(h, &p.flow, c);
		return GO_ON;
	}
	unit = skb->gso_segs > 1 ? skb->gso_size : p.payload;
	bpf_spin_lock(&h->lock);
	h->now_ns = now;
	c->seen_ns = now;
	measure(h, c, p.ack, now);
	c->acked = least_of((u64)c->acked + ahead(p.ack, c->una), ~0U);
	if (ahead(p.ack, c->una))
		c->una = p.ack;
	if (p.flags & SYN)
		p.payload = 0;
	else
		c->peer_most = larger(c->peer_most, (u32)p.window << c->peer_scale);
	if (p.payload) {
		c->full_bytes = larger(c->full_bytes, unit);
		/* A sender without Nagle's algorithm fills its window with a part of a segment, which does not push (tcp_mss_split_point). */
		is_short = p.flags & PSH && (unit < c->full_bytes || (skb->gso_segs > 1 && p.payload % unit));
		is_new = ahead(p.seq + p.payload, c->high) > 0;
		take_data(h, c, &p, now, is_short);
	} else if (!(p.flags & (SYN | FIN)) && p.seq + 1 == c->high && c->state != CLOSED) {
		answer_probe(h, c, &p.flow);
	}
	if ((p.flags & (SYN | FIN)) == FIN && !(c->ends & PEER_FIN)) {
		c->peer_fin = p.seq + p.payload + 1;
		if (c->next + 1 == c->peer_fin)
			peer_closes(h, c);
		else
			c->ends |= PEER_FIN_EARLY;
	}
	arms = must_arm(h);
	bpf_spin_unlock(&h->lock);
	if (arms)
		arm(h);
	if (p.payload && settings.flags & MEASURES)
		measure_data(c, now, larger(skb->gso_segs, 1), is_new, is_short);
	if (is_over(c))
		forget(h, &p.flow, c);
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
	if (!wear(skb, p, &s->worn, face) && !bpf_clone_redirect(skb, settings.device ?: skb->ifindex, 0))
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
	c->is_ipv6 = p->is_ipv6;
	c->is_tagged = p->tag != 0;
	c->tag = p->tag;
	c->tsval = face->tcp[4];
	c->tsecr = face->tcp[5];
	__builtin_memcpy(c->macs, face->macs, sizeof(c->macs));
	if (p->payload && !c->timed) {
		c->timed = c->seq;
		c->sent_ns = now;
	}
}

/* State of the socket that a packet leaves; zero without one. */
static __always_inline u32 state_of(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;

	return sk ? sk->state : 0;
}

/* Whether the peer's FIN has come. TCP acknowledges it before it leaves FIN-WAIT-1 and FIN-WAIT-2 (tcp_fin). */
static __always_inline bool has_fin(const struct connection *c, u32 ack, u32 state)
{
	if (state == BPF_TCP_CLOSE_WAIT || state == BPF_TCP_LAST_ACK || state == BPF_TCP_CLOSING)
		return true;
	return c->ends & PEER_FIN_EARLY && ack == c->peer_fin && state != BPF_TCP_ESTABLISHED;
}

/* Numbers in TCP's own segments are true. */
static __always_inline void follow(struct host *h, struct connection *c, const struct packet *p, u64 now, u32 state)
{
	u32 end = p->seq + p->payload + (p->flags & FIN ? 1 : 0), edge = p->ack + ((u32)p->window << c->scale);

	bpf_spin_lock(&h->lock);
	c->seen_ns = now;
	if (ahead(end, c->sent))
		c->sent = end;
	if (ahead(p->ack, c->next))
		c->next = p->ack;
	if (ahead(edge, c->most))
		c->most = edge;
	if (p->flags & FIN)
		c->ends |= OWN_FIN;
	if (!(c->ends & PEER_FIN) && has_fin(c, p->ack, state)) {
		c->peer_fin = p->ack;
		peer_closes(h, c);
	}
	/* TCP has data that did not pass here. */
	if (!(c->ends & PEER_FIN) && ahead(p->ack, c->high)) {
		count(h, c, false);
		c->high = p->ack;
		pay(h, ahead(c->high, c->edge));
		if (ahead(c->high, c->edge))
			c->edge = c->high;
		count(h, c, true);
	}
	bpf_spin_unlock(&h->lock);
}

static __always_inline bool is_same(const struct flow *a, const struct flow *b)
{
	return a->own_port == b->own_port && a->peer_port == b->peer_port && !__builtin_memcmp(a->peer, b->peer, 16) &&
	       !__builtin_memcmp(a->own, b->own, 16);
}

/* Whether an ACK of a connection can be made from this one. */
static __always_inline bool is_alike(const struct connection *c, const struct packet *p)
{
	return c->is_stamped == (p->words == STAMPED_WORDS) && c->is_ipv6 == p->is_ipv6 && c->tag == p->tag;
}

/* The first of those in doubt. */
static __always_inline struct connection *doubt_of(struct host *h, struct flow *flow)
{
	u64 head = *(volatile u64 *)&h->doubt_head;
	struct connection *c;

	if (head == *(volatile u64 *)&h->doubt_tail)
		return 0;
	*flow = doubts[head & (QUEUE_PLACES - 1)];
	c = bpf_map_lookup_elem(&connections, flow);
	return c && c->in_doubt ? c : 0;
}

static __always_inline bool is_empty(const struct host *h)
{
	return *(volatile u64 *)&h->head == *(volatile u64 *)&h->tail;
}

/* The queue's head, if it waits. */
static __always_inline struct connection *head_of(struct host *h, struct flow *flow)
{
	u64 head = *(volatile u64 *)&h->head;
	struct connection *c;

	if (is_empty(h))
		return 0;
	*flow = turns[head & (QUEUE_PLACES - 1)];
	c = bpf_map_lookup_elem(&connections, flow);
	return c && (c->waits || c->probed) ? c : 0;
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
	c = head_of(h, &flow);
	/* An ACK like its own, or the timer, gives it its turn. */
	if (c && !is_same(&flow, &p->flow) && !is_alike(c, p))
		return NOTHING_LEFT;
	turn = serve_turn(DATA);
	if (turn != SERVED)
		return turn;
	c = bpf_map_lookup_elem(&connections, &s->turn);
	if (!c || is_same(&s->turn, &p->flow) || !is_alike(c, p))
		return PASSED;
	wake(skb, p, h, s, &s->turn, c);
	return SERVED;
}

/* The same on an idle link, from a packet of the loader. */
static __noinline int give_turn_idle(struct __sk_buff *skb, struct packet *p)
{
	struct scratch *s = scratch();
	struct host *h = the_host();
	struct connection *c;
	int turn;

	if (!s || !h || !p)
		return NOBODY;
	turn = serve_turn(h->idle_bytes ? IDLE : DATA);
	if (turn == NOBODY && h->idle_bytes)
		turn = serve_doubt();
	if (turn != SERVED)
		return turn;
	c = bpf_map_lookup_elem(&connections, &s->turn);
	if (!c)
		return PASSED;
	if (c->is_tagged && bpf_skb_vlan_push(skb, bpf_htons(VLAN), c->tag))
		return NOTHING_LEFT;
	wake(skb, p, h, s, &s->turn, c);
	if (c->is_tagged)
		bpf_skb_vlan_pop(skb);
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
	bool arms;

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
		/* The host has no such connection any more. */
		if (c)
			forget(h, &p.flow, c);
		note_own_syn(skb, &p, h, now);
		return GO_ON;
	}
	if (!c)
		return GO_ON;
	if (p.flags & RST) {
		struct numbers n;

		/* The socket is gone, unless this is the reset of an application, which precedes that. */
		if (p.seq == c->sent || !ask_socket(skb, &p, &n))
			forget(h, &p.flow, c);
		return GO_ON;
	}
	follow(h, c, &p, now, state_of(skb));
	if (is_over(c)) {
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
		ask(h, c, &p.flow);
	empty_queue(h);
	if (h->head != h->tail && p.is_plain && !p.payload && !(p.flags & FIN)) {
		/* An own ACK is where others' turns can be announced. */
		bpf_spin_unlock(&h->lock);
		wake_others(skb, &p, h, s);
		bpf_spin_lock(&h->lock);
	}
	/* Repeated data make it wait, too. */
	if (p.payload || c->step || (c->state == RECEIVES && credit_of(c) < settings.mss && !c->waits))
		serve(h, c, &p.flow, p.payload ? FIRST * settings.mss : larger(2 * c->step, settings.mss), p.payload);
	/* The peer's FIN needs a window, too. */
	if (p.flags & FIN)
		give_a_segment(h, c);
	units = units_of(h, c, p.ack, p.window);
	if (c->probed)
		set_waits(h, c, c->waits, false);
	h->lowered += units < p.window;
	arms = must_arm(h);
	bpf_spin_unlock(&h->lock);
	if (arms)
		arm(h);
	write_window(skb, &p, h, units);
	return GO_ON;
}

/* All turns are given. Those who wait for the limit may need the timer earlier than it is set to. */
static __always_inline int end_turns(struct host *h)
{
	bool arms;

	bpf_spin_lock(&h->lock);
	h->turns_due = 0;
	arms = must_arm(h);
	bpf_spin_unlock(&h->lock);
	if (arms)
		arm(h);
	return 0;
}

/* Turns on an idle link, or that the limit has paid for, each announced by an ACK made from the loader's packet, which is run by BPF_PROG_TEST_RUN. Returns the kind of
 * packet that the next one needs, plus one, or zero: bit 0, timestamps; bit 1, IPv6. */
SEC("tc")
int grants_expires(struct __sk_buff *skb)
{
	struct scratch *s = scratch();
	struct host *h = the_host();
	struct connection *c;
	struct flow flow;
	struct packet p;

	if (!s || !h || !parse(skb, &p, &s->own))
		return 0;
	set_addresses(&s->own, &p.flow, p.is_ipv6);
	s->worn = s->own;
	if (settings.limit) {
		/* It has been paid for more since the timer expired. */
		u64 now = bpf_ktime_get_ns();

		bpf_spin_lock(&h->lock);
		advance(h, now);
		bpf_spin_unlock(&h->lock);
	}
	for (int i = 0; i < MOST_EXPIRED; i++) {
		int turn;

		if (!*(volatile u64 *)&h->idle_bytes && !*(volatile u32 *)&h->turns_due)
			return end_turns(h);
		c = is_empty(h) ? doubt_of(h, &flow) : head_of(h, &flow);
		if (c && (c->is_ipv6 != p.is_ipv6 || c->is_stamped != (p.words == STAMPED_WORDS)))
			return 1 + c->is_stamped + 2 * c->is_ipv6;
		turn = give_turn_idle(skb, &p);
		if (turn == NOBODY || (turn == NOTHING_LEFT && !*(volatile u64 *)&h->idle_bytes))
			return end_turns(h);
	}
	return 1 + (p.words == STAMPED_WORDS) + 2 * p.is_ipv6;
}

/* Connections that are silent for longer are forgotten: those that have begun to end, others, and others while the map is nearly full.
 * TCP keeps an orphan in FIN-WAIT-2 for 60 s (tcp_fin_timeout), and asks an idle peer after 2 hours (tcp_keepalive_time). */
#define ENDING_NS 65000000000ULL
#define SILENT_NS (3600ULL * 3 * 1000000000)
#define SILENT_FULL_NS 300000000000ULL

struct sweep {
	u64 now_ns;
	u64 silent_ns;
	u64 removed;
};

static long sweep_one(void *map, struct flow *flow, struct connection *c, struct sweep *s)
{
	__s64 silent = s->now_ns - c->seen_ns;
	struct host *h = the_host();

	if (!h || silent < (__s64)(c->ends ? ENDING_NS : s->silent_ns))
		return 0;
	forget(h, flow, c);
	s->removed++;
	return 0;
}

/* Called by the loader now and then. */
SEC("syscall")
int grants_sweep(struct sweep *ctx)
{
	struct host *h = the_host();
	struct sweep s = *ctx;

	if (!h)
		return 1;
	s.silent_ns = h->entries > CONNECTIONS / 4 * 3 ? SILENT_FULL_NS : SILENT_NS;
	s.removed = 0;
	bpf_for_each_map_elem(&connections, sweep_one, &s, 0);
	*ctx = s;
	return 0;
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

enum { STEP_OPEN, STEP_ACCEPT, STEP_REQUEST, STEP_DATA, STEP_CLOSE, STEP_TIMER };

static __always_inline void replay_turns(struct replay *in, enum cause cause)
{
	struct scratch *s = scratch();

	for (int i = 0; i < MOST_LOOKED && s; i++) {
		struct connection *c;
		int turn = serve_turn(cause);

		if (turn == NOBODY && cause == IDLE)
			turn = serve_doubt();
		if (turn == NOBODY || turn == NOTHING_LEFT)
			return;
		c = bpf_map_lookup_elem(&connections, &s->turn);
		if (turn != SERVED || !c)
			continue;
		c->announced = c->known = c->edge;
		if (s->turn.own_port != in->place || in->step == STEP_TIMER)
			in->woken |= 1U << (s->turn.own_port & 31);
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
		new->high = new->edge = new->base = new->announced = new->known = new->ack = in.seq;
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
		replay_turns(&in, REQUEST);
		bpf_spin_lock(&h->lock);
		ask(h, c, &flow);
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
			take(h, c, in.now_ns, in.seq + in.payload, in.payload < settings.mss);
		else if (probes)
			answer_probe(h, c, &flow);
		before = c->step;
		c->ack = c->high;
		bpf_spin_unlock(&h->lock);
		if (in.payload || probes)
			replay_turns(&in, DATA);
		bpf_spin_lock(&h->lock);
		set_waits(h, c, c->waits, false);
		if (in.payload)
			serve(h, c, &flow, larger(2 * before, settings.mss), false);
		bpf_spin_unlock(&h->lock);
	} else if (in.step == STEP_TIMER) {
		bpf_spin_lock(&h->lock);
		expire(h, in.now_ns);
		bpf_spin_unlock(&h->lock);
		if (h->idle_bytes || h->turns_due)
			replay_turns(&in, h->idle_bytes ? IDLE : DATA);
		h->turns_due = 0;
		in.silent = 1;
	} else {
		bpf_spin_lock(&h->lock);
		end(h, c);
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
