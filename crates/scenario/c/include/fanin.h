/* C interface of fanin's packet-level simulator.
 *
 * A simulation has the network and the transport of a scenario (docs/scenario.md), or a network that the caller builds, and carries the
 * caller's messages. Times are in
 * picoseconds, hosts are numbered from 0. Nothing is global: each simulation may be used by one thread at a time, and several at once.
 * A callback may call every function of its simulation but fanin_run, fanin_get_statistics and fanin_free. No function unwinds into the
 * caller.
 *
 * Version 2, which added fanin_network_*. A later version only adds functions.
 */
#ifndef FANIN_H
#define FANIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FANIN_VERSION 2
/* As a time: until nothing is left to happen. */
#define FANIN_NEVER UINT64_MAX

typedef struct fanin_simulation fanin_simulation;

/* Called back with the context given beside it. */
typedef void (*fanin_callback)(void *context);

typedef enum fanin_status {
    FANIN_OK = 0,
    /* A host that does not exist, a message to its own host, one of more than 2^48 bytes, or a null pointer. */
    FANIN_BAD_ARGUMENT = 1,
    /* fanin_run or fanin_get_statistics within a callback. */
    FANIN_BUSY = 2,
    /* An error of the simulator itself; the simulation can only be freed. */
    FANIN_BROKEN = 3,
} fanin_status;

typedef struct fanin_statistics {
    uint64_t now_ps;
    /* Messages sent, and those whose last byte has arrived. */
    uint64_t messages_sent;
    uint64_t messages_arrived;
    uint64_t data_packets;
    uint64_t drops;
    uint64_t marks;
    uint64_t timeouts;
    uint64_t retransmits;
} fanin_statistics;

/* The version of the library. */
uint32_t fanin_version(void);

/* A simulation with the network of a scenario's text, the transport of one of its schemes (NULL: the first) and a seed. The scenario's
 * workload has no effect but its number of hosts. NULL on an error, whose text is written to `error` with at most `size` bytes, zero
 * included. Free it with fanin_free. */
fanin_simulation *fanin_new(const char *scenario, const char *scheme, uint64_t seed, char *error, size_t size);

/* A network that is built by calls. */
typedef struct fanin_network fanin_network;

/* A network of 2 to 2^20 hosts without links; NULL for other numbers. Hosts are nodes 0 to hosts - 1. Free it with fanin_network_free. */
fanin_network *fanin_network_new(uint32_t hosts);

/* Adds a switch; returns its number as a node, UINT32_MAX if there are too many. */
uint32_t fanin_network_switch(fanin_network *network);

/* Adds a link in both directions between a host and a switch, or between two switches: 1 kbit/s to 1 Pbit/s, and at most 100 s. A host may
 * have several. Packets take shortest paths by the number of links; no path leads through a host. */
fanin_status fanin_network_link(fanin_network *network, uint32_t one, uint32_t other, uint64_t rate_bps, uint64_t delay_ps);

/* Sets a key of docs/scenario.md, such as "switch.buffer" to "256 KiB". fanin_network_simulate reports wrong ones. */
fanin_status fanin_network_set(fanin_network *network, const char *key, const char *value);

/* A simulation of the network so far, with a scheme such as "dctcp" and a seed; otherwise as fanin_new. The network can be changed and used
 * again, or freed. */
fanin_simulation *fanin_network_simulate(const fanin_network *network, const char *scheme, uint64_t seed, char *error, size_t size);

/* Frees a network; NULL has no effect. */
void fanin_network_free(fanin_network *network);

/* The number of hosts. */
uint32_t fanin_hosts(const fanin_simulation *simulation);

/* The current time. */
uint64_t fanin_now(const fanin_simulation *simulation);

/* Sends a message of at least one byte; `sent` is called, if not NULL, when its last byte has arrived. */
fanin_status fanin_send(fanin_simulation *simulation, uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag, fanin_callback sent,
                        void *context);

/* Awaits a message: the n-th receive of a host from another one with a tag is for the n-th message of that tag. `received` is called
 * when its last byte has arrived, at once if it is there. */
fanin_status fanin_receive(fanin_simulation *simulation, uint32_t at, uint32_t from, uint64_t tag, fanin_callback received, void *context);

/* Calls back after a time; `*timer`, if not NULL, gets a number for fanin_cancel. */
fanin_status fanin_schedule(fanin_simulation *simulation, uint64_t after_ps, fanin_callback due, void *context, uint64_t *timer);

/* Cancels a timer; one that was due before has no effect. */
fanin_status fanin_cancel(fanin_simulation *simulation, uint64_t timer);

/* Runs until a time, which is the current one afterwards, or with FANIN_NEVER until nothing is left to happen: the current time is then that
 * of the last timer of any connection, which may be later than the last callback. */
fanin_status fanin_run(fanin_simulation *simulation, uint64_t until_ps);

/* Figures so far. */
fanin_status fanin_get_statistics(const fanin_simulation *simulation, fanin_statistics *statistics);

/* Frees a simulation; NULL has no effect. */
void fanin_free(fanin_simulation *simulation);

#ifdef __cplusplus
}
#endif

#endif
