/* The sensor of `fanin watch` (tc): arrivals in bins of time, and the latest packets' headers. A bin goes to the ring buffer when a packet
 * of a later one arrives. */
#include "cgroup.h"

#include <bpf/bpf_endian.h>
#include <linux/pkt_cls.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define PROTOCOL_IPV4 0x0800
#define PROTOCOL_IPV6 0x86dd
#define PROTOCOL_VLAN 0x8100
#define PROTOCOL_VLANS 0x88a8
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define FRAGMENT_PLACE 0x1fff
#define ETHERNET_BYTES 14
#define VLAN_BYTES 4
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define TCP_BYTES 20
#define UDP_BYTES 8
#define MARKED 3
#define HEAD_BYTES 120
/* Bytes up to the end of TCP's fixed header, with a VLAN and IPv4's longest options. */
#define READ_BYTES 98

/* Connections in a set of the table, of which a new one replaces the oldest if that is not in the same burst, and the binary logarithm of the number of sets. */
#define WAYS 4
#define SET_BITS 15

/* Cgroups of which a bin counts the bytes, as src/watch/shares.rs has it. */
#define CGROUPS 4

/* Bins of the shortest pause that may interrupt a burst, less one, as src/watch/burst.rs has it. */
#define SHORT_PAUSE 2

/* Set by the loader: a bin's time, the bytes above which it is part of a burst, bins of the longest pause within a burst, packets whose
 * headers are kept (a power of two, or zero), and a random number that hides which connections share a set. */
const volatile struct {
	u64 bin_ns;
	u64 limit;
	u64 pause;
	u64 heads;
	u64 seed;
} settings = {};

struct connection {
	u64 key; /* zero: none */
	u64 bin; /* of its last data */
	u64 cgroup; /* of its socket; zero: unknown */
	u32 high; /* end of its data */
	u32 has_high;
};

struct set {
	struct connection ways[WAYS];
};

struct receiver {
	u64 cgroup;
	u64 bytes;
};

/* As src/watch/burst.rs has it. */
struct bin {
	u64 id; /* time of CLOCK_MONOTONIC in bins */
	u64 bytes;
	u64 packets;
	u64 marks;
	u64 resent;
	u64 connections;
	u64 joined; /* connections without data in earlier bins of the burst, and in the bin before it */
	u64 fresh; /* of its latest part */
	struct receiver receivers[CGROUPS];
};

struct state {
	struct bpf_spin_lock lock;
	u64 whole; /* first bin of the last burst, that of its latest part, which a long pause precedes, and its last bin above the limit */
	u64 began;
	u64 ended;
	u64 paused; /* bins of that pause */
	u64 dropped; /* bins for which the ring buffer had no space */
	u64 over; /* end of the open bin, ns */
	struct bin bin;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct state);
} states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << SET_BITS);
	__type(key, u32);
	__type(value, struct set);
} connections SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} closed SEC(".maps");

/* A packet's headers, as src/watch/heads.rs has them. */
struct head {
	u64 number; /* from 1; 0 while it is written */
	u64 at; /* CLOCK_MONOTONIC, ns */
	u32 length; /* of the packet */
	u32 kept;
	u8 bytes[HEAD_BYTES];
};

/* The latest ones: the loader sets their number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct head);
} heads SEC(".maps");

u64 numbered = 0;

/* What a packet adds to its bin. GRO joins segments, whose headers count, too. */
struct arrival {
	u64 key; /* of its connection */
	u64 bytes;
	u32 segments;
	u32 is_marked;
	u32 payload; /* bytes of the connection's data */
	u32 end; /* TCP's sequence number after them */
	u32 ip; /* places of the headers */
	u32 ports;
	u8 is_ipv6;
	u8 protocol;
};

/* Headers in the packet's first part, or NULL if they are not there. Each call loads both ends: the verifier rejects copies, which clang cuts
 * to 32 bits. */
