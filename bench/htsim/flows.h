// Shared parts of both works: flows of csg-htsim's TCP that record their end, links, the timed event loop, and
// the JSON object that is printed.

#pragma once

#include "ecnqueue.h"
#include "eventlist.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

const uint32_t kMss = 1460;
// A packet of htsim has one size, on links and in sequence numbers: so large is ns-3's and fanin's frame.
const uint32_t kFrame = kMss + 42;
const mem_b kEndless = mem_b(1) << 60;

inline EventList&
Events()
{
    return EventList::getTheEventList();
}

// A queue with the wire behind it.
struct Link
{
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Pipe> wire;
};

inline Link
MakeLink(Queue* queue)
{
    return {std::unique_ptr<Queue>(queue), std::make_unique<Pipe>(timeFromUs(25.0), Events())};
}

// A drop-tail queue.
inline Link
DropTail(double gbps, mem_b limit)
{
    return MakeLink(new Queue(speedFromGbps(gbps), limit, Events(), nullptr));
}

inline Route
Through(std::initializer_list<const Link*> links)
{
    Route route;
    for (const Link* link : links)
    {
        route.push_back(link->queue.get());
        route.push_back(link->wire.get());
    }
    return route;
}

// Knows when all of its flow is there.
class Sink : public TcpSink
{
  public:
    using TcpSink::receivePacket;

    void receivePacket(Packet& packet) override
    {
        TcpSink::receivePacket(packet);
        if (done == 0 && _cumulative_ack >= end)
        {
            done = EventList::now();
            ++finished;
        }
    }

    static uint64_t finished;
    uint64_t end = 0; // the SYN takes a number, too
    simtime_picosec done = 0;
};

uint64_t Sink::finished = 0;

struct Flow
{
    std::unique_ptr<TcpSrc> source;
    std::unique_ptr<Sink> sink;
    Route there;
    Route back;
    simtime_picosec start = 0;
};

inline uint64_t
PacketsOf(uint64_t bytes)
{
    return (bytes + kMss - 1) / kMss;
}

// Connects a flow of `bytes` bytes, which must not move in memory afterwards.
inline void
Connect(Flow& flow, uint64_t bytes, TcpRtxTimerScanner& timers)
{
    const uint64_t all = PacketsOf(bytes) * kFrame;
    flow.sink = std::make_unique<Sink>();
    flow.sink->end = all + 1;
    // set_flowsize adds a packet, and a source sends on while it has sent no more than that.
    flow.source->set_flowsize(all - kFrame - 1);
    flow.source->set_ssthresh(0xffffffff);
    // The handshake's ACK adds a packet: ten are sent at first.
    flow.source->set_cwnd(9 * kFrame);
    flow.there.push_back(flow.sink.get());
    flow.back.push_back(flow.source.get());
    timers.registerTcp(*flow.source);
    flow.source->connect(flow.there, flow.back, *flow.sink, flow.start);
}

// Runs until all flows are complete, and prints the results.
inline void
RunAndPrint(const char* work, const std::vector<Flow>& flows, uint64_t bytes, const std::vector<Link>& ports)
{
    rusage before;
    rusage after;
    uint64_t events = 0;
    getrusage(RUSAGE_SELF, &before);
    while (Sink::finished < flows.size() && EventList::doNextEvent())
    {
        ++events;
    }
    getrusage(RUSAGE_SELF, &after);
    const double cpu = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
                       1e-6 * (after.ru_utime.tv_usec - before.ru_utime.tv_usec);

    std::vector<double> times;
    for (const Flow& flow : flows)
    {
        times.push_back(timeAsMs(flow.sink->done - flow.start));
    }
    std::sort(times.begin(), times.end());
    // The least value that so large a share does not exceed.
    auto percentile = [&](double share) {
        return times[std::max<std::size_t>(1, std::ceil(share * times.size())) - 1];
    };
    uint64_t drops = 0;
    for (const Link& port : ports)
    {
        drops += port.queue->num_drops();
    }
    std::printf("{\"work\": \"%s\", \"flows\": %zu, \"data_packets\": %" PRIu64 ", \"drops\": %" PRIu64,
                work,
                flows.size(),
                flows.size() * PacketsOf(bytes),
                drops);
    std::printf(", \"fct_p50_ms\": %.6f, \"fct_p99_ms\": %.6f, \"fct_max_ms\": %.6f",
                percentile(0.5),
                percentile(0.99),
                times.back());
    std::printf(", \"events\": %" PRIu64 ", \"cpu_s\": %.6f}\n", events, cpu);
    std::fflush(stdout);
    // Taking the objects apart one by one proves nothing and takes time.
    std::_Exit(0);
}

// Call first: sets the packet size and discards htsim's output for every flow.
inline void
Begin()
{
    Packet::set_packet_size(kFrame);
    std::cout.rdbuf(nullptr);
}

// The number in --NAME=NUMBER, the only option of a program.
inline double
Option(int argc, char** argv, const std::string& name, double otherwise)
{
    const std::string start = "--" + name + "=";
    if (argc == 1)
    {
        return otherwise;
    }
    if (argc > 2 || std::strncmp(argv[1], start.c_str(), start.size()) != 0)
    {
        std::fprintf(stderr, "%s: the only option is %s\n", argv[0], start.c_str());
        std::exit(2);
    }
    return std::atof(argv[1] + start.size());
}
