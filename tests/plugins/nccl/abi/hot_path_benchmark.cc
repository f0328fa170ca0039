// The cost of the plugin's wrapper on NCCL's threads: one call of the tuner's table into a
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

#include "benchmarks/nccl/call_timing.h"
#include "plugins/nccl/abi/tables.h"
#include "plugins/nccl/measure/collective_meter.h"
#include "tests/plugins/nccl/abi/fake_communicator.h"

namespace hocket::nccl::abi {
namespace {

void run(int calls) {
  setenv("HOCKET_NCCL_TUNER_CHAIN", "none", 1);
  setenv("HOCKET_NCCL_PROFILER_CHAIN", "none", 1);
  int mask = 0;
  void *profiler = nullptr, *tuner = nullptr;
  ncclProfiler_v5.init(&profiler, 1, &mask, "world", 1, 8, 0, nullptr);
  ncclTunerPlugin_v5.init(&tuner, 1, 8, 1, nullptr, nullptr, nullptr);
  FakeCommunicator& communicator = *opened_communicators().front();
  communicator.calls.reserve(static_cast<std::size_t>(calls) * 3);
  float costs[kAlgorithms * kProtocols] = {};
  int channels = 0;
  const auto info = [&](int i) {
    channels = 0;
    ncclTunerPlugin_v5.get_coll_info(tuner, kAllReduce, static_cast<std::size_t>(i), 1,
                                     reinterpret_cast<float**>(costs), kAlgorithms, kProtocols, 0,
                                     &channels);
  };
  const auto nothing = [](int) {};
  report_mean("getCollInfo", calls, info);
  communicator.calls.clear();
  report_singles("getCollInfo", calls, info, nothing);

  time_collectives(communicator.meter);
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
  report_singles("collective: start", calls, start_collective, [&](int i) {
    stop_collective(i);
    start_channel(i);
    stop_channel(i);
    drain(i);
  });
  start_collective(0);
  report_singles("channel: start", calls, start_channel, [&](int i) {
    stop_channel(i);
    stop_collective(i);
    drain(i);
    start_collective(i);
  });
  start_channel(0);
  report_singles("channel: time and stop", calls, stop_channel, [&](int i) {
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
