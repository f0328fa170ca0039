// The cost of a decision of the NCCL plugin to NCCL's thread, of the event by which a collective is
// counted, and of the plugin's threads while nothing is called: the plugin as NCCL loads it, rank 0
// of two with its control, and a rank 1.
//
//   nccl_decision_benchmark LIBRARY [calls]
//
// Prints the mean over a loop, and percentiles of single calls with the cost of reading the clock
// taken off.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/nccl/call_timing.h"
#include "plugins/nccl/interface/nccl_interface.h"

namespace hocket::nccl::abi {
namespace {

template <class Call>
void report(const std::string& name, int calls, const Call& call) {
  report_mean(name, calls, call);
  report_singles(name, calls, call, [](int) {});
}

double processor_ns() {
  timespec used = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

/// Prints the share of a processor that the plugin's threads take.
void report_idle(int rank) {
  const double before_ns = processor_ns();
  const auto begin = Clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(5));
  std::printf("%-28s %.4f %% of a processor\n", ("threads, rank " + std::to_string(rank)).c_str(),
              100 * (processor_ns() - before_ns) / since_ns(begin));
}

template <class Table>
const Table& table_of(void* library, const char* name) {
  const auto* table = static_cast<const Table*>(dlsym(library, name));
  if (table == nullptr) {
    std::fprintf(stderr, "%s: not in the library\n", name);
    std::exit(1);
  }
  return *table;
}

/// Opens, measures and closes a communicator of one rank.
void run(const ProfilerV5& profiler, const TunerV5& tuner, int rank, int calls) {
  int mask = 0;
  void *profiler_context = nullptr, *tuner_context = nullptr;
  profiler.init(&profiler_context, 1000 + static_cast<std::uint64_t>(rank), &mask, "world", 1, 2,
                rank, nullptr);
  tuner.init(&tuner_context, 1000 + static_cast<std::uint64_t>(rank), 2, 1, nullptr, nullptr,
             nullptr);
  std::array<float, kAlgorithms * kProtocols> costs;
  const auto decide = [&](int i) {
    costs.fill(-1);
    costs[kRing * kProtocols + kSimple] = 100;
    costs[kTree * kProtocols + kSimple] = 200;
    int channels = 0;
    // The calls of an iteration with eight buckets.
    tuner.get_coll_info(tuner_context, kAllReduce, std::size_t{1} << (16 + i % 8), 1,
                        reinterpret_cast<float**>(costs.data()), kAlgorithms, kProtocols, 0,
                        &channels);
  };
  report("decision, rank " + std::to_string(rank), calls, decide);
  EventDescriptorV5 event = {};
  event.type = kCollectiveEvent;
  event.collective.function = "AllReduce";
  event.collective.datatype = "ncclFloat32";
  event.collective.algorithm = "RING";
  event.collective.protocol = "SIMPLE";
  report("counted, rank " + std::to_string(rank), calls, [&](int) {
    void* handle = nullptr;
    profiler.start_event(profiler_context, &handle, &event);
  });
  report_idle(rank);
  tuner.finalize(tuner_context);
  profiler.finalize(profiler_context);
}

}  // namespace
}  // namespace hocket::nccl::abi

int main(int count, char** arguments) {
  using namespace hocket::nccl::abi;
  const int calls = count > 2 ? std::atoi(arguments[2]) : 1'000'000;
  if (count < 2 || calls < 1000) {
    std::fprintf(stderr, "usage: nccl_decision_benchmark LIBRARY [calls, at least 1000]\n");
    return 2;
  }
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  setenv("HOCKET_NCCL_TUNER_CHAIN", "none", 1);
  setenv("HOCKET_NCCL_PROFILER_CHAIN", "none", 1);
  const auto& profiler = table_of<ProfilerV5>(library, "ncclProfiler_v5");
  const auto& tuner = table_of<TunerV5>(library, "ncclTunerPlugin_v5");
  for (const int rank : {0, 1}) run(profiler, tuner, rank, calls);
  return 0;
}
