// A shuffle over a leaf-spine fabric, for comparison with fanin: work C, on
// Debian's ns-3 3.37. Every host opens a connection to each other one (or to a
// share of them, drawn at random) at a random time and sends B bytes. NewReno
// without SACK, an ACK a packet; flows are spread over the spines by a hash.
//
// One JSON object goes to stdout.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <unordered_map>
#include <vector>

using namespace ns3;

namespace
{

struct Settings
{
    uint32_t racks = 4;
    uint32_t hosts = 40; // a rack
    uint32_t spines = 2;
    uint32_t bytes = 65536;
    double pairs = 1;
    double jitter = 0.5; // s
    uint32_t limit = 200; // packets a switch port
    uint32_t seed = 1;
};

const uint32_t kMss = 1460;
const uint16_t kPort = 5000;

uint64_t g_drops = 0;

void
CountDrop(Ptr<const Packet>)
{
    ++g_drops;
}

// Host of an address; both ends of its link lie in one small network.
std::unordered_map<uint32_t, uint32_t> g_hostOf;

// A switch that knows by rule where hosts are. Interface 0 is the loopback.
class RuleRouting : public Ipv4RoutingProtocol
{
  public:
    bool isLeaf = true;
    uint32_t rack = 0;
    Settings set;

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header&, Ptr<NetDevice>, Socket::SocketErrno& error) override
    {
        error = Socket::ERROR_NOROUTETOHOST;
        return nullptr;
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice>,
                    UnicastForwardCallback forward,
                    MulticastForwardCallback,
                    LocalDeliverCallback,
                    ErrorCallback) override
    {
        const auto found = g_hostOf.find(header.GetDestination().Get());
        if (found == g_hostOf.end())
        {
            return false;
        }
        const uint32_t host = found->second;
        uint32_t interface;
        if (!isLeaf)
        {
            interface = 1 + host / set.hosts;
        }
        else if (host / set.hosts == rack)
        {
            interface = 1 + host % set.hosts;
        }
        else
        {
            interface = 1 + set.hosts + Hash(packet, header) % set.spines;
        }
        Ptr<Ipv4Route> route = Create<Ipv4Route>();
        route->SetDestination(header.GetDestination());
        route->SetGateway(header.GetDestination());
        route->SetOutputDevice(m_ipv4->GetNetDevice(interface));
        forward(route, packet, header);
        return true;
    }

    void NotifyInterfaceUp(uint32_t) override {}

    void NotifyInterfaceDown(uint32_t) override {}

    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}

    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}

    void SetIpv4(Ptr<Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
    }

    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  private:
    uint64_t Hash(Ptr<const Packet> packet, const Ipv4Header& header) const
    {
        TcpHeader tcp;
        packet->PeekHeader(tcp);
        uint64_t hash = (uint64_t(header.GetSource().Get()) << 32) ^ header.GetDestination().Get();
        hash ^= (uint64_t(tcp.GetSourcePort()) << 16 | tcp.GetDestinationPort()) * 0x9e3779b97f4a7c15;
        hash = (hash ^ (hash >> 30) ^ set.seed) * 0xbf58476d1ce4e5b9;
        hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
        return hash ^ (hash >> 31);
    }

    Ptr<Ipv4> m_ipv4;
};

struct Flow
{
    uint32_t from;
    uint32_t to;
    Time start;
    Time done;
    uint64_t received = 0;
    Ptr<Socket> sender;
};

class World
{
  public:
    explicit World(const Settings& settings);
    void Run();
    void Print() const;

  private:
    void Start(uint32_t flow);
    void Connected(uint32_t flow, Ptr<Socket> socket);
    void Accepted(Ptr<Socket> socket, const Address& from);
    void Received(uint32_t flow, Ptr<Socket> socket);

