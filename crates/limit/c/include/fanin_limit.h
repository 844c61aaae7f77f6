/* fanin-limit: a limit of the bytes on their way into this host, over all servers.
 *
 * A client that requests from many servers at once receives their responses at once: they overflow the buffer of the switch port to its host
 * (incast). This limit admits a request while the bytes of expected responses fit.
 *
 *     fanin_limit *limit = fanin_limit_new(NULL, NULL, 0);
 *     uint64_t ticket = fanin_limit_acquire(limit, 0, 64000, FANIN_LIMIT_FOREVER);
 *     ... request, receive ...
 *     fanin_limit_finish(limit, ticket, 64000);      or fanin_limit_cancel(limit, ticket)
 *
 * Threads may share a limit, also with an event loop, which uses fanin_limit_request and fanin_limit_admit_next instead of
 * fanin_limit_acquire. Times are in nanoseconds of fanin_limit_now. If no thread uses fanin_limit_acquire, they may be since any other moment.
 * A time before an earlier call's counts as that one. Link with -lfanin_limit_c.
 */
#ifndef FANIN_LIMIT_H
#define FANIN_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Size of a response whose request does not state it. */
#define FANIN_LIMIT_UNKNOWN UINT64_MAX
/* A timeout that never comes. */
#define FANIN_LIMIT_FOREVER UINT64_MAX

typedef struct fanin_limit fanin_limit;

/* Counters since the start, and the state now. */
typedef struct {
    uint64_t in_flight;   /* bytes that are expected and have not arrived */
    uint64_t limit;       /* maximum number of bytes in flight, now */
    uint64_t mean;        /* mean size of a response */
    uint64_t admitted;    /* requests that were admitted */
    uint64_t waited;      /* of these, requests that had to wait */
    uint64_t waited_ns;   /* their waits */
    uint64_t waited_bytes; /* their expected bytes; at most as many would have been lost without the limit */
    uint64_t responses;   /* complete responses */
    uint64_t bytes;       /* their bytes */
    uint64_t cancelled;   /* requests that failed or were cancelled */
    uint64_t late;        /* admitted requests whose response was late, if the algorithm uses that */
    uint32_t outstanding; /* requests without their complete response */
    uint32_t waiting;     /* requests that wait for admission */
    uint32_t window;      /* the algorithm's window, in mean responses */
} fanin_limit_figures;

/* Makes a limit from settings in JSON, or from the defaults if `settings` is NULL. If settings are invalid, returns NULL and writes the key,
 * the problem and the solution to `error`, of `length` bytes, if it is not NULL. */
fanin_limit *fanin_limit_new(const char *settings, char *error, size_t length);

/* Makes a limit whose budget all processes of the host share that use this folder, such as one in /dev/shm, at most 64, with the same settings,
 * which must have a budget. The processes may be in any of fanin-limit's languages. One that ends, or is killed, gives back its part at once; one
 * that forks should do that before. A thread adapts this process's part: an event loop with waiting requests calls fanin_limit_admit_next every
 * 5 ms. Returns NULL and writes `error` as fanin_limit_new does, also if files of the folder cannot be written and locked,
 * or if the folder is not the user's or root's, or others may open it, except members of the group that the settings name. */
fanin_limit *fanin_limit_new_shared(const char *settings, const char *folder, char *error, size_t length);

/* Frees a limit, which no thread uses any more. NULL has no effect. */
void fanin_limit_free(fanin_limit *limit);

/* Nanoseconds since the limit was made. */
uint64_t fanin_limit_now(const fanin_limit *limit);

/* Waits until a response of `bytes` bytes may be requested for `caller`, at most `timeout_ns`. Returns its ticket, or 0 after the timeout.
 * Callers with waiting requests get equal shares of bytes; each number is one. */
uint64_t fanin_limit_acquire(fanin_limit *limit, uint64_t caller, uint64_t bytes, uint64_t timeout_ns);

/* Records a request and returns its ticket. It may be sent if it is admitted, else when fanin_limit_admit_next returns its ticket. */
uint64_t fanin_limit_request(fanin_limit *limit, uint64_t now_ns, uint64_t caller, uint64_t bytes);

/* Whether a request was admitted and has not ended: 1 or 0. */
int fanin_limit_is_admitted(const fanin_limit *limit, uint64_t ticket);

/* The next waiting request that may be sent now, or 0. An event loop calls this until it returns 0 after each call that gives bytes back. */
uint64_t fanin_limit_admit_next(fanin_limit *limit, uint64_t now_ns);

/* Corrects the expected size of a request's response, such as by its header. */
void fanin_limit_expect(fanin_limit *limit, uint64_t ticket, uint64_t bytes);

/* Records bytes of a response that have arrived: others may use their place. */
void fanin_limit_received(fanin_limit *limit, uint64_t ticket, uint64_t bytes);

/* Records a complete response of `bytes` bytes, or of those that were recorded as they arrived if these are more. */
void fanin_limit_finish(fanin_limit *limit, uint64_t ticket, uint64_t bytes);
void fanin_limit_finish_at(fanin_limit *limit, uint64_t now_ns, uint64_t ticket, uint64_t bytes);

/* Ends a request whose response will not come. To end one twice, or an unknown one, has no effect. */
void fanin_limit_cancel(fanin_limit *limit, uint64_t ticket);
void fanin_limit_cancel_at(fanin_limit *limit, uint64_t now_ns, uint64_t ticket);

/* Writes counters and state. */
void fanin_limit_read(const fanin_limit *limit, fanin_limit_figures *figures);

#ifdef __cplusplus
}
#endif

#endif
