/* Thirty-two servers answer host 0 at once, twice: the second round begins when the first has ended. */
#include <inttypes.h>
#include <stdio.h>

#include "fanin.h"

enum { SERVERS = 32 };

static const char *const SCENARIO =
    "schemes = [\"newreno\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"256 KiB\"\n"
    "[sweep]\nfan_in = [32]\n";

struct round {
    fanin_simulation *simulation;
    int number, missing;
};

static void begin(struct round *round);

static void received(void *context) {
    struct round *round = context;
    if (--round->missing > 0) {
        return;
    }
    printf("round %d ends at %" PRIu64 " us\n", round->number, fanin_now(round->simulation) / 1000000);
    if (round->number == 1) {
        round->number = 2;
        begin(round);
    }
}

static void begin(struct round *round) {
    round->missing = SERVERS;
    for (uint32_t server = 1; server <= SERVERS; server++) {
        fanin_send(round->simulation, server, 0, 64000, (uint64_t)round->number, NULL, NULL);
        fanin_receive(round->simulation, 0, server, (uint64_t)round->number, received, round);
    }
}

int main(void) {
    char error[256];
    fanin_simulation *simulation = fanin_new(SCENARIO, NULL, 1, error, sizeof error);
    if (simulation == NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    struct round round = {simulation, 1, 0};
    begin(&round);
    fanin_statistics statistics;
    int failed = fanin_run(simulation, FANIN_NEVER) != FANIN_OK || fanin_get_statistics(simulation, &statistics) != FANIN_OK;
    printf("%" PRIu64 " messages, %" PRIu64 " drops, %" PRIu64 " timeouts\n", statistics.messages_arrived, statistics.drops,
           statistics.timeouts);
    fanin_free(simulation);
    return failed;
}
