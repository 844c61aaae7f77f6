/* The sensor of `fanin watch` (tc): arrivals in bins of time, and the latest packets' headers. A bin goes to the ring buffer when a packet
 * of a later one arrives. */
#include "kernel.h"

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
#define IPV6_BYTES 40
#define UDP_BYTES 8
#define MARKED 3
#define HEAD_BYTES 120

/* Bins of the shortest pause that may interrupt a burst, less one, as src/watch/burst.rs has it. */
#define SHORT_PAUSE 2

/* Set by the loader: a bin's time, the bytes above which it is part of a burst, bins of the longest pause within a burst, and packets whose
 * headers are kept (a power of two, or zero). */
const volatile struct {
	u64 bin_ns;
	u64 limit;
	u64 pause;
	u64 heads;
} settings = {};

struct flow {
	u32 peer[4];
	u32 own[4];
	u16 peer_port;
	u16 own_port;
	u32 protocol;
};

struct connection {
	u64 bin; /* of its last data */
	u32 high; /* end of its data */
	u32 has_high;
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
};

struct state {
	struct bpf_spin_lock lock;
	u64 whole; /* first bin of the last burst, that of its latest part, which a long pause precedes, and its last bin above the limit */
	u64 began;
	u64 ended;
	u64 paused; /* bins of that pause */
	u64 dropped; /* bins for which the ring buffer had no space */
	struct bin bin;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct state);
} states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct flow);
	__type(value, struct connection);
} connections SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
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
	struct flow flow;
	u64 bytes;
	u32 segments;
	u32 is_marked;
	u32 payload; /* bytes of the connection's data */
	u32 end; /* TCP's sequence number after them */
};

static inline u32 ports(struct __sk_buff *skb, u32 at, u32 end, struct arrival *arrival)
{
	u8 tcp[14];
	u32 header = UDP_BYTES;

	if (arrival->flow.protocol != PROTOCOL_TCP && arrival->flow.protocol != PROTOCOL_UDP)
		return at;
	if (bpf_skb_load_bytes(skb, at, &arrival->flow.peer_port, 4))
		return at;
	if (arrival->flow.protocol == PROTOCOL_TCP) {
		if (bpf_skb_load_bytes(skb, at, tcp, sizeof(tcp)))
			return at;
		header = (tcp[12] >> 4) * 4;
		__builtin_memcpy(&arrival->end, tcp + 4, 4);
	}
	at += header;
	arrival->payload = end > at ? end - at : 0;
	arrival->end = bpf_ntohl(arrival->end) + arrival->payload;
	return at;
}

/* Reads the headers; returns their bytes. */
static inline u32 read(struct __sk_buff *skb, struct arrival *arrival)
{
	u32 at = ETHERNET_BYTES, end;
	u16 protocol = skb->protocol;
	u8 ip[IPV6_BYTES];

	if (protocol == bpf_htons(PROTOCOL_VLAN) || protocol == bpf_htons(PROTOCOL_VLANS)) {
		if (bpf_skb_load_bytes(skb, at + 2, &protocol, sizeof(protocol)))
			return at;
		at += VLAN_BYTES;
	}
	if (protocol == bpf_htons(PROTOCOL_IPV4) && !bpf_skb_load_bytes(skb, at, ip, 20)) {
		arrival->is_marked = (ip[1] & MARKED) == MARKED;
		if (((ip[6] << 8) | ip[7]) & FRAGMENT_PLACE)
			return at;
		end = at + ((ip[2] << 8) | ip[3]);
		arrival->flow.protocol = ip[9];
		__builtin_memcpy(arrival->flow.peer, ip + 12, 4);
		__builtin_memcpy(arrival->flow.own, ip + 16, 4);
		at += (ip[0] & 15) * 4;
	} else if (protocol == bpf_htons(PROTOCOL_IPV6) && !bpf_skb_load_bytes(skb, at, ip, IPV6_BYTES)) {
		arrival->is_marked = ((ip[1] >> 4) & MARKED) == MARKED;
		end = at + IPV6_BYTES + ((ip[4] << 8) | ip[5]);
		arrival->flow.protocol = ip[6];
		__builtin_memcpy(arrival->flow.peer, ip + 8, 32);
		at += IPV6_BYTES;
	} else {
		return at;
	}
	/* The length is zero above 64 KiB; a short frame has padding after its end. */
	if (end <= at || end > skb->len)
		end = skb->len;
	return ports(skb, at, end, arrival);
}

static inline struct connection *connection_of(const struct flow *flow)
{
	struct connection *found = bpf_map_lookup_elem(&connections, flow), none = {};

	if (found)
		return found;
	bpf_map_update_elem(&connections, flow, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&connections, flow);
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
}

/* Adds data of a connection to the bin; the state is locked. */
static inline void add(struct state *state, const struct arrival *arrival, struct connection *connection)
{
	u64 id = state->bin.id, whole = id, part = id;

	if (continues(state, id)) {
		whole = state->whole;
		part = state->began;
	} else if (is_near(state, id)) {
		whole = state->began;
	}
	if (connection->bin != id)
		state->bin.connections++;
	/* A burst includes the bin before it, in which its first packets may be. */
	if (connection->bin < whole - 1)
		state->bin.joined++;
	if (connection->bin < part - 1)
		state->bin.fresh++;
	connection->bin = id;
	if (arrival->flow.protocol != PROTOCOL_TCP)
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

SEC("tc")
int watch_arrives(struct __sk_buff *skb)
{
	u64 now = bpf_ktime_get_ns(), id = now / settings.bin_ns;
	struct connection *connection = NULL;
	struct arrival arrival = {};
	struct bin done = {};
	struct state *state;
	u32 zero = 0, headers;

	state = bpf_map_lookup_elem(&states, &zero);
	if (!state)
		return TC_ACT_UNSPEC;
	arrival.segments = skb->gso_segs ? skb->gso_segs : 1;
	headers = read(skb, &arrival);
	keep(skb, now, headers);
	arrival.bytes = skb->len + (u64)(arrival.segments - 1) * headers;
	if (arrival.payload)
		connection = connection_of(&arrival.flow);
	bpf_spin_lock(&state->lock);
	if (id > state->bin.id) {
		done = state->bin;
		begin(state, id);
	}
	state->bin.bytes += arrival.bytes;
	state->bin.packets += arrival.segments;
	if (arrival.is_marked)
		state->bin.marks += arrival.segments;
	if (connection)
		add(state, &arrival, connection);
	bpf_spin_unlock(&state->lock);
	if (done.packets && bpf_ringbuf_output(&closed, &done, sizeof(done), 0))
		__sync_fetch_and_add(&state->dropped, 1);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int watch_leaves(struct __sk_buff *skb)
{
	struct arrival arrival = {};

	keep(skb, bpf_ktime_get_ns(), read(skb, &arrival));
	return TC_ACT_UNSPEC;
}
