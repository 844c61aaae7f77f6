// Four ranks gather one another's 1 MB around a ring, as ASTRA-sim's system layer would: each passes on what it has received after a
// computation of 2 us.
#include <cstdio>
#include <vector>

#include "FaninNetwork.hh"

namespace {

const int RANKS = 4;
const uint64_t BYTES = 1000000;

struct Rank {
    FaninNetwork network;
    int sent = 0, received = 0, delivered = 0;

    Rank(int rank, std::shared_ptr<FaninSimulation> simulation) : network(rank, std::move(simulation)) {}

    void send() {
        network.sim_send(nullptr, BYTES, 0, (network.rank + 1) % RANKS, sent++, nullptr, [](void *rank) { static_cast<Rank *>(rank)->delivered++; },
                         this);
    }

    void receive() {
        network.sim_recv(nullptr, BYTES, 0, (network.rank + RANKS - 1) % RANKS, received, nullptr,
                         [](void *rank) { static_cast<Rank *>(rank)->arrived(); }, this);
    }

    void arrived() {
        if (++received < RANKS - 1) {
            network.sim_schedule({AstraSim::US, 2.0}, [](void *rank) { static_cast<Rank *>(rank)->send(); }, this);
            receive();
        } else {
            end_ns = network.sim_get_time().time_val;
        }
    }

    double end_ns = 0;
};

}  // namespace

int main() {
    const auto simulation = std::make_shared<FaninSimulation>(
        "schemes = [\"dctcp\"]\n[link]\nrate = \"100 Gbit/s\"\ndelay = \"1 us\"\n[switch]\nbuffer = \"4 MB\"\n[sweep]\nfan_in = [3]\n", "", 1);
    std::vector<std::unique_ptr<Rank>> ranks;
    for (int rank = 0; rank < RANKS; rank++) {
        ranks.push_back(std::make_unique<Rank>(rank, simulation));
    }
    for (auto &rank : ranks) {
        rank->receive();
        rank->send();
    }
    simulation->run();
    double end_ns = 0;
    for (auto &rank : ranks) {
        if (rank->received != RANKS - 1 || rank->delivered != RANKS - 1) {
            std::printf("rank %d received %d and delivered %d\n", rank->network.rank, rank->received, rank->delivered);
            return 1;
        }
        end_ns = rank->end_ns > end_ns ? rank->end_ns : end_ns;
    }
    std::printf("%.1f us\n", end_ns / 1e3);
    return 0;
}
