#include "tests/plugins/nccl/host/shared/run_record.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <vector>

namespace hocket::nccl_host {
namespace {

/// Buckets 0 to 15 are one nanosecond wide; each further power of two has 16.
int bucket_of(std::uint64_t ns) {
  if (ns < 16) return static_cast<int>(ns);
  const int power = std::bit_width(ns) - 5;
  return power * 16 + static_cast<int>(ns >> power);
}

std::uint64_t end_of(int bucket) {
  if (bucket < 16) return bucket;
  const int power = (bucket - 16) / 16;
  return ((static_cast<std::uint64_t>(bucket - power * 16) + 1) << power) - 1;
}

}  // namespace

std::int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

std::int64_t clock_overhead_ns() {
  std::vector<std::int64_t> differences(1001);
  for (auto& difference : differences) {
    const std::int64_t begin = now_ns();
    difference = now_ns() - begin;
  }
  std::nth_element(differences.begin(), differences.begin() + 500, differences.end());
  return differences[500];
}

void Histogram::add(std::int64_t ns) {
  const auto positive = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
  buckets_[std::min(bucket_of(positive), kBuckets - 1)].fetch_add(1, std::memory_order_relaxed);
  total_ns_.fetch_add(positive, std::memory_order_relaxed);
  std::uint64_t most = max_ns_.load(std::memory_order_relaxed);
  while (positive > most && !max_ns_.compare_exchange_weak(most, positive)) {
  }
}

void Histogram::add(const Histogram& other) {
  for (int i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  total_ns_ += other.total_ns_;
  max_ns_ = std::max(max_ns_.load(), other.max_ns_.load());
}

std::uint64_t Histogram::count() const {
  std::uint64_t count = 0;
  for (const auto& bucket : buckets_) count += bucket;
  return count;
}

std::uint64_t Histogram::at(double quantile) const {
  const double wanted = quantile * static_cast<double>(count());
  std::uint64_t below = 0;
  for (int i = 0; i < kBuckets; ++i) {
    below += buckets_[i];
    if (below > 0 && static_cast<double>(below) >= wanted) return end_of(i);
  }
  return 0;
}

const char* name_of(Violation violation) {
  static constexpr const char* names[] = {
      "changed_disallowed", "nothing_allowed", "error_returned",      "invalid_channels",
      "failed_init",        "failed_finalize", "mask_without_context"};
  return names[static_cast<int>(violation)];
}

void ViolationLog::add(std::string_view line) {
  const std::scoped_lock lock(mutex);
  if (lines == kLines) return;
  line.copy(text[lines++], sizeof(text[0]) - 1);
}

}  // namespace hocket::nccl_host