static inline const void *header(const volatile struct __sk_buff *skb, u32 at, u32 bytes)
{
	const u8 *data = (const u8 *)(long)skb->data, *end = (const u8 *)(long)skb->data_end;

	return data + at + bytes <= end ? data + at : NULL;
}

static inline u64 mix(u64 key, u64 word)
{
	key = (key ^ word) * 0x9e3779b97f4a7c15;
	return key ^ (key >> 32);
}

static inline u64 mix_words(u64 key, const u32 *words, u32 count)
{
	for (u32 i = 0; i < count; i += 2)
		key = mix(key, (u64)words[i] << 32 | words[i + 1]);
	return key;
}

/* Reads the ports, and what of the packet is data; returns the bytes of all headers. */
static __always_inline u32 read_transport(struct __sk_buff *skb, u32 at, u32 end, struct arrival *arrival)
{
	const u32 *words;
	u32 bytes;

	if (arrival->protocol == PROTOCOL_TCP) {
		words = header(skb, at, TCP_BYTES);
		if (!words)
			return at;
		bytes = ((const u8 *)words)[12] / 16 * 4;
		arrival->end = bpf_ntohl(words[1]);
	} else if (arrival->protocol == PROTOCOL_UDP) {
		words = header(skb, at, UDP_BYTES);
		if (!words)
			return at;
		bytes = UDP_BYTES;
	} else {
		return at;
	}
	arrival->ports = at;
	arrival->key = mix(arrival->key, (u64)words[0] << 32 | arrival->protocol) | 1;
	at += bytes;
	arrival->payload = end > at ? end - at : 0;
	arrival->end += arrival->payload;
	return at;
}

/* Reads the headers; returns their bytes. */
static __always_inline u32 read(struct __sk_buff *skb, struct arrival *arrival)
{
	u32 at = ETHERNET_BYTES, end, first = smaller(READ_BYTES, skb->len);
	u16 protocol = skb->protocol;
	const u8 *ip;

	/* Few devices leave headers outside of the first part. */
	if (!header(skb, 0, first))
		bpf_skb_pull_data(skb, first);
	if (protocol == bpf_htons(PROTOCOL_VLAN) || protocol == bpf_htons(PROTOCOL_VLANS)) {
		ip = header(skb, at, VLAN_BYTES);
		if (!ip)
			return at;
		protocol = *(const u16 *)(ip + 2);
		at += VLAN_BYTES;
	}
	arrival->ip = at;
	if (protocol == bpf_htons(PROTOCOL_IPV4)) {
		ip = header(skb, at, IPV4_BYTES);
		if (!ip)
			return at;
		arrival->is_marked = (ip[1] & MARKED) == MARKED;
		if (bpf_ntohs(*(const u16 *)(ip + 6)) & FRAGMENT_PLACE)
			return at;
		end = at + bpf_ntohs(*(const u16 *)(ip + 2));
		arrival->protocol = ip[9];
		arrival->key = mix_words(settings.seed, (const u32 *)(ip + 12), 2);
		at += (ip[0] & 15) * 4;
	} else if (protocol == bpf_htons(PROTOCOL_IPV6)) {
		ip = header(skb, at, IPV6_BYTES);
		if (!ip)
			return at;
		arrival->is_marked = ((ip[1] >> 4) & MARKED) == MARKED;
		end = at + IPV6_BYTES + bpf_ntohs(*(const u16 *)(ip + 4));
		arrival->protocol = ip[6];
		arrival->is_ipv6 = 1;
		arrival->key = mix_words(settings.seed, (const u32 *)(ip + 8), 8);
		at += IPV6_BYTES;
	} else {
		return at;
	}
	/* The length is zero above 64 KiB; a short frame has padding after its end. */
	if (end <= at || end > skb->len)
		end = skb->len;
	return read_transport(skb, at, end, arrival);
}

extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym;

