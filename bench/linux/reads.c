/* Barrier reads over this kernel's TCP.

   reads serve PORT                          answers each request of four bytes, a length, with so many bytes
   reads serve PORT SERVERS                   the same by a process for each of 10.91.1.1, 10.91.2.1, …
   reads ask PORT SERVERS BYTES SECONDS MOST  asks 10.91.1.1, 10.91.2.1, … together, again as the last has answered; a line of JSON

   Two rounds come before what is counted. It ends after SECONDS and five rounds at least, or MOST rounds.
   Whoever is slow: ANSWER_PAUSE_MS, before each fourth answer; READ_PAUSE_MS, before anything is read; ROUND_PAUSE_MS, behind a round.
   SERVICE_NS and SERVICE_JITTER_NS: how long a server works before each response, and a uniform random addition.
   REQUEST_GAP_NS: from one request of a round to the next. ORDER: a seed that shuffles the order of requests from the first
   round that counts on, by when each connection has a window of its own: before, servers are alike, and so are all orders.
   CONNECTIONS=new: a connection for each request, which the server closes behind its response.
   RECEIVE_BUFFER: SO_RCVBUF of the client's sockets. INFO: a file for TCP_INFO of each server as a request arrives. */

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP = 2, LEAST = 5, STUCK_S = 60 };

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

/* Waits for the milliseconds that an environment variable names, if it is set. */
static void rest(const char *name) {
    const char *ms = getenv(name);
    if (ms) usleep(1000 * atoi(ms));
}

static long setting(const char *name) {
    const char *value = getenv(name);
    return value ? atol(value) : 0;
}

static void pause_ns(long ns) {
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    if (ns > 0) nanosleep(&t, NULL);
}

/* Logs the state of the server's TCP when a request arrives. */
static void note(FILE *log, int server, int fd) {
    struct tcp_info i;
    socklen_t size = sizeof i;
    if (!log || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &size) != 0) return;
    fprintf(log, "%.6f %d cwnd %u ssthresh %u rtt_us %u rttvar_us %u rto_us %u unacked %u lost %u retrans %u state %u\n",
            now(), server, i.tcpi_snd_cwnd, i.tcpi_snd_ssthresh, i.tcpi_rtt, i.tcpi_rttvar, i.tcpi_rto, i.tcpi_unacked, i.tcpi_lost, i.tcpi_total_retrans, i.tcpi_ca_state);
    fflush(log);
}

static int new_connections(void) {
    const char *connections = getenv("CONNECTIONS");
    return connections && strcmp(connections, "new") == 0;
}

static int without_delay(int fd) {
    int one = 1;
    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static struct sockaddr_in address_of(int server, int port) {
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port)};
    char address[32];
    snprintf(address, sizeof address, "10.91.%d.1", server + 1);
    inet_pton(AF_INET, address, &there.sin_addr);
    return there;
}

static void serve(struct sockaddr_in here, int server) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    long service = setting("SERVICE_NS"), jitter = setting("SERVICE_JITTER_NS");
    FILE *log = getenv("INFO") ? fopen(getenv("INFO"), "a") : NULL;
    int once = new_connections();
    srand48(server + 1);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    must(bind(listener, (void *)&here, sizeof here) == 0 && listen(listener, 8) == 0, "listen");
    for (int answers = 1;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0 || without_delay(client) < 0) continue;
        uint32_t bytes;
        while (recv(client, &bytes, sizeof bytes, MSG_WAITALL) == sizeof bytes) {
            if (answers++ % 4 == 0) rest("ANSWER_PAUSE_MS");
            note(log, server, client);
            pause_ns(service + (long)(drand48() * jitter));
            while (bytes > 0) {
                ssize_t sent = send(client, buffer, bytes < sizeof buffer ? bytes : sizeof buffer, MSG_NOSIGNAL);
                if (sent <= 0) break;
                bytes -= sent;
            }
            if (once) break;
        }
        close(client);
    }
}

