/* Eight threads share a budget of three responses; some requests fail, and some give up after a millisecond. */
#include "fanin_limit.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

static void *request(void *argument)
{
    fanin_limit *limit = argument;
    for (int round = 0; round < 200; round++) {
        uint64_t timeout = round % 5 == 4 ? 1000000 : FANIN_LIMIT_FOREVER;
        uint64_t ticket = fanin_limit_acquire(limit, 0, 1000, timeout);
        if (ticket == 0)
            continue;
        fanin_limit_received(limit, ticket, 400);
        if (round % 3 == 0)
            fanin_limit_cancel(limit, ticket);
        else
            fanin_limit_finish(limit, ticket, 1000);
        fanin_limit_cancel(limit, ticket);
    }
    return NULL;
}

int main(void)
{
    char error[256];
    if (fanin_limit_new("{\"law\": \"none\"}", error, sizeof error) != NULL)
        return 1;
    printf("%s\n", error);
    fanin_limit *limit = fanin_limit_new("{\"law\": \"one-all\", \"budget\": \"3 KB\"}", error, sizeof error);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, request, limit) != 0)
            return 1;
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    fanin_limit_figures figures;
    fanin_limit_read(limit, &figures);
    printf("in flight %" PRIu64 ", waiting %" PRIu32 ", mean %" PRIu64 "\n", figures.in_flight, figures.waiting, figures.mean);
    fanin_limit_free(limit);
    fanin_limit_free(NULL);
    return 0;
}
