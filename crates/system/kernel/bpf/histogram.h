/* Counts of durations: eight buckets an octave of microseconds. */
#ifndef FANIN_HISTOGRAM_H
#define FANIN_HISTOGRAM_H

#define BUCKETS 256

static inline void add(u64 *total, u64 more)
{
	__sync_fetch_and_add(total, more);
}

static inline u32 bucket(u64 us)
{
	u32 bit = 0;
	u64 rest = us;

	for (u32 step = 16; step > 0; step >>= 1) {
		if (rest >> step) {
			rest >>= step;
			bit += step;
		}
	}
	if (us >> 32)
		return BUCKETS - 1;
	return bit < 3 ? us : (bit - 2) * 8 + ((us >> (bit - 3)) & 7);
}

static inline void count_bucket(u64 *buckets, u64 us)
{
	u32 place = bucket(us);

	if (place < BUCKETS)
		add(&buckets[place], 1);
}

#endif