/* Cgroup of the socket for which a packet is, or zero: another host's, or another network namespace's. */
static inline u64 cgroup_of(struct __sk_buff *skb, const struct arrival *arrival)
{
	u32 bytes = arrival->is_ipv6 ? sizeof(((struct bpf_sock_tuple *)0)->ipv6) : sizeof(((struct bpf_sock_tuple *)0)->ipv4);
	struct bpf_sock_tuple tuple = {};
	struct bpf_sock *sk;
	u64 cgroup;

	if (arrival->is_ipv6) {
		if (bpf_skb_load_bytes(skb, arrival->ip + 8, &tuple.ipv6, 32) || bpf_skb_load_bytes(skb, arrival->ports, &tuple.ipv6.sport, 4))
			return 0;
	} else if (bpf_skb_load_bytes(skb, arrival->ip + 12, &tuple.ipv4, 8) || bpf_skb_load_bytes(skb, arrival->ports, &tuple.ipv4.sport, 4)) {
		return 0;
	}
	if (arrival->protocol == PROTOCOL_TCP)
		sk = bpf_sk_lookup_tcp(skb, &tuple, bytes, BPF_F_CURRENT_NETNS, 0);
	else
		sk = bpf_sk_lookup_udp(skb, &tuple, bytes, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return 0;
	/* No helper of these programs has the number. */
	cgroup = cgroup_number(bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct sock)));
	bpf_sk_release(sk);
	return cgroup;
}

/* A connection, or else the oldest one of its set. */
static inline struct connection *find(struct set *set, u64 key)
{
	struct connection *oldest = &set->ways[0];

#pragma unroll
	for (int way = 0; way < WAYS; way++) {
		if (set->ways[way].key == key)
			return &set->ways[way];
		if (set->ways[way].bin < oldest->bin)
			oldest = &set->ways[way];
	}
	return oldest;
}

/* Whether a bin that is above the limit continues the last burst, or its latest part. */
static inline bool continues(const struct state *state, u64 id)
{
	u64 pause = state->ended - state->began + 1;

	if (pause > settings.pause)
		pause = settings.pause;
	if (pause < SHORT_PAUSE)
		pause = SHORT_PAUSE;
	return state->ended && id <= state->ended + 1 + pause;
}

/* Whether it may become a part of the last burst. */
static inline bool is_near(const struct state *state, u64 id)
{
	return state->ended && id <= state->ended + 1 + settings.pause;
}

/* A bin is above the limit. A part that is as long as the pause before it is one burst with the part before that. */
static inline void extend(struct state *state, u64 id)
{
	if (!continues(state, id)) {
		state->whole = is_near(state, id) ? state->began : id;
		state->paused = id - state->ended - 1;
		state->began = id;
	}
	state->ended = id;
	if (id - state->began + 1 >= state->paused)
		state->began = state->whole;
}

/* Begins a bin; the state is locked. */
static inline void begin(struct state *state, u64 id)
{
	if (state->bin.bytes > settings.limit)
		extend(state, state->bin.id);
	__builtin_memset(&state->bin, 0, sizeof(state->bin));
	state->bin.id = id;
	state->over = (id + 1) * settings.bin_ns;
}

/* First bin of the burst to which the open one may belong. A burst includes the bin before it, in which its first packets may be. */
static inline u64 first_of_burst(const struct state *state)
{
	u64 id = state->bin.id;

	if (continues(state, id))
		return state->whole - 1;
	return (is_near(state, id) ? state->began : id) - 1;
}

/* Adds a connection's first data in a bin; the state is locked. */
static inline void join(struct state *state, struct connection *connection)
{
	u64 id = state->bin.id, part = continues(state, id) ? state->began : id;

	state->bin.connections++;
	if (connection->bin < first_of_burst(state))
		state->bin.joined++;
	if (connection->bin < part - 1)
		state->bin.fresh++;
	connection->bin = id;
}

/* Adds bytes for a cgroup; the state is locked. */
static inline void receive(struct bin *bin, u64 cgroup, u64 bytes)
{
#pragma unroll
	for (int place = 0; place < CGROUPS; place++) {
		struct receiver *receiver = &bin->receivers[place];

		if (receiver->cgroup == cgroup || !receiver->cgroup) {
			receiver->cgroup = cgroup;
			receiver->bytes += bytes;
			return;
		}
	}
}

