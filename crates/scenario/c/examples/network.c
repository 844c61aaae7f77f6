/* Two racks of four hosts under four spines, built by calls: each host of the first rack sends to one of the second. Then with one spine. */
#include <inttypes.h>
#include <stdio.h>

#include "fanin.h"

enum { RACKS = 2, HOSTS = 4 };

static void arrived(void *end) {
    (*(int *)end)++;
}

static fanin_network *racks(int spines) {
    fanin_network *network = fanin_network_new(RACKS * HOSTS);
    uint32_t leaves[RACKS];
    for (uint32_t rack = 0; rack < RACKS; rack++) {
        leaves[rack] = fanin_network_switch(network);
        for (uint32_t host = 0; host < HOSTS; host++) {
            fanin_network_link(network, rack * HOSTS + host, leaves[rack], 100000000000, 1000000);
        }
    }
    for (int number = 0; number < spines; number++) {
        const uint32_t spine = fanin_network_switch(network);
        for (uint32_t rack = 0; rack < RACKS; rack++) {
            fanin_network_link(network, leaves[rack], spine, 100000000000, 1000000);
        }
    }
    fanin_network_set(network, "switch.buffer", "200 KB");
    fanin_network_set(network, "uet.spraying", "adaptive");
    return network;
}

int main(void) {
    for (int spines = 4; spines >= 1; spines /= 4) {
        char error[256];
        fanin_network *network = racks(spines);
        fanin_simulation *simulation = fanin_network_simulate(network, "nscc", 1, error, sizeof error);
        fanin_network_free(network);
        if (simulation == NULL) {
            fprintf(stderr, "%s\n", error);
            return 1;
        }
        int count = 0;
        for (uint32_t host = 0; host < HOSTS; host++) {
            fanin_send(simulation, host, HOSTS + host, 10000000, 0, arrived, &count);
        }
        uint64_t us = 0;
        while (count < HOSTS && fanin_run(simulation, ++us * 1000000) == FANIN_OK) {
        }
        printf("%d spines: %d messages in %" PRIu64 " us\n", spines, count, us);
        fanin_free(simulation);
    }
    return 0;
}
