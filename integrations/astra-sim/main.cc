// ASTRA-sim over fanin: the arguments of ASTRA-sim's analytical frontend, with a scenario of fanin's as network configuration.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <vector>

#include "FaninNetwork.hh"
#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include "remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"

namespace {

std::map<std::string, std::string> arguments(int argc, char *argv[]) {
    std::map<std::string, std::string> given = {
        {"comm-group-configuration", "empty"}, {"logging-configuration", "empty"}, {"logging-folder", "log"},
        {"num-queues-per-dim", "1"},           {"comm-scale", "1"},                {"injection-scale", "1"},
        {"scheme", ""},                        {"seed", "1"},
    };
    for (int at = 1; at < argc; at++) {
        const std::string argument = argv[at];
        const auto equals = argument.find('=');
        if (argument.rfind("--", 0) != 0 || equals == std::string::npos) {
            throw std::runtime_error("expected --name=value, not " + argument);
        }
        given[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
    }
    for (const char *needed : {"workload-configuration", "system-configuration", "remote-memory-configuration", "network-configuration"}) {
        if (given.count(needed) == 0) {
            throw std::runtime_error(std::string("--") + needed + " is missing");
        }
    }
    return given;
}

std::string contents(const std::string &path) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error(path + " cannot be read");
    }
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

int run(int argc, char *argv[]) {
    auto given = arguments(argc, argv);
    AstraSim::LoggerFactory::init(given["logging-configuration"], given["logging-folder"]);
    const auto simulation =
        std::make_shared<FaninSimulation>(contents(given["network-configuration"]), given["scheme"], std::stoull(given["seed"]));
    Analytical::AnalyticalRemoteMemory memory(given["remote-memory-configuration"]);
    const int ranks = static_cast<int>(simulation->hosts());
    // One dimension: the scenario's fabric has the structure.
    const std::vector<int> dimensions = {ranks}, queues = {std::stoi(given["num-queues-per-dim"])};
    std::vector<std::unique_ptr<FaninNetwork>> networks;
    std::vector<std::unique_ptr<AstraSim::Sys>> systems;
    for (int rank = 0; rank < ranks; rank++) {
        networks.push_back(std::make_unique<FaninNetwork>(rank, simulation));
        systems.push_back(std::make_unique<AstraSim::Sys>(
            rank, given["workload-configuration"], given["comm-group-configuration"], given["system-configuration"], &memory,
            networks.back().get(), dimensions, queues, std::stod(given["injection-scale"]), std::stod(given["comm-scale"]), false));
    }
    for (auto &system : systems) {
        system->workload->fire();
    }
    simulation->run();
    systems.clear();
    AstraSim::LoggerFactory::shutdown();
    return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char *argv[]) {
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        std::cerr << "astra-sim-fanin: " << error.what() << '\n';
        return 2;
    }
}
