// Work C on csg-htsim: NewReno flows of 64 KiB between the pairs of 160 hosts in four racks under two spines, or a share of
// the pairs, which then begin as densely. Its TcpSrc is a NewReno without SACK; RTOmin is 250 ms, and timers are looked at
// every 10 ms, both fixed in its source. Each flow has a spine of its own each way, drawn at random, in place of a hash.

#include "flows.h"

#include <random>

namespace
{

const std::size_t kRacks = 4;
const std::size_t kHosts = 40; // a rack
const std::size_t kSpines = 2;

struct Fabric
{
    std::vector<Link> hosts; // their ways out
    std::vector<Link> ports; // the switches': to hosts, up, and down
    std::mt19937_64 random{1};

    Fabric()
    {
        const mem_b limit = 200 * kFrame;
        for (std::size_t host = 0; host < kRacks * kHosts; ++host)
        {
            hosts.push_back(DropTail(1, kEndless));
            ports.push_back(DropTail(1, limit));
        }
        for (std::size_t link = 0; link < 2 * kRacks * kSpines; ++link)
        {
            ports.push_back(DropTail(10, limit));
        }
    }

    double Uniform()
    {
        return std::uniform_real_distribution<double>()(random);
    }

    Route Way(std::size_t from, std::size_t to)
    {
        const std::size_t rack = from / kHosts;
        const std::size_t other = to / kHosts;
        if (rack == other)
        {
            return Through({&hosts[from], &ports[to]});
        }
        const std::size_t spine = random() % kSpines;
        const Link* up = &ports[hosts.size() + rack * kSpines + spine];
        const Link* down = &ports[hosts.size() + (kRacks + other) * kSpines + spine];
        return Through({&hosts[from], up, down, &ports[to]});
    }
};

} // namespace

int
main(int argc, char** argv)
{
    const double share = Option(argc, argv, "pairs", 1);
    const uint64_t bytes = 65536;
    Begin();
    TcpRtxTimerScanner timers(timeFromMs(10), Events());
    Fabric fabric;
    const std::size_t all = fabric.hosts.size();
    std::vector<Flow> flows;
    for (std::size_t from = 0; from < all; ++from)
    {
        for (std::size_t to = 0; to < all; ++to)
        {
            if (from != to && fabric.Uniform() < share)
            {
                Flow flow;
                flow.start = timeFromSec(fabric.Uniform() * 0.5 * share);
                flow.there = fabric.Way(from, to);
                flow.back = fabric.Way(to, from);
                flow.source = std::make_unique<TcpSrc>(nullptr, nullptr, Events());
                flows.push_back(std::move(flow));
            }
        }
    }
    for (Flow& flow : flows)
    {
        Connect(flow, bytes, timers);
    }
    RunAndPrint("c", flows, bytes, fabric.ports);
}
