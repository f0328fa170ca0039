// What a decision of the NCCL plugin costs NCCL's thread, an event for each collective that is
// counted, and the plugin's threads while nothing is called: the plugin as NCCL loads it, rank 0 of
// two with its control, and a rank 1.
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

#include "plugins/nccl/interface/nccl_interface.h"

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

template <class Call>
void report(const std::string& name, int calls, const Call& call) {
  for (int i = 0; i < calls / 10; ++i) call(i);
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i) call(i);
  const double mean_ns = since_ns(begin) / calls;
  const double overhead_ns = clock_ns();
  std::vector<double> singles;
  singles.reserve(static_cast<std::size_t>(calls));
  for (int i = 0; i < calls; ++i) {
    const auto start = Clock::now();
    call(i);
    singles.push_back(std::max(0.0, since_ns(start) - overhead_ns));
  }
  std::sort(singles.begin(), singles.end());
  const auto permille = [&](std::size_t of) { return singles[singles.size() * of / 1000]; };
  std::printf("%-28s mean %6.1f ns, p50 %6.1f ns, p99 %6.1f ns, p99.9 %7.1f ns\n", name.c_str(),
              mean_ns, permille(500), permille(990), permille(999));
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
