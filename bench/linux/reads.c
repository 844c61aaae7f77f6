/* Barrier reads over this kernel's TCP.

   reads serve PORT                          answers each request of four bytes, a length, with so many bytes
   reads ask PORT SERVERS BYTES SECONDS MOST  asks 10.91.1.1, 10.91.2.1, … together, again as the last has answered; a line of JSON

   Two rounds come before what is counted. It ends after SECONDS and five rounds at least, or MOST rounds.
   Whoever is slow: ANSWER_PAUSE_MS, before each fourth answer; READ_PAUSE_MS, before anything is read; ROUND_PAUSE_MS, behind a round. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP = 2, LEAST = 5, STUCK_MS = 60000 };

static char buffer[1 << 20];

static void must(int fine, const char *what) {
    if (!fine) {
        perror(what);
        exit(1);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Waits for so many milliseconds, where the environment has them. */
static void rest(const char *name) {
    const char *ms = getenv(name);
    if (ms) usleep(1000 * atoi(ms));
}

static int without_delay(int fd) {
    int one = 1;
    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static void serve(int port) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    must(bind(listener, (void *)&here, sizeof here) == 0 && listen(listener, 8) == 0, "listen");
    for (int answers = 1;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0 || without_delay(client) < 0) continue;
        uint32_t bytes;
        while (recv(client, &bytes, sizeof bytes, MSG_WAITALL) == sizeof bytes) {
            if (answers++ % 4 == 0) rest("ANSWER_PAUSE_MS");
            while (bytes > 0) {
                ssize_t sent = send(client, buffer, bytes < sizeof buffer ? bytes : sizeof buffer, MSG_NOSIGNAL);
                if (sent <= 0) break;
                bytes -= sent;
            }
        }
        close(client);
    }
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void ask(int port, int servers, uint32_t bytes, double seconds, int most) {
    int *fds = calloc(servers, sizeof *fds), epoll = epoll_create1(0), rounds = 0;
    uint32_t *left = calloc(servers, sizeof *left);
    double *took = calloc(most, sizeof *took), began = 0, busy = 0;
    for (int i = 0; i < servers; i++) {
        struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port)};
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        char address[32];
        snprintf(address, sizeof address, "10.91.%d.1", i + 1);
        inet_pton(AF_INET, address, &there.sin_addr);
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        must(connect(fds[i], (void *)&there, sizeof there) == 0 && without_delay(fds[i]) == 0, "connect");
        must(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event) == 0, "epoll");
    }
    for (int round = -WARM_UP; rounds < most && (rounds < LEAST || now() - began < seconds); round++) {
        double start = now();
        int open = servers;
        if (round == 0) began = start;
        for (int i = 0; i < servers; i++) {
            left[i] = bytes;
            must(send(fds[i], &bytes, sizeof bytes, 0) == sizeof bytes, "send");
        }
        while (open > 0) {
            struct epoll_event events[64];
            int ready = epoll_wait(epoll, events, 64, STUCK_MS);
            must(ready > 0, "nothing came for a minute");
            for (int j = 0; j < ready; j++) {
                int i = events[j].data.u32;
                rest("READ_PAUSE_MS");
                ssize_t got = recv(fds[i], buffer, sizeof buffer, MSG_DONTWAIT);
                if (got < 0) continue;
                must(got > 0, "a server has closed");
                left[i] -= got;
                open -= left[i] == 0;
            }
        }
        double ended = now();
        rest("ROUND_PAUSE_MS");
        if (round < 0) continue;
        took[rounds] = ended - start;
        busy += took[rounds++];
    }
    qsort(took, rounds, sizeof *took, by_size);
    int late = rounds * 99 / 100;
    printf("{\"rounds\": %d, \"goodput_mbps\": %.1f, \"p50_round_ms\": %.1f, \"p99_round_ms\": %.1f", rounds,
           (double)rounds * servers * bytes * 8 / busy / 1e6, took[rounds / 2] * 1e3, took[late < rounds ? late : rounds - 1] * 1e3);
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "serve") == 0) serve(atoi(arguments[2]));
    if (count != 7 || strcmp(arguments[1], "ask") != 0) {
        fprintf(stderr, "usage: reads serve PORT | reads ask PORT SERVERS BYTES SECONDS MOST\n");
        return 2;
    }
    ask(atoi(arguments[2]), atoi(arguments[3]), atoi(arguments[4]), atof(arguments[5]), atoi(arguments[6]));
    return 0;
}
