/* M21's option: an experimental TCP option (RFC 6994) of eight bytes, with a window that a switch assigns or that a receiver echoes. */
#ifndef FANIN_M21_H
#define FANIN_M21_H

#include <bpf/bpf_endian.h>

#define OPTION_KIND 253
#define OPTION_BYTES 8
/* Identifiers: in data, written by the sender and lowered by switches; in acknowledgements, the latest value that arrived. */
#define OFFERED 0x4d32
#define ECHOED 0x4d33
#define NO_OFFER 0xffffffffu

struct option {
	u8 kind;
	u8 length;
	u16 identifier;
	u32 window;
} __attribute__((packed));

static inline struct option option_of(u16 identifier, u32 window)
{
	return (struct option){ OPTION_KIND, OPTION_BYTES, bpf_htons(identifier), bpf_htonl(window) };
}

#endif