    Settings m_set;
    NodeContainer m_hosts;
    std::vector<Ipv4Address> m_addresses;
    std::vector<Ptr<Socket>> m_listeners;
    std::vector<Flow> m_flows;
    // By the sender's address and port.
    std::map<std::pair<uint32_t, uint16_t>, uint32_t> m_byPort;
    uint64_t m_done = 0;
    double m_cpu = 0;
    uint64_t m_events = 0;
};

World::World(const Settings& settings)
    : m_set(settings)
{
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(m_set.seed);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kMss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1u << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1u << 20));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(3)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));

    const uint32_t all = m_set.racks * m_set.hosts;
    NodeContainer leaves(m_set.racks);
    NodeContainer spines(m_set.spines);
    m_hosts.Create(all);
    Ipv4StaticRoutingHelper routing;
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(routing);
    stack.Install(leaves);
    stack.Install(spines);
    stack.Install(m_hosts);

    PointToPointHelper link;
    link.SetChannelAttribute("Delay", StringValue("25us"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    // Without flow control the device's own queue is all there is.
    link.DisableFlowControl();
    const QueueSize limit(QueueSizeUnit::PACKETS, m_set.limit);
    auto port = [&](Ptr<NetDevice> device) {
        auto queue = DynamicCast<PointToPointNetDevice>(device)->GetQueue();
        queue->SetMaxSize(limit);
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&CountDrop));
    };

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    for (uint32_t host = 0; host < all; ++host)
    {
        NetDeviceContainer devices = link.Install(leaves.Get(host / m_set.hosts), m_hosts.Get(host));
        port(devices.Get(0));
        Ipv4InterfaceContainer faces = addresses.Assign(devices);
        addresses.NewNetwork();
        auto table = routing.GetStaticRouting(m_hosts.Get(host)->GetObject<Ipv4>());
        table->SetDefaultRoute(faces.GetAddress(0), 1);
        m_addresses.push_back(faces.GetAddress(1));
        g_hostOf[faces.GetAddress(1).Get()] = host;
    }
    link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    for (uint32_t rack = 0; rack < m_set.racks; ++rack)
    {
        for (uint32_t spine = 0; spine < m_set.spines; ++spine)
        {
            NetDeviceContainer devices = link.Install(leaves.Get(rack), spines.Get(spine));
            port(devices.Get(0));
            port(devices.Get(1));
            addresses.Assign(devices);
            addresses.NewNetwork();
        }
    }
    auto rule = [&](Ptr<Node> node, bool isLeaf, uint32_t rack) {
        auto rules = CreateObject<RuleRouting>();
        rules->isLeaf = isLeaf;
        rules->rack = rack;
        rules->set = m_set;
        node->GetObject<Ipv4>()->SetRoutingProtocol(rules);
    };
    for (uint32_t rack = 0; rack < m_set.racks; ++rack)
    {
        rule(leaves.Get(rack), true, rack);
    }
    for (uint32_t spine = 0; spine < m_set.spines; ++spine)
    {
        rule(spines.Get(spine), false, 0);
    }

    for (uint32_t host = 0; host < all; ++host)
    {
        Ptr<Socket> listener = Socket::CreateSocket(m_hosts.Get(host), TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&World::Accepted, this));
        m_listeners.push_back(listener);
    }
    auto uniform = CreateObject<UniformRandomVariable>();
    for (uint32_t from = 0; from < all; ++from)
    {
        for (uint32_t to = 0; to < all; ++to)
        {
            const double start = uniform->GetValue(0, m_set.jitter);
            if (from != to && uniform->GetValue(0, 1) < m_set.pairs)
            {
                m_flows.push_back(Flow{from, to, Seconds(start), Time(), 0, nullptr});
            }
        }
    }
}

