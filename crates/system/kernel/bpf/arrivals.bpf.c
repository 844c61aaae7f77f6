/* Lets frames of BPF_PROG_TEST_RUN arrive at the loopback device, to measure the sensor of `fanin watch`. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("xdp")
int arrives(struct xdp_md *packet)
{
	return XDP_PASS;
}
