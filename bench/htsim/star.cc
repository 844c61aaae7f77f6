// Work A on csg-htsim: 32 DCTCP senders into one host over one switch, 10 Gbit/s, all opened at t = 0.
//
// DCTCP is its DCTCPSrc, marked by its ECNQueue, which looks at the queue as a packet leaves it. Its alpha begins at 0, there
// is no SACK, RTOmin is 250 ms and timers are looked at every 10 ms: all fixed in its source. Every packet is acknowledged.

#include "flows.h"

#include "dctcp.h"

int
main(int argc, char** argv)
{
    const uint64_t bytes = Option(argc, argv, "bytes", 20e6);
    const std::size_t senders = 32;
    Begin();
    TcpRtxTimerScanner timers(timeFromMs(10), Events());
    std::vector<Link> hosts; // their ways out, the client's being the first
    std::vector<Link> ports; // the switch's, to each of them
    for (std::size_t host = 0; host <= senders; ++host)
    {
        hosts.push_back(DropTail(10, kEndless));
        ports.push_back(MakeLink(new ECNQueue(speedFromGbps(10), 250 * kFrame, Events(), nullptr, 20 * kFrame)));
    }
    std::vector<Flow> flows(senders);
    for (std::size_t i = 0; i < senders; ++i)
    {
        Flow& flow = flows[i];
        flow.source = std::make_unique<DCTCPSrc>(nullptr, nullptr, Events());
        flow.there = Through({&hosts[i + 1], &ports[0]});
        flow.back = Through({&hosts[0], &ports[i + 1]});
        Connect(flow, bytes, timers);
    }
    RunAndPrint("a", flows, bytes, ports);
}
