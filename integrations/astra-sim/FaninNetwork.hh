// ASTRA-sim's network interface over fanin's C interface: one FaninNetwork a rank, all of one simulation.
#ifndef FANIN_NETWORK_HH
#define FANIN_NETWORK_HH

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "fanin.h"

/// A simulation that several ranks share.
class FaninSimulation {
  public:
    /// The network of a scenario's text, and the transport of one of its schemes; an empty name is the first.
    FaninSimulation(const std::string &scenario, const std::string &scheme, uint64_t seed) {
        char error[1024];
        simulation = fanin_new(scenario.c_str(), scheme.empty() ? nullptr : scheme.c_str(), seed, error, sizeof error);
        if (simulation == nullptr) {
            throw std::runtime_error(error);
        }
    }

    ~FaninSimulation() { fanin_free(simulation); }

    FaninSimulation(const FaninSimulation &) = delete;
    FaninSimulation &operator=(const FaninSimulation &) = delete;

    /// Runs until nothing is left to happen.
    void run() { check(fanin_run(simulation, FANIN_NEVER)); }

    uint32_t hosts() const { return fanin_hosts(simulation); }

    fanin_simulation *get() const { return simulation; }

    static void check(fanin_status status) {
        if (status != FANIN_OK) {
            throw std::runtime_error("fanin refuses a call with status " + std::to_string(status));
        }
    }

  private:
    fanin_simulation *simulation;
};

/// The network as one rank sees it. Ranks are hosts.
class FaninNetwork : public AstraSim::AstraNetworkAPI {
  public:
    FaninNetwork(int rank, std::shared_ptr<FaninSimulation> simulation) : AstraNetworkAPI(rank), simulation(std::move(simulation)) {}

    int sim_send(void *, uint64_t count, int, int dst, int tag, AstraSim::sim_request *, void (*msg_handler)(void *), void *fun_arg) override {
        // Something tells of the message.
        const uint64_t bytes = count > 0 ? count : 1;
        const auto from = static_cast<uint32_t>(rank), to = static_cast<uint32_t>(dst);
        FaninSimulation::check(fanin_send(simulation->get(), from, to, bytes, static_cast<uint64_t>(tag), msg_handler, fun_arg));
        return 0;
    }

    int sim_recv(void *, uint64_t, int, int src, int tag, AstraSim::sim_request *, void (*msg_handler)(void *), void *fun_arg) override {
        const auto at = static_cast<uint32_t>(rank), from = static_cast<uint32_t>(src);
        FaninSimulation::check(fanin_receive(simulation->get(), at, from, static_cast<uint64_t>(tag), msg_handler, fun_arg));
        return 0;
    }

    void sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void *), void *fun_arg) override {
        FaninSimulation::check(fanin_schedule(simulation->get(), picoseconds(delta), fun_ptr, fun_arg, nullptr));
    }

    /// In nanoseconds, as the other frontends have it.
    AstraSim::timespec_t sim_get_time() override {
        AstraSim::timespec_t time;
        time.time_res = AstraSim::NS;
        time.time_val = static_cast<double>(fanin_now(simulation->get())) / 1e3;
        return time;
    }

  private:
    static uint64_t picoseconds(AstraSim::timespec_t time) {
        double unit = 1e3;
        switch (time.time_res) {
        case AstraSim::SE: unit = 1e12; break;
        case AstraSim::MS: unit = 1e9; break;
        case AstraSim::US: unit = 1e6; break;
        case AstraSim::NS: unit = 1e3; break;
        case AstraSim::FS: unit = 1e-3; break;
        }
        return static_cast<uint64_t>(time.time_val * unit + 0.5);
    }

    std::shared_ptr<FaninSimulation> simulation;
};

#endif
