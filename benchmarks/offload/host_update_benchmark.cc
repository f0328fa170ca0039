// Benchmarks the host's update of offloaded layers:
//
//   bin/host_update_benchmark --benchmark_repetitions=11 --benchmark_min_time=0.05
//       --benchmark_enable_random_interleaving --benchmark_report_aggregates_only
//
// Arguments are the number of elements and of threads. Bytes are those that the program names: an
// element of an update is read from 4 arrays and written to 3 of them, 28 bytes. An element of the
// triad (McCalpin, STREAM, a = b + s·c) is read from 2 arrays and written to a third, 12 bytes as
// STREAM counts; where the caches are too small, the memory transfers 16, since a line is read
// before it is written. BM_SameTraffic reads and writes the arrays of an update without its root
// and division, so it shows what their bandwidth allows.
//
// Threads of an update belong to UnitThreads; those of the other loops are the benchmark's, each
// with a share of its own that it repeats without waiting for the others. The arrays are in huge
// pages where the name does not say otherwise.

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/graph/graph.h"
#include "kernels/host/host_kernels.h"
#include "kernels/host/unit_threads.h"

namespace hocket {
namespace {

constexpr std::size_t kMostElements = std::size_t{64} << 20;
constexpr std::int64_t kUpdateBytes = 28, kTriadBytes = 12;

/// Memory in pages of 2 MiB where the kernel has them, with which a thread seldom waits for an
/// address to be translated.
template <class T>
struct HugePages {
  using value_type = T;
  static constexpr std::size_t kPageBytes = std::size_t{2} << 20;

  T* allocate(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + kPageBytes - 1) / kPageBytes * kPageBytes;
    void* const memory = std::aligned_alloc(kPageBytes, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  bool operator==(const HugePages&) const = default;
};
template <class T>
using HugeVector = std::vector<T, HugePages<T>>;

/// The arrays of an update, of which each benchmark uses the beginning.
template <class Vector>
struct Arrays {
  Vector gradients = Vector(kMostElements, 1e-3f);
  Vector parameters = Vector(kMostElements, 0.5f);
  Vector first = Vector(kMostElements, 1e-3f);
  Vector second = Vector(kMostElements, 1e-6f);
};

// Made before any measurement, since the kernel provides the memory when it is first written.
Arrays<HugeVector<float>> arrays;
Arrays<std::vector<float>> arrays_in_small_pages;

/// Elements of the calling thread, of those of all.
struct Share {
  explicit Share(const benchmark::State& state)
      : size(static_cast<std::size_t>(state.range(0) / state.threads())),
        begin(size * static_cast<std::size_t>(state.thread_index())) {}

  std::span<float> of(HugeVector<float>& all) const { return std::span(all).subspan(begin, size); }

  std::size_t size, begin;
};

void report_bytes(benchmark::State& state, std::size_t elements, std::int64_t bytes_of_element) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(elements) *
                          bytes_of_element);
}

/// The kernel of an update of so many elements.
std::unique_ptr<Kernel> adamw_kernel(std::int64_t elements) {
  Graph graph;
  const ValueType all{NumberType::float32, {elements}};
  std::vector<ValueId> operands;
  for (const ValueType& type :
       {all, all, all, all, ValueType{NumberType::float32, {}}, ValueType{NumberType::int32, {}}})
    operands.push_back(graph.add_input("x" + std::to_string(operands.size()), type).value());
  static_cast<void>(graph.add(OperationKind::adamw, operands, {{"weight_decay", 0.1}}).value());
  KernelTable table;
  add_host_kernels(table);
  return table.make(signature_of(graph, graph.operations().back()), KernelDevice::host).value();
}

void update_host(benchmark::State& state, auto& in) {
  const auto kernel = adamw_kernel(state.range(0));
  UnitThreads threads(static_cast<int>(state.range(1)));
  const float rate = 5e-4f;
  std::int32_t update = 0;
  const std::vector<const void*> operands{
      in.parameters.data(), in.gradients.data(), in.first.data(), in.second.data(), &rate, &update};
  const std::vector<void*> results{in.parameters.data(), in.first.data(), in.second.data()};
  for (auto _ : state) {
    ++update;
    const auto done = threads.run(kernel->units(), [&](UnitRange range) {
      return kernel->run({operands, results}, range);
    });
    HOCKET_CHECK(done, "the number of the step is 1 or more");
  }
  report_bytes(state, static_cast<std::size_t>(state.range(0)), kUpdateBytes);
}

void BM_HostUpdate(benchmark::State& state) {
  update_host(state, arrays);
}

/// In memory as allocated by default, which is in pages of 4 KiB.
void BM_HostUpdateSmallPages(benchmark::State& state) {
  update_host(state, arrays_in_small_pages);
}

void BM_Triad(benchmark::State& state) {
  const Share share(state);
  float* const a = share.of(arrays.parameters).data();
  const float* const b = share.of(arrays.gradients).data();
  const float* const c = share.of(arrays.first).data();
  for (auto _ : state) {
#pragma omp simd
    for (std::size_t i = 0; i < share.size; ++i) a[i] = b[i] + 0.5f * c[i];
    benchmark::ClobberMemory();
  }
  report_bytes(state, share.size, kTriadBytes);
}

void BM_SameTraffic(benchmark::State& state) {
  const Share share(state);
  const float* const gradient = share.of(arrays.gradients).data();
  float* const parameter = share.of(arrays.parameters).data();
  float* const first = share.of(arrays.first).data();
  float* const second = share.of(arrays.second).data();
  for (auto _ : state) {
#pragma omp simd
    for (std::size_t i = 0; i < share.size; ++i) {
      const float g = gradient[i];
      const float m = 0.5f * first[i] + g, v = 0.5f * second[i] + g;
      first[i] = m;
      second[i] = v;
      parameter[i] = 0.5f * parameter[i] + m + v;
    }
    benchmark::ClobberMemory();
  }
  report_bytes(state, share.size, kUpdateBytes);
}

constexpr std::int64_t kMebi = 1 << 20;

void sizes_and_threads(benchmark::internal::Benchmark* added) {
  added->ArgsProduct({{kMebi, 4 * kMebi, 16 * kMebi, 64 * kMebi}, {1, 2}})->UseRealTime();
}
void sizes(benchmark::internal::Benchmark* added) {
  for (const std::int64_t size : {1, 4, 16, 64}) added->Arg(size * kMebi);
  added->Threads(1)->Threads(2)->UseRealTime();
}

BENCHMARK(BM_HostUpdate)->Apply(sizes_and_threads);
BENCHMARK(BM_HostUpdateSmallPages)->Apply(sizes_and_threads);
BENCHMARK(BM_Triad)->Apply(sizes);
BENCHMARK(BM_SameTraffic)->Apply(sizes);

}  // namespace
}  // namespace hocket
