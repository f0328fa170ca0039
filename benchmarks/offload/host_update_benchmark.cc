// Benchmarks the host's update of offloaded layers:
//
//   bin/host_update_benchmark --benchmark_repetitions=11 --benchmark_min_time=0.05
//       --benchmark_enable_random_interleaving --benchmark_report_aggregates_only
//
// Arguments are the number of elements and of threads. Bytes are those that the program names: an
// element of an update is read from 4 arrays and written to 3 of them, 28 bytes; a copy adds 2 or
// 4. An element of the triad (McCalpin, STREAM, a = b + s·c) is read from 2 arrays and written to a
// third, 12 bytes as STREAM counts; where the caches are too small, the memory transfers 16, since
// a line is read before it is written. BM_SameTraffic reads and writes the arrays of an update
// without its root and division, so it shows what their bandwidth allows.
//
// Threads of an update belong to HostUpdate; those of the other loops are the benchmark's, each
// with a share of its own that it repeats without waiting for the others. The arrays are in huge
// pages where the name does not say otherwise.

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "examples/gpt2/model/host_update.h"

namespace hocket {
namespace {

constexpr AdamW kOptions;
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

  Floats of(HugeVector<float>& all) const { return Floats(all).subspan(begin, size); }

  std::size_t size, begin;
};

void report_bytes(benchmark::State& state, std::size_t elements, std::int64_t bytes_of_element) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(elements) *
                          bytes_of_element);
}

enum class Copied { nothing, bfloat16, float32 };

void update_host(benchmark::State& state, HostVectors vectors, Copied copied, auto& in) {
  const auto size = static_cast<std::size_t>(state.range(0));
  HostUpdate host(static_cast<int>(state.range(1)), vectors);
  HugeVector<std::uint16_t> rounded(copied == Copied::bfloat16 ? size : 0);
  HugeVector<float> copy(copied == Copied::float32 ? size : 0);
  const AdamWRange whole{size, true};
  const AdamWMemory memory{.gradients = ConstFloats(in.gradients).first(size),
                           .parameters = Floats(in.parameters).first(size),
                           .first_moment = Floats(in.first).first(size),
                           .second_moment = Floats(in.second).first(size),
                           .bfloat16_copy = rounded,
                           .float32_copy = copy};
  std::int64_t update = 0;
  for (auto _ : state) host.update(kOptions, ++update, 1.0, {&whole, 1}, memory);
  constexpr std::int64_t kCopyBytes[] = {0, 2, 4};
  report_bytes(state, size, kUpdateBytes + kCopyBytes[static_cast<int>(copied)]);
}

void BM_HostUpdate(benchmark::State& state) {
  update_host(state, HostVectors::widest, Copied::nothing, arrays);
}

/// In memory as allocated by default, which is in pages of 4 KiB.
void BM_HostUpdateSmallPages(benchmark::State& state) {
  update_host(state, HostVectors::widest, Copied::nothing, arrays_in_small_pages);
}

void BM_HostUpdateBaseline(benchmark::State& state) {
  update_host(state, HostVectors::baseline, Copied::nothing, arrays);
}

void BM_HostUpdateCopyBfloat16(benchmark::State& state) {
  update_host(state, HostVectors::widest, Copied::bfloat16, arrays);
}

void BM_HostUpdateCopyFloat32(benchmark::State& state) {
  update_host(state, HostVectors::widest, Copied::float32, arrays);
}

/// adamw_update of ops.cc.
void BM_Ops(benchmark::State& state) {
  const Share share(state);
  std::int64_t update = 0;
  for (auto _ : state) {
    adamw_update(kOptions, ++update, true, 1.0, share.of(arrays.gradients),
                 share.of(arrays.parameters), share.of(arrays.first), share.of(arrays.second));
    benchmark::ClobberMemory();
  }
  report_bytes(state, share.size, kUpdateBytes);
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
BENCHMARK(BM_HostUpdateBaseline)->Apply(sizes_and_threads);
BENCHMARK(BM_HostUpdateCopyBfloat16)->Apply(sizes_and_threads);
BENCHMARK(BM_HostUpdateCopyFloat32)->Apply(sizes_and_threads);
BENCHMARK(BM_Ops)->Apply(sizes);
BENCHMARK(BM_Triad)->Apply(sizes);
BENCHMARK(BM_SameTraffic)->Apply(sizes);

}  // namespace
}  // namespace hocket