/* A process for each server, all of which end with this one. */
static void serve_all(int port, int servers) {
    for (int i = 0; i < servers; i++) {
        if (fork() != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(address_of(i, port), i);
    }
    while (wait(NULL) > 0) continue;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Connects, and has epoll say when something can be read; with `later`, only when it is connected. */
static int reach(int server, int port, int epoll, int later) {
    struct sockaddr_in there = address_of(server, port);
    struct epoll_event event = {.events = later ? EPOLLOUT : EPOLLIN, .data.u32 = server};
    int fd = socket(AF_INET, SOCK_STREAM | (later ? SOCK_NONBLOCK : 0), 0), size = setting("RECEIVE_BUFFER");
    must(size == 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) == 0, "SO_RCVBUF");
    int done = connect(fd, (void *)&there, sizeof there);
    must((done == 0 || (later && errno == EINPROGRESS)) && without_delay(fd) == 0, "connect");
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll");
    return fd;
}

static void request(int fd, uint32_t bytes) {
    must(send(fd, &bytes, sizeof bytes, 0) == sizeof bytes, "send");
}

/* Waits for events, at most `seconds`; returns their number. */
static int wait_for(struct epoll_event *events, int most, int epoll, double seconds) {
    long ns = seconds > 0 ? (long)(seconds * 1e9 + 0.5) : 0;
    struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return epoll_pwait2(epoll, events, most, &time, NULL);
}

/* The servers' order, shuffled by a seed. */
static int *order_of(int servers, long seed) {
    int *order = calloc(servers, sizeof *order);
    for (int i = 0; i < servers; i++) order[i] = i;
    srand48(seed);
    for (int i = servers - 1; seed && i > 0; i--) {
        int j = lrand48() % (i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    return order;
}

static void ask(int port, int servers, uint32_t bytes, double seconds, int most) {
    int *fds = calloc(servers, sizeof *fds), epoll = epoll_create1(0), rounds = 0;
    int *order = order_of(servers, setting("ORDER"));
    int anew = new_connections();
    long gap = setting("REQUEST_GAP_NS");
    uint32_t *left = calloc(servers, sizeof *left);
    double *took = calloc(most, sizeof *took), began = 0, busy = 0;
    for (int i = 0; !anew && i < servers; i++) fds[i] = reach(i, port, epoll, 0);
    for (int round = -WARM_UP; rounds < most && (rounds < LEAST || now() - began < seconds); round++) {
        double start = now(), due = start;
        int open = servers, asked = 0;
        if (round == 0) began = start;
        while (open > 0) {
            if (asked < servers && now() >= due) {
                int i = round < 0 ? asked : order[asked];
                left[i] = bytes;
                if (anew) fds[i] = reach(i, port, epoll, 1);
                else request(fds[i], bytes);
                asked++;
                due = now() + gap * 1e-9;
            }
            struct epoll_event events[64];
            int ready = wait_for(events, 64, epoll, asked == servers ? STUCK_S : due - now());
            must(ready >= 0, "epoll");
            must(ready > 0 || asked < servers, "nothing came for a minute");
            for (int j = 0; j < ready; j++) {
                int i = events[j].data.u32;
                if (events[j].events & EPOLLOUT) {
                    struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
                    must(epoll_ctl(epoll, EPOLL_CTL_MOD, fds[i], &event) == 0, "epoll");
                    request(fds[i], bytes);
                    continue;
                }
                rest("READ_PAUSE_MS");
                ssize_t got = recv(fds[i], buffer, sizeof buffer, MSG_DONTWAIT);
                must(got >= 0 || errno == EAGAIN, "recv");
                if (got < 0) continue;
                must(got > 0, "a server has closed");
                left[i] -= got;
                open -= left[i] == 0;
                if (anew && left[i] == 0) close(fds[i]);
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
    printf("{\"rounds\": %d, \"goodput_mbps\": %.1f, \"p50_round_ms\": %.4f, \"p99_round_ms\": %.4f", rounds,
           (double)rounds * servers * bytes * 8 / busy / 1e6, took[rounds / 2] * 1e3, took[late < rounds ? late : rounds - 1] * 1e3);
}

int main(int count, char **arguments) {
    /* Sleeps are as long as asked for, and not 50 us longer. */
    prctl(PR_SET_TIMERSLACK, 1);
    if (count == 3 && strcmp(arguments[1], "serve") == 0) serve((struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(atoi(arguments[2]))}, 0);
    if (count == 4 && strcmp(arguments[1], "serve") == 0) serve_all(atoi(arguments[2]), atoi(arguments[3]));
    if (count != 7 || strcmp(arguments[1], "ask") != 0) {
        fprintf(stderr, "usage: reads serve PORT [SERVERS] | reads ask PORT SERVERS BYTES SECONDS MOST\n");
        return 2;
    }
    ask(atoi(arguments[2]), atoi(arguments[3]), atoi(arguments[4]), atof(arguments[5]), atoi(arguments[6]));
    return 0;
}
