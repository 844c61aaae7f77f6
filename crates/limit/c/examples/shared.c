/* Two limits share a budget through a folder, as two processes do: the second one gets its bytes when the first one's end. */
#include "fanin_limit.h"

#include <inttypes.h>
#include <stdio.h>

#define COUNT 64

static uint64_t in_flight(fanin_limit *limit)
{
    fanin_limit_figures figures;
    fanin_limit_read(limit, &figures);
    return figures.in_flight;
}

int main(int count, char **arguments)
{
    const char *settings = "{\"law\": \"one-all\", \"budget\": \"64 KB\"}";
    char error[256];
    if (count != 2 || fanin_limit_new_shared("{}", arguments[1], error, sizeof error) != NULL)
        return 1;
    fanin_limit *first = fanin_limit_new_shared(settings, arguments[1], error, sizeof error);
    if (first == NULL)
        return 1;
    for (int i = 0; i < COUNT; i++)
        fanin_limit_acquire(first, 0, 1000, FANIN_LIMIT_FOREVER);
    fanin_limit *second = fanin_limit_new_shared(settings, arguments[1], error, sizeof error);
    if (second == NULL)
        return 1;
    uint64_t early = fanin_limit_acquire(second, 0, 1000, 50000000);
    printf("first %" PRIu64 ", second %" PRIu64 "\n", in_flight(first), early);
    fanin_limit_free(first);
    for (int i = 0; i < COUNT; i++)
        fanin_limit_acquire(second, 0, 1000, FANIN_LIMIT_FOREVER);
    printf("second %" PRIu64 "\n", in_flight(second));
    fanin_limit_free(second);
    return 0;
}