/* Adds data of a connection to the bin; the state is locked. A connection for which its set has no place is not counted. */
static inline void add(struct state *state, const struct arrival *arrival, struct set *set, struct connection *connection, u64 cgroup)
{
	if (connection->key != arrival->key) {
		/* Another processor may have changed the set meanwhile. */
		connection = find(set, arrival->key);
	}
	if (connection->key != arrival->key) {
		if (connection->key && connection->bin >= first_of_burst(state))
			return;
		*connection = (struct connection){ .key = arrival->key, .cgroup = cgroup };
	}
	if (connection->bin != state->bin.id)
		join(state, connection);
	if (connection->cgroup)
		receive(&state->bin, connection->cgroup, arrival->bytes);
	if (arrival->protocol != PROTOCOL_TCP)
		return;
	if (connection->has_high && !after(arrival->end, connection->high)) {
		state->bin.resent += arrival->segments;
		return;
	}
	connection->high = arrival->end;
	connection->has_high = 1;
}

static inline void keep(struct __sk_buff *skb, u64 now, u32 bytes)
{
	struct head *head;
	u64 number;
	u32 place;

	if (!settings.heads)
		return;
	number = __sync_fetch_and_add(&numbered, 1);
	place = number & (settings.heads - 1);
	head = bpf_map_lookup_elem(&heads, &place);
	if (!head)
		return;
	head->number = 0;
	barrier();
	head->at = now;
	head->length = skb->len;
	bytes = smaller(bytes, skb->len);
	head->kept = bytes;
	if (bytes - 1 < HEAD_BYTES && !bpf_skb_load_bytes(skb, 0, head->bytes, bytes)) {
		barrier();
		head->number = number + 1;
	}
}

/* Passes the open bin on, and begins the next one. */
static __noinline void close_bin(struct state *state, u64 now)
{
	struct bin done = {};

	bpf_spin_lock(&state->lock);
	if (now >= state->over) {
		done = state->bin;
		begin(state, now / settings.bin_ns);
	}
	bpf_spin_unlock(&state->lock);
	/* The program looks each 0.1 s: it is not woken for each bin. */
	if (done.packets && bpf_ringbuf_output(&closed, &done, sizeof(done), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&state->dropped, 1);
}

SEC("tc")
int watch_arrives(struct __sk_buff *skb)
{
	struct arrival arrival = { .segments = skb->gso_segs ? skb->gso_segs : 1 };
	u32 zero = 0, headers = read(skb, &arrival), place = arrival.key >> (64 - SET_BITS);
	u64 now = bpf_ktime_get_ns(), cgroup = 0;
	struct connection *connection = NULL;
	struct set *set = NULL;
	struct state *state;

	keep(skb, now, headers);
	arrival.bytes = skb->len + (u64)(arrival.segments - 1) * headers;
	state = bpf_map_lookup_elem(&states, &zero);
	if (arrival.payload)
		set = bpf_map_lookup_elem(&connections, &place);
	if (!state)
		return TC_ACT_UNSPEC;
	if (now >= state->over)
		close_bin(state, now);
	if (set) {
		connection = find(set, arrival.key);
		if (connection->key != arrival.key)
			cgroup = cgroup_of(skb, &arrival);
	}
	bpf_spin_lock(&state->lock);
	state->bin.bytes += arrival.bytes;
	state->bin.packets += arrival.segments;
	if (arrival.is_marked)
		state->bin.marks += arrival.segments;
	if (connection)
		add(state, &arrival, set, connection, cgroup);
	bpf_spin_unlock(&state->lock);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int watch_leaves(struct __sk_buff *skb)
{
	struct arrival arrival = {};

	keep(skb, bpf_ktime_get_ns(), read(skb, &arrival));
	return TC_ACT_UNSPEC;
}
