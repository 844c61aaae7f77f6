/* Programs of a router's port (tc egress): marks above a threshold of its queue, and M21's windows. */
#include "kernel.h"
#include "m21.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define ETHERNET_BYTES 14
#define IPV4_LEAST 20
#define TCP_LEAST 20
#define MOST_OPTIONS 40
#define PROTOCOL_TCP 6
#define FLAG_FIN 1
#define FLAG_SYN 2
#define FLAG_RST 4
#define HEADER_BYTES 42 /* MHS of M21's equation 1 */

/* Set by the loader: bytes of the queue above which packets are marked, and bytes that flows share. */
const volatile struct {
	u32 threshold;
	u32 buffer;
} settings = {};

/* Packets marked; the port's open flows; options lowered; those that could not be. */
u64 marked = 0;
u64 flows = 0;
u64 lowered = 0;
u64 failed = 0;

struct flow {
	u32 from;
	u32 to;
	u16 from_port;
	u16 to_port;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct flow);
	__type(value, u8);
} open_flows SEC(".maps");

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

SEC("tc")
int mark_above(struct __sk_buff *skb)
{
	struct sk_buff *packet = bpf_cast_to_kern_ctx(skb);

	if (packet->dev->qdisc->qstats.backlog >= settings.threshold && bpf_skb_ecn_set_ce(skb))
		__sync_fetch_and_add(&marked, 1);
	return 0;
}

/* A flow opens with SYN or SYN-ACK, and closes with FIN or RST, once however often they are sent. */
static inline void count(const struct flow *flow, u8 flags)
{
	u8 one = 1;

	if (flags & (FLAG_FIN | FLAG_RST)) {
		if (!bpf_map_delete_elem(&open_flows, flow))
			__sync_fetch_and_add(&flows, -1);
	} else if (flags & FLAG_SYN) {
		if (!bpf_map_update_elem(&open_flows, flow, &one, BPF_NOEXIST))
			__sync_fetch_and_add(&flows, 1);
	}
}

/* Equation 1. */
static inline u32 window_of_each(void)
{
	u64 count = flows;
	u64 share;

	if (!count)
		return NO_OFFER;
	share = settings.buffer / count;
	return share > HEADER_BYTES ? share - HEADER_BYTES : 0;
}

/* Place of an offer among the options, or zero. */
static inline u32 offer_at(struct __sk_buff *skb, u32 at, u32 end)
{
	for (u32 looked = 0; looked < MOST_OPTIONS && at + OPTION_BYTES <= end; looked++) {
		struct option option;

		if (bpf_skb_load_bytes(skb, at, &option, sizeof(option)))
			return 0;
		if (option.kind == OPTION_KIND && option.length == OPTION_BYTES && option.identifier == bpf_htons(OFFERED))
			return at;
		if (option.kind == 0 || (option.kind != 1 && option.length < 2))
			return 0;
		at += option.kind == 1 ? 1 : option.length;
	}
	return 0;
}

/* Switches only lower a window along the path. */
static inline void lower(struct __sk_buff *skb, u32 tcp, u32 at)
{
	u32 place = at + __builtin_offsetof(struct option, window), sum = tcp + 16;
	u32 own = bpf_htonl(window_of_each()), carried;

	if (bpf_skb_load_bytes(skb, place, &carried, sizeof(carried)) || bpf_ntohl(carried) <= bpf_ntohl(own))
		return;
	if (bpf_l4_csum_replace(skb, sum, carried, own, sizeof(own)) || bpf_skb_store_bytes(skb, place, &own, sizeof(own), 0))
		__sync_fetch_and_add(&failed, 1);
	else
		__sync_fetch_and_add(&lowered, 1);
}

SEC("tc")
int allot_windows(struct __sk_buff *skb)
{
	u8 ip[IPV4_LEAST], tcp[TCP_LEAST];
	u32 at = ETHERNET_BYTES, header;
	struct flow flow;

	if (skb->protocol != bpf_htons(0x0800) || bpf_skb_load_bytes(skb, at, ip, sizeof(ip)) || ip[9] != PROTOCOL_TCP)
		return 0;
	at += (ip[0] & 15) * 4;
	if (bpf_skb_load_bytes(skb, at, tcp, sizeof(tcp)))
		return 0;
	__builtin_memcpy(&flow.from, ip + 12, 8);
	__builtin_memcpy(&flow.from_port, tcp, 4);
	count(&flow, tcp[13]);
	header = offer_at(skb, at + TCP_LEAST, at + (tcp[12] >> 4) * 4);
	if (header)
		lower(skb, at, header);
	return 0;
}
