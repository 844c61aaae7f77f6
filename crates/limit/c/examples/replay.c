/* An event loop's calls, read as lines from the standard input: settings on the first line, then `KIND INDEX NOW_NS BYTES CALLER`. INDEX
 * names a request. Prints the figures after each line, then the indices of the requests that it admits. */
#include "fanin_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t tickets[1024];

static int index_of(uint64_t ticket)
{
    for (int i = 0; i < 1024; i++)
        if (tickets[i] == ticket)
            return i;
    return -1;
}

int main(void)
{
    static char line[4096], error[256];
    if (fgets(line, sizeof line, stdin) == NULL)
        return 1;
    fanin_limit *limit = fanin_limit_new(line, error, sizeof error);
    if (limit == NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    char kind[16];
    int index;
    uint64_t now, bytes, caller;
    while (scanf("%15s %d %" SCNu64 " %" SCNu64 " %" SCNu64, kind, &index, &now, &bytes, &caller) == 5) {
        int is_request = strcmp(kind, "request") == 0;
        if (is_request)
            tickets[index] = fanin_limit_request(limit, now, caller, bytes);
        else if (strcmp(kind, "received") == 0)
            fanin_limit_received(limit, tickets[index], bytes);
        else if (strcmp(kind, "sized") == 0)
            fanin_limit_expect(limit, tickets[index], bytes);
        else if (strcmp(kind, "finish") == 0)
            fanin_limit_finish_at(limit, now, tickets[index], bytes);
        else
            fanin_limit_cancel_at(limit, now, tickets[index]);
        char admits[64] = "";
        if (is_request && fanin_limit_is_admitted(limit, tickets[index]))
            sprintf(admits, " %d", index);
        fanin_limit_figures f;
        char more[2048] = "";
        for (uint64_t ticket = fanin_limit_admit_next(limit, now); ticket != 0; ticket = fanin_limit_admit_next(limit, now))
            sprintf(more + strlen(more), " %d", index_of(ticket));
        fanin_limit_read(limit, &f);
        printf("%" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ":%s%s\n",
               f.in_flight, f.outstanding, f.waiting, f.limit, f.window, f.mean, f.waited, f.responses, f.bytes, f.cancelled, f.late, f.waited_bytes,
               admits, more);
    }
    fanin_limit_free(limit);
    return 0;
}