void
World::Start(uint32_t number)
{
    Flow& flow = m_flows[number];
    flow.sender = Socket::CreateSocket(m_hosts.Get(flow.from), TcpSocketFactory::GetTypeId());
    flow.sender->SetConnectCallback(MakeCallback(&World::Connected, this).Bind(number),
                                    MakeNullCallback<void, Ptr<Socket>>());
    flow.sender->Bind();
    Address own;
    flow.sender->GetSockName(own);
    m_byPort[{m_addresses[flow.from].Get(), InetSocketAddress::ConvertFrom(own).GetPort()}] = number;
    flow.sender->Connect(InetSocketAddress(m_addresses[flow.to], kPort));
}

void
World::Connected(uint32_t, Ptr<Socket> socket)
{
    const int sent = socket->Send(Create<Packet>(m_set.bytes));
    NS_ABORT_MSG_IF(sent != static_cast<int>(m_set.bytes), "a sender's buffer is full");
}

void
World::Accepted(Ptr<Socket> socket, const Address& from)
{
    const InetSocketAddress peer = InetSocketAddress::ConvertFrom(from);
    const uint32_t flow = m_byPort.at({peer.GetIpv4().Get(), peer.GetPort()});
    socket->SetRecvCallback(MakeCallback(&World::Received, this).Bind(flow));
}

void
World::Received(uint32_t number, Ptr<Socket> socket)
{
    Flow& flow = m_flows[number];
    while (Ptr<Packet> packet = socket->Recv())
    {
        flow.received += packet->GetSize();
    }
    if (flow.received == m_set.bytes && flow.done.IsZero())
    {
        flow.done = Simulator::Now();
        if (++m_done == m_flows.size())
        {
            Simulator::Stop();
        }
    }
}

void
World::Run()
{
    for (uint32_t number = 0; number < m_flows.size(); ++number)
    {
        Simulator::Schedule(m_flows[number].start, &World::Start, this, number);
    }
    rusage before;
    rusage after;
    getrusage(RUSAGE_SELF, &before);
    Simulator::Run();
    getrusage(RUSAGE_SELF, &after);
    m_cpu = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
            1e-6 * (after.ru_utime.tv_usec - before.ru_utime.tv_usec);
    m_events = Simulator::GetEventCount();
}

void
World::Print() const
{
    std::vector<double> fcts;
    for (const Flow& flow : m_flows)
    {
        fcts.push_back((flow.done - flow.start).ToDouble(Time::MS));
    }
    std::sort(fcts.begin(), fcts.end());
    // The least value that so large a share does not exceed.
    auto percentile = [&](double share) {
        return fcts[std::max<std::size_t>(1, std::ceil(share * fcts.size())) - 1];
    };
    const uint64_t packets = uint64_t(m_flows.size()) * ((m_set.bytes + kMss - 1) / kMss);
    std::printf("{\"work\": \"c\", \"seed\": %u, \"flows\": %zu", m_set.seed, m_flows.size());
    std::printf(", \"data_packets\": %" PRIu64 ", \"drops\": %" PRIu64, packets, g_drops);
    std::printf(", \"fct_p50_ms\": %.6f, \"fct_p99_ms\": %.6f, \"fct_max_ms\": %.6f",
                percentile(0.5),
                percentile(0.99),
                fcts.back());
    std::printf(", \"events\": %" PRIu64 ", \"cpu_s\": %.3f}\n", m_events, m_cpu);
}

} // namespace

int
main(int argc, char** argv)
{
    Settings set;
    CommandLine cmd(__FILE__);
    cmd.AddValue("bytes", "bytes a flow", set.bytes);
    cmd.AddValue("pairs", "share of the pairs of hosts that have a flow", set.pairs);
    cmd.AddValue("jitter", "seconds in which flows start", set.jitter);
    cmd.AddValue("limit", "packets that a switch port holds", set.limit);
    cmd.AddValue("seed", "number of the random stream", set.seed);
    cmd.Parse(argc, argv);
    World world(set);
    world.Run();
    world.Print();
    std::fflush(stdout);
    // Taking the objects apart one by one proves nothing and takes time.
    std::_Exit(0);
}
