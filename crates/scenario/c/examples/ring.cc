// A message travels around a ring of hosts, each of which computes for 10 us before it passes the message on.
#include <cstdio>
#include <functional>

#include "fanin.h"

namespace {

void call(void *function) {
    (*static_cast<std::function<void()> *>(function))();
}

}  // namespace

int main() {
    char error[256];
    const char *scenario = "schemes = [\"dctcp\"]\n[link]\nrate = \"100 Gbit/s\"\ndelay = \"1 us\"\n[sweep]\nfan_in = [7]\n";
    fanin_simulation *simulation = fanin_new(scenario, "dctcp", 1, error, sizeof error);
    if (simulation == nullptr) {
        std::fprintf(stderr, "%s\n", error);
        return 1;
    }
    const uint32_t hosts = fanin_hosts(simulation);
    uint32_t at = 0;
    uint64_t end = 0;
    std::function<void()> received, computed;
    computed = [&] {
        const uint32_t next = (at + 1) % hosts;
        fanin_send(simulation, at, next, 1000000, at, nullptr, nullptr);
        fanin_receive(simulation, next, at, at, call, &received);
        at = next;
    };
    received = [&] {
        end = fanin_now(simulation);
        if (at != 0) {
            fanin_schedule(simulation, 10000000, call, &computed, nullptr);
        }
    };
    computed();
    const bool failed = fanin_run(simulation, FANIN_NEVER) != FANIN_OK;
    std::printf("%u hosts in %.1f us\n", hosts, static_cast<double>(end) / 1e6);
    fanin_free(simulation);
    return failed;
}
