#include "examples/gpt2/model/host_update.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Elements that a thread takes at once: enough to hide the cost of taking them, few enough that
/// threads that share a core with others delay the end little. A multiple of a cache line's.
constexpr std::size_t kChunk = 32 * 1024;

/// Elements that are updated before they are copied: their parameters are then in the first cache
/// still. Two short loops take less time than one that keeps vectors of two widths.
constexpr std::size_t kCopied = 1024;

/// The same factors as in adamw_update of ops.cc, so that both give the same bits.
struct Factors {
  Factors(const AdamW& options, std::int64_t update, double gradient_scale)
      : beta1(static_cast<float>(options.beta1)),
        beta2(static_cast<float>(options.beta2)),
        correction1(correction(options.beta1, update)),
        correction2(correction(options.beta2, update)),
        rate(static_cast<float>(options.learning_rate)),
        epsilon(static_cast<float>(options.epsilon)),
        keep_decaying(static_cast<float>(1.0 - options.learning_rate * options.weight_decay)),
        scale(static_cast<float>(gradient_scale)) {}

  static float correction(double beta, std::int64_t update) {
    return static_cast<float>(1.0 / (1.0 - std::pow(beta, static_cast<double>(update))));
  }

  float beta1, beta2, correction1, correction2, rate, epsilon, keep_decaying, scale;
};

/// Consecutive elements that are updated alike.
struct Elements {
  std::size_t count = 0;
  bool decay = false;
  const float* gradient = nullptr;
  float *parameter = nullptr, *first = nullptr, *second = nullptr;
  void* copy = nullptr;
};

using UpdateElements = void (*)(const Factors&, const Elements&);

/// Rounds to nearest, ties to even. Without branches, so that a compiler vectorises it.
[[gnu::always_inline]] inline std::uint16_t rounded_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return static_cast<std::uint16_t>(value == value ? rounded : 0x7fffu);
}

// The functions below are inlined into others for several instruction sets.

/// The order of operations is that of ops.cc; none may be replaced by another of higher precision.
[[gnu::always_inline]] inline void update_elements(const Factors& factors, bool decay,
                                                   std::size_t count, const float* gradient,
                                                   float* parameter, float* first, float* second) {
  const Factors f = factors;  // a local copy, so that stores through the pointers cannot change it
  const float keep = decay ? f.keep_decaying : 1.0f;
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient[i] * f.scale;
    const float m = f.beta1 * first[i] + (1.0f - f.beta1) * g;
    const float v = f.beta2 * second[i] + (1.0f - f.beta2) * g * g;
    first[i] = m;
    second[i] = v;
    parameter[i] = keep * parameter[i] -
                   f.rate * (m * f.correction1) / (std::sqrt(v * f.correction2) + f.epsilon);
  }
}

[[gnu::always_inline]] inline void copy_elements(std::size_t count, const float* from,
                                                 std::uint16_t* to) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) to[i] = rounded_to_bfloat16(from[i]);
}
[[gnu::always_inline]] inline void copy_elements(std::size_t count, const float* from, float* to) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
}

/// `Copied` is the copy's type, or void.
template <class Copied>
[[gnu::always_inline]] inline void update_and_copy(const Factors& factors,
                                                   const Elements& elements) {
  const Elements& e = elements;
  if constexpr (std::is_void_v<Copied>) {
    update_elements(factors, e.decay, e.count, e.gradient, e.parameter, e.first, e.second);
  } else {
    for (std::size_t begin = 0; begin < e.count; begin += kCopied) {
      const std::size_t count = std::min(kCopied, e.count - begin);
      update_elements(factors, e.decay, count, e.gradient + begin, e.parameter + begin,
                      e.first + begin, e.second + begin);
      copy_elements(count, e.parameter + begin, static_cast<Copied*>(e.copy) + begin);
    }
  }
}

template <class Copied>
void update_with_baseline(const Factors& factors, const Elements& elements) {
  update_and_copy<Copied>(factors, elements);
}

#ifdef __x86_64__
// AVX2 without fused multiply-add, which ops.cc is compiled without. Wider vectors are no faster:
// from here on the memory is the limit.
template <class Copied>
[[gnu::target("avx2")]] void update_with_avx2(const Factors& factors, const Elements& elements) {
  update_and_copy<Copied>(factors, elements);
}
#endif

template <class Copied>
UpdateElements choose(HostVectors vectors) {
#ifdef __x86_64__
  if (vectors == HostVectors::widest && __builtin_cpu_supports("avx2"))
    return update_with_avx2<Copied>;
#endif
  static_cast<void>(vectors);
  return update_with_baseline<Copied>;
}

UpdateElements choose(HostVectors vectors, const AdamWMemory& memory) {
  if (!memory.bfloat16_copy.empty()) return choose<std::uint16_t>(vectors);
  if (!memory.float32_copy.empty()) return choose<float>(vectors);
  return choose<void>(vectors);
}

