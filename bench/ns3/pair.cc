// Two NewReno flows without end through one port of a switch, for comparison
// with fanin: does a simulator without jitter let one of them starve?
//
// Hosts' links have 10 Gbit/s, the client's --client-rate; 5 us each, 256 KiB of
// drop-tail in front of each. One JSON object goes to stdout: the packets of
// each flow that came to the switch.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace ns3;

namespace
{

uint64_t g_packets[2];

void
CountPacket(uint64_t* packets, Ptr<const Packet>)
{
    ++*packets;
}

void
Read(Ptr<Socket> socket)
{
    while (socket->Recv())
    {
    }
}

void
Accepted(Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeCallback(&Read));
}

void
SendMore(Ptr<Socket> socket, uint32_t room)
{
    const uint32_t piece = 1 << 20;
    for (; room >= piece; room -= piece)
    {
        socket->Send(Create<Packet>(piece));
    }
}

void
Connected(Ptr<Socket> socket)
{
    socket->SetSendCallback(MakeCallback(&SendMore));
    SendMore(socket, socket->GetTxAvailable());
}

void
Defaults(bool sack, uint32_t window)
{
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 26));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(true));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(sack ? TcpPrrRecovery::GetTypeId()
                                        : TcpClassicRecovery::GetTypeId()));
}

} // namespace

int
main(int argc, char** argv)
{
    std::string clientRate = "10Gbps";
    double seconds = 2;
    bool sack = true;
    uint32_t window = 1 << 24;
    CommandLine cmd(__FILE__);
    cmd.AddValue("client-rate", "rate of the client's link", clientRate);
    cmd.AddValue("seconds", "simulated time", seconds);
    cmd.AddValue("sack", "selective acknowledgements", sack);
    cmd.AddValue("window", "receive window, in bytes", window);
    cmd.Parse(argc, argv);
    Defaults(sack, window);

    NodeContainer switches(1);
    NodeContainer hosts(3); // the client first
    Ipv4StaticRoutingHelper routing;
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(routing);
    stack.Install(switches);
    stack.Install(hosts);

    PointToPointHelper link;
    link.SetChannelAttribute("Delay", StringValue("5us"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    // Without flow control the device's own queue is all there is.
    link.DisableFlowControl();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    Ipv4Address client;
    for (uint32_t i = 0; i < hosts.GetN(); ++i)
    {
        link.SetDeviceAttribute("DataRate", StringValue(i == 0 ? clientRate : "10Gbps"));
        NetDeviceContainer devices = link.Install(switches.Get(0), hosts.Get(i));
        auto port = DynamicCast<PointToPointNetDevice>(devices.Get(0));
        port->GetQueue()->SetMaxSize(QueueSize("262144B"));
        Ipv4InterfaceContainer faces = addresses.Assign(devices);
        addresses.NewNetwork();
        routing.GetStaticRouting(hosts.Get(i)->GetObject<Ipv4>())->SetDefaultRoute(faces.GetAddress(0), 1);
        if (i == 0)
        {
            client = faces.GetAddress(1);
        }
        else
        {
            port->TraceConnectWithoutContext("MacRx", MakeBoundCallback(&CountPacket, &g_packets[i - 1]));
        }
    }

    Ptr<Socket> listener = Socket::CreateSocket(hosts.Get(0), TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), 5000));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(&Accepted));
    for (uint32_t i = 1; i < hosts.GetN(); ++i)
    {
        Ptr<Socket> socket = Socket::CreateSocket(hosts.Get(i), TcpSocketFactory::GetTypeId());
        socket->SetConnectCallback(MakeCallback(&Connected), MakeNullCallback<void, Ptr<Socket>>());
        socket->Bind();
        socket->Connect(InetSocketAddress(client, 5000));
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::printf("{\"client_rate\": \"%s\", \"sack\": %s, \"packets\": [%" PRIu64 ", %" PRIu64 "]}\n",
                clientRate.c_str(),
                sack ? "true" : "false",
                g_packets[0],
                g_packets[1]);
    std::fflush(stdout);
    std::_Exit(0);
}
