/* Logarithm and power in fixed point, bit for bit those of crates/engine/laws/src/fixed.rs, with 64-bit products only. */
#ifndef FANIN_FIXED_H
#define FANIN_FIXED_H

#define ONE_Q16 (1ull << 16)

/* 2^(2^-k) - 1 for k = 1..=16, with 32 bits of fraction, rounded to the nearest. */
static const u32 ROOTS_LESS_ONE_Q32[16] = {
	0x6a09e668, 0x306fe0a3, 0x172b83c8, 0x0b5586d0,
	0x059b0d31, 0x02c9a3e7, 0x0163daa0, 0x00b1afa6,
	0x0058c86e, 0x002c605e, 0x00162f39, 0x000b175f,
	0x00058ba0, 0x0002c5cc, 0x000162e5, 0x0000b172,
};

static inline u32 highest_bit(u64 x)
{
	u32 bit = 0;

	for (u32 step = 32; step > 0; step >>= 1) {
		if (x >> step) {
			x >>= step;
			bit += step;
		}
	}
	return bit;
}

/* The binary logarithm, rounded down to 1/65536; zero if x is at most one. */
static inline u64 log2_q16(u64 x_q16)
{
	u64 mantissa, log;
	u32 whole;

	if (x_q16 <= ONE_Q16)
		return 0;
	whole = highest_bit(x_q16);
	/* In 1..2 with 31 bits of fraction: squaring it shifts out the next bit of the logarithm. */
	mantissa = whole >= 31 ? x_q16 >> (whole - 31) : x_q16 << (31 - whole);
	log = (u64)(whole - 16) << 16;
	for (u32 bit = 1 << 15; bit > 0; bit >>= 1) {
		mantissa = (mantissa * mantissa) >> 31;
		if (mantissa >> 32) {
			mantissa >>= 1;
			log |= bit;
		}
	}
	return log;
}

/* Two to the power of x, with sixteen bits of fraction; saturates. */
static inline u64 exp2_q16(u64 x_q16)
{
	u64 product = 1ull << 32;
	u32 whole = x_q16 >> 16;

	if (x_q16 >> 16 >= 47)
		return ~0ull;
	for (u32 k = 0; k < 16; k++) {
		if (!(x_q16 & (1u << (15 - k))))
			continue;
		/* (product * (2^32 + root)) >> 32, of which the product is under 2^33. */
		u64 root = ROOTS_LESS_ONE_Q32[k];
		product += (product >> 32) * root + ((u64)(u32)product * root >> 32);
	}
	return whole <= 16 ? product >> (16 - whole) : product << (whole - 16);
}

/* The exponent is at most one. */
static inline u64 pow_q16(u64 x_q16, u64 exponent_q16)
{
	return exp2_q16(log2_q16(x_q16) * exponent_q16 >> 16);
}

#endif