void check(std::span<const AdamWRange> ranges, const AdamWMemory& memory) {
  const std::size_t size = memory.gradients.size();
  HOCKET_CHECK(memory.parameters.size() == size, "as many parameters as gradients");
  HOCKET_CHECK(memory.first_moment.size() == size && memory.second_moment.size() == size,
               "as many moments as gradients");
  const std::size_t rounded = memory.bfloat16_copy.size(), copied = memory.float32_copy.size();
  HOCKET_CHECK((rounded == 0 || rounded == size) && (copied == 0 || copied == size),
               "a copy has as many elements as the parameters, or none");
  HOCKET_CHECK(rounded == 0 || copied == 0, "at most one copy");
  std::size_t covered = 0;
  for (const AdamWRange& range : ranges) covered += range.size;
  HOCKET_CHECK(covered == size, "the ranges cover all elements");
}

}  // namespace

int usable_hardware_threads() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  // Fails on a machine with more processors than a set has; the library then knows the number.
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return std::max(CPU_COUNT(&usable), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

/// One update, of which each thread takes a chunk at a time.
class HostUpdate::Work {
 public:
  Work(const Factors& factors, UpdateElements update_elements, std::span<const AdamWRange> ranges,
       const AdamWMemory& memory)
      : factors_(factors), update_elements_(update_elements), ranges_(ranges), memory_(memory) {}

  std::size_t chunks() const { return (memory_.gradients.size() + kChunk - 1) / kChunk; }

  /// Updates chunks until all are taken.
  void take_part() {
    for (;;) {
      const std::size_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks()) return;
      update_chunk(chunk * kChunk, std::min((chunk + 1) * kChunk, memory_.gradients.size()));
    }
  }

 private:
  void update_chunk(std::size_t begin, std::size_t end) const {
    std::size_t range_begin = 0;
    for (const AdamWRange& range : ranges_) {
      const std::size_t from = std::max(begin, range_begin);
      range_begin += range.size;
      const std::size_t to = std::min(end, range_begin);
      if (from < to) update_elements_(factors_, elements(from, to - from, range.decay));
    }
  }

  Elements elements(std::size_t begin, std::size_t count, bool decay) const {
    const AdamWMemory& m = memory_;
    void* copy = nullptr;
    if (!m.bfloat16_copy.empty()) copy = m.bfloat16_copy.data() + begin;
    if (!m.float32_copy.empty()) copy = m.float32_copy.data() + begin;
    return {.count = count,
            .decay = decay,
            .gradient = m.gradients.data() + begin,
            .parameter = m.parameters.data() + begin,
            .first = m.first_moment.data() + begin,
            .second = m.second_moment.data() + begin,
            .copy = copy};
  }

  const Factors factors_;
  const UpdateElements update_elements_;
  const std::span<const AdamWRange> ranges_;
  const AdamWMemory& memory_;
  std::atomic<std::size_t> next_ = 0;
};

HostUpdate::HostUpdate(int threads, HostVectors vectors) : vectors_(vectors) {
  HOCKET_CHECK(threads >= 1, "at least the calling thread");
  for (int helper = 1; helper < threads; ++helper) helpers_.emplace_back([this] { help(); });
}

HostUpdate::~HostUpdate() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  offered_.notify_all();
  helpers_.clear();
}

void HostUpdate::update(const AdamW& options, std::int64_t update, double gradient_scale,
                        std::span<const AdamWRange> ranges, const AdamWMemory& memory) {
  check(ranges, memory);
  HOCKET_CHECK(update >= 1, "updates count from 1");
  Work work({options, update, gradient_scale}, choose(vectors_, memory), ranges, memory);
  const std::lock_guard one(one_update_);
  // The first chunk is the calling thread's.
  const std::size_t others = work.chunks() > 0 ? work.chunks() - 1 : 0;
  const std::size_t helpers = std::min(helpers_.size(), others);
  if (helpers > 0) offer(work, helpers);
  work.take_part();
  if (helpers > 0) withdraw();
}

void HostUpdate::offer(Work& work, std::size_t helpers) {
  {
    const std::lock_guard lock(mutex_);
    HOCKET_CHECK(work_ == nullptr && busy_helpers_ == 0, "one update at a time");
    work_ = &work;
  }
  for (; helpers > 0; --helpers) offered_.notify_one();
}

void HostUpdate::withdraw() {
  std::unique_lock lock(mutex_);
  // A helper that has not woken up yet finds nothing to join, so nobody waits for it.
  work_ = nullptr;
  left_.wait(lock, [this] { return busy_helpers_ == 0; });
}

void HostUpdate::help() {
  std::unique_lock lock(mutex_);
  for (;;) {
    offered_.wait(lock, [this] { return ending_ || work_ != nullptr; });
    if (ending_) return;
    Work& work = *work_;
    ++busy_helpers_;
    lock.unlock();
    work.take_part();
    lock.lock();
    // All chunks are taken. The work is still the one offered: its update waits for this helper.
    work_ = nullptr;
    if (--busy_helpers_ == 0) left_.notify_one();
  }
}

}  // namespace hocket
