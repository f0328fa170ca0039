// What the plugin's wrapper costs on NCCL's threads: one call of the tuner's table into a
// communicator that only notes the call, and the events of a collective's channels.
//
//   hot_path_benchmark [calls]
//
// Prints the mean over all calls, and percentiles of single calls with the cost of reading the
// clock taken off.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "plugins/nccl/abi/tables.h"
#include "plugins/nccl/measure/collective_meter.h"
#include "tests/plugins/nccl/abi/fake_communicator.h"

namespace hocket::nccl::abi {
namespace {

using Clock = std::chrono::steady_clock;

double since_ns(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double clock_ns() {
  std::vector<double> costs;
  for (int i = 0; i < 10'000; ++i) costs.push_back(since_ns(Clock::now()));
  std::nth_element(costs.begin(), costs.begin() + 5000, costs.end());
  return costs[5000];
}

/// `between` runs after each single call, untimed.
template <class Call, class Between>
void report(const char* name, int calls, const Call& call, const Between& between) {
  const double overhead_ns = clock_ns();
  std::vector<double> singles;
  singles.reserve(static_cast<std::size_t>(calls));
  for (int i = 0; i < calls; ++i) {
    const auto start = Clock::now();
    call(i);
    singles.push_back(std::max(0.0, since_ns(start) - overhead_ns));
    between(i);
  }
  std::sort(singles.begin(), singles.end());
  const auto percentile = [&](int percent) {
    return singles[singles.size() * static_cast<std::size_t>(percent) / 100];
  };
  double sum_ns = 0;
  for (const double single : singles) sum_ns += single;
  std::printf("%-34s mean %6.1f ns, p50 %6.1f ns, p99 %6.1f ns (clock %.1f ns)\n", name,
              sum_ns / calls, percentile(50), percentile(99), overhead_ns);
}

void run(int calls) {
  setenv("HOCKET_NCCL_TUNER_CHAIN", "none", 1);
  setenv("HOCKET_NCCL_PROFILER_CHAIN", "none", 1);
  int mask = 0;
  void *profiler = nullptr, *tuner = nullptr;
  ncclProfiler_v5.init(&profiler, 1, &mask, "world", 1, 8, 0, nullptr);
  ncclTunerPlugin_v5.init(&tuner, 1, 8, 1, nullptr, nullptr, nullptr);
  FakeCommunicator& communicator = *opened_communicators().front();
  communicator.calls.reserve(static_cast<std::size_t>(calls) * 2);
  float costs[kAlgorithms * kProtocols] = {};
  int channels = 0;
  const auto info = [&](int i) {
    channels = 0;
    ncclTunerPlugin_v5.get_coll_info(tuner, kAllReduce, static_cast<std::size_t>(i), 1,
                                     reinterpret_cast<float**>(costs), kAlgorithms, kProtocols, 0,
                                     &channels);
  };
  const auto nothing = [](int) {};
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) info(i);
  std::printf("%-34s mean %6.1f ns\n", "getCollInfo, in a loop", since_ns(start) / calls);
  communicator.calls.clear();
  report("getCollInfo", calls, info, nothing);

  communicator.meter->want_channel_times(true);
  EventDescriptorV5 collective = {};
  collective.type = kCollectiveEvent;
  collective.collective.function = "AllReduce";
  collective.collective.datatype = "ncclFloat32";
  collective.collective.count = 1000;
  collective.collective.channels = 1;
  collective.collective.algorithm = "RING";
  collective.collective.protocol = "SIMPLE";
  EventDescriptorV5 channel = {};
  channel.type = kKernelChannelEvent;
  void *collective_handle = nullptr, *channel_handle = nullptr;
  EventStateArguments arguments = {1'000'000};
  const auto start_collective = [&](int) {
    ncclProfiler_v5.start_event(profiler, &collective_handle, &collective);
  };
  const auto start_channel = [&](int) {
    channel.parent = collective_handle;
    channel.kernel_channel = {0, 999'000};
    ncclProfiler_v5.start_event(profiler, &channel_handle, &channel);
  };
  const auto stop_channel = [&](int) {
    ncclProfiler_v5.record_event_state(channel_handle, kKernelChannelStop, &arguments);
    ncclProfiler_v5.stop_event(channel_handle);
  };
  const auto drain = [&](int) {
    measure::MeasuredCollective out;
    while (communicator.meter->pop(out)) {
    }
  };
  const auto stop_collective = [&](int) { ncclProfiler_v5.stop_event(collective_handle); };
  report("collective: start", calls, start_collective, [&](int i) {
    stop_collective(i);
    start_channel(i);
    stop_channel(i);
    drain(i);
  });
  start_collective(0);
  report("channel: start", calls, start_channel, [&](int i) {
    stop_channel(i);
    stop_collective(i);
    drain(i);
    start_collective(i);
  });
  start_channel(0);
  report("channel: time and stop", calls, stop_channel, [&](int i) {
    stop_collective(i);
    drain(i);
    start_collective(i);
    start_channel(i);
  });
  ncclTunerPlugin_v5.finalize(tuner);
  ncclProfiler_v5.finalize(profiler);
}

}  // namespace
}  // namespace hocket::nccl::abi

int main(int count, char** arguments) {
  const int calls = count > 1 ? std::atoi(arguments[1]) : 200'000;
  if (calls < 1) {
    std::fprintf(stderr, "usage: hot_path_benchmark [calls]\n");
    return 2;
  }
  hocket::nccl::abi::run(calls);
  return 0;
}
