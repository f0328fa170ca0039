// Benchmarks what a rank counts for `hocket stragglers --job`: bin/counters_benchmark
//
// Step: what a step adds to the training thread of one rank, with the ranks' number as the
// argument: the process's use, the step's counters, and their part of a ballot, written and read.
// Look: what the thread beside it does ten times a second, with the number of TCP connections.

#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "client/live/counter_exchange.h"
#include "client/live/process_meter.h"
#include "core/base/check.h"

namespace hocket {
namespace {

void Step(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  CounterExchange exchange(0, ranks);
  ProcessMeter meter;
  std::vector<float> ballot(exchange.slots());
  std::int64_t step = 0;
  for (auto _ : state) {
    const auto use = meter.step_ended(++step);
    exchange.add(step, {.waited_ns = 1'000'000,
                        .computed_ns = 20'000'000,
                        .processor_ns = use ? use->processor_ns : kNotCounted,
                        .sending_ns = use ? use->sending_ns : kNotCounted});
    exchange.contribute(ballot);
    benchmark::DoNotOptimize(exchange.tally(ballot));
  }
}
BENCHMARK(Step)->Arg(2)->Arg(16)->Arg(64)->Arg(1024);

/// Both ends of TCP connections on loopback.
class Connections {
 public:
  explicit Connections(std::int64_t count) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    HOCKET_CHECK(bind(listener, any, bytes) == 0 && listen(listener, 8) == 0 &&
                     getsockname(listener, any, &bytes) == 0,
                 "loopback has a free port");
    for (std::int64_t i = 0; i < count; ++i) {
      const int client = socket(AF_INET, SOCK_STREAM, 0);
      HOCKET_CHECK(connect(client, any, bytes) == 0, "the listener is on loopback");
      ends_.push_back(client);
      ends_.push_back(accept(listener, nullptr, nullptr));
    }
    close(listener);
  }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections() {
    for (const int end : ends_) close(end);
  }

 private:
  std::vector<int> ends_;
};

void Look(benchmark::State& state) {
  const Connections connections(state.range(0) / 2);
  ProcessMeter meter;
  for (auto _ : state) meter.look();
}
BENCHMARK(Look)->Arg(2)->Arg(16)->Arg(128);

}  // namespace
}  // namespace hocket
