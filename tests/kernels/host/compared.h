#pragma once

// Kernels of the host beside the interpreter: equal up to rounding, and with equal bits whole, in
// pieces, and in the memory of operands. One thread.
//
// The interpreter computes in double precision from the same rounded operands, so that what differs
// is the rounding of float32: each of a kernel's steps is off by 2^-24 of what it makes at most,
// and what a sum is made of may be larger than the sum. A number may therefore differ by kRoundings
// such steps of the larger one of itself and the sum of the magnitudes of its terms, which a case
// gives where it is not about 1. Sums in lanes and blocks are off by far less than their length.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/interpreter/interpreter.h"
#include "kernels/host/host_kernels.h"
#include "tests/core/graph/evaluated.h"

namespace hocket {

inline constexpr double kRoundings = 16;

/// One operation on given numbers.
struct OperationCase {
  OperationKind kind = OperationKind::add;
  std::vector<Numbers> operands = {};
  Attributes attributes = {};
  /// Bound of the sum of the magnitudes of a number's terms; 0 for numbers that stay as they are.
  double magnitude = 4;
};

inline const KernelTable& host_kernels() {
  static const KernelTable table = [] {
    KernelTable made;
    add_host_kernels(made);
    return made;
  }();
  return table;
}

/// Memory of a value, at a multiple of 64, between bytes that must not change.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)), all_(bytes_ + 3 * kGuard, kUntouched) {
    const auto address = reinterpret_cast<std::uintptr_t>(all_.data());
    begin_ = kGuard + (kGuard - address % kGuard) % kGuard;
  }

  unsigned char* data() { return all_.data() + begin_; }
  std::size_t size() const { return bytes_; }
  bool is_intact() const {
    const auto is_untouched = [](unsigned char each) { return each == kUntouched; };
    const auto begin = all_.begin() + static_cast<std::ptrdiff_t>(begin_);
    return std::all_of(all_.begin(), begin, is_untouched) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(bytes_), all_.end(), is_untouched);
  }

 private:
  static constexpr std::size_t kGuard = 64;
  /// In numbers of 4 bytes, one that is none.
  static constexpr unsigned char kUntouched = 0xff;

  const std::size_t bytes_;
  std::vector<unsigned char> all_;
  std::size_t begin_ = 0;
};

inline void write_numbers(const Numbers& numbers, void* to) {
  auto* const floats = static_cast<float*>(to);
  auto* const whole = static_cast<std::int32_t*>(to);
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    if (is_floating(numbers.type.numbers))
      floats[i] = static_cast<float>(numbers.values[i]);
    else
      whole[i] = static_cast<std::int32_t>(numbers.values[i]);
  }
}

inline Numbers read_numbers(const ValueType& type, const void* from) {
  Numbers numbers{type, {}};
  for (std::int64_t i = 0; i < type.count(); ++i) {
    numbers.values.push_back(is_floating(type.numbers) ? static_cast<const float*>(from)[i]
                                                       : static_cast<const std::int32_t*>(from)[i]);
  }
  return numbers;
}

/// A run of a kernel: results in memory of their own, or in that of operands.
struct KernelRun {
  std::vector<InPlace> in_place = {};
  std::vector<UnitRange> ranges = {};  ///< all units if none
};

inline Result<std::vector<Numbers>> run_kernel(const Kernel& kernel,
                                               const KernelSignature& signature,
                                               const std::vector<Numbers>& operands,
                                               const KernelRun& run = {}) {
  std::vector<GuardedMemory> memory;
  std::vector<const void*> from;
  std::vector<void*> to;
  memory.reserve(operands.size() + signature.results.size() + 1);
  for (const Numbers& operand : operands) {
    write_numbers(operand, memory.emplace_back(operand.type.bytes()).data());
    from.push_back(memory.back().data());
  }
  for (std::size_t i = 0; i < signature.results.size(); ++i) {
    const auto shared = std::find_if(run.in_place.begin(), run.in_place.end(),
                                     [i](const InPlace& each) { return each.result == i; });
    to.push_back(shared != run.in_place.end()
                     ? memory[shared->operand].data()
                     : memory.emplace_back(signature.results[i].bytes()).data());
  }
  const KernelCall call{from, to, memory.emplace_back(kernel.scratch_bytes()).data()};
  if (run.ranges.empty()) HOCKET_TRY(kernel.run(call));
  for (const UnitRange range : run.ranges) HOCKET_TRY(kernel.run(call, range));
  for (const GuardedMemory& each : memory) EXPECT_TRUE(each.is_intact());
  std::vector<Numbers> results;
  for (std::size_t i = 0; i < to.size(); ++i)
    results.push_back(read_numbers(signature.results[i], to[i]));
  return results;
}

/// Returns an operation as its kernel sees it. A test requires that there is such an operation.
inline KernelSignature signature_of(const OperationCase& each) {
  Graph graph;
  std::vector<ValueId> values;
  for (const Numbers& operand : each.operands)
    values.push_back(graph.add_input("x" + std::to_string(values.size()), operand.type).value());
  const auto added = graph.add(each.kind, values, each.attributes);
  EXPECT_TRUE(added) << (added ? "" : added.error().message);
  return signature_of(graph, graph.operations().back());
}

/// Returns ranges in random order that together are all units.
inline std::vector<UnitRange> random_ranges(Random& random, std::int64_t units) {
  std::vector<UnitRange> ranges;
  for (std::int64_t begin = 0; begin < units;) {
    const std::int64_t end = random_between(random, begin, std::min(units, begin + units / 2 + 1));
    ranges.push_back({begin, end});
    begin = end;
  }
  std::shuffle(ranges.begin(), ranges.end(), random);
  return ranges;
}

inline bool same_bits(const std::vector<Numbers>& one, const std::vector<Numbers>& other) {
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (std::memcmp(one[i].values.data(), other[i].values.data(),
                    one[i].values.size() * sizeof(double)) != 0)
      return false;
  }
  return true;
}

inline void expect_close(const Numbers& found, const Numbers& expected, double magnitude,
                         const std::string& name) {
  ASSERT_EQ(found.type, expected.type) << name;
  const double step = kRoundings * std::ldexp(1.0, -24);
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    const double is = found.values[i], should = expected.values[i];
    if (is == should || (std::isnan(is) && std::isnan(should))) continue;
    ASSERT_GT(magnitude, 0) << name << " at " << i << ": " << is << ", expected " << should;
    if (std::abs(should) > std::numeric_limits<float>::max() && std::isinf(is) &&
        std::signbit(is) == std::signbit(should))
      continue;
    ASSERT_LE(std::abs(is - should), step * std::max(magnitude, std::abs(should)))
        << name << " at " << i << ": " << is << ", expected " << should;
  }
}

/// Compares a kernel with the interpreter, and its runs with one another.
inline void expect_as_interpreted(OperationCase each, Random& random) {
  SCOPED_TRACE(to_string(each.kind));
  for (Numbers& operand : each.operands)
    for (double& value : operand.values) value = rounded(value, operand.type.numbers);
  const KernelSignature signature = signature_of(each);
  const auto kernel = host_kernels().make(signature, KernelDevice::host);
  ASSERT_TRUE(kernel) << kernel.error().message;
  const auto expected = try_operation(each.kind, each.operands, each.attributes);
  ASSERT_TRUE(expected) << expected.error().message;

  const auto whole = run_kernel(**kernel, signature, each.operands);
  ASSERT_TRUE(whole) << whole.error().message;
  const auto names = result_names(each.kind, signature.attributes);
  for (std::size_t i = 0; i < whole->size(); ++i)
    expect_close((*whole)[i], (*expected)[i], each.magnitude, std::string(names[i]));

  const auto expect_same = [&](const KernelRun& run) {
    const auto found = run_kernel(**kernel, signature, each.operands, run);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(same_bits(*found, *whole))
        << run.ranges.size() << " ranges, " << run.in_place.size() << " results in place";
  };
  expect_same({{}, random_ranges(random, (*kernel)->units())});
  for (const InPlace& pair : (*kernel)->in_place()) {
    expect_same({{pair}, {}});
    expect_same({{pair}, random_ranges(random, (*kernel)->units())});
  }
  std::vector<InPlace> all;
  for (const InPlace& pair : (*kernel)->in_place()) {
    if (std::none_of(all.begin(), all.end(), [&](const InPlace& other) {
          return other.result == pair.result || other.operand == pair.operand;
        }))
      all.push_back(pair);
  }
  expect_same({all, random_ranges(random, (*kernel)->units())});
}

/// Returns the error of a kernel's run, "none" if it succeeds.
inline std::string kernel_error(const OperationCase& each) {
  const KernelSignature signature = signature_of(each);
  const auto kernel = host_kernels().make(signature, KernelDevice::host);
  EXPECT_TRUE(kernel);
  const auto found = run_kernel(**kernel, signature, each.operands);
  return found ? "none" : found.error().message;
}

/// Sizes up to `most`, of which a part is as small as 1.
inline std::int64_t random_size(Random& random, std::int64_t most) {
  return random_between(random, 1, random() % 2 == 0 ? std::min<std::int64_t>(most, 3) : most);
}

inline Shape random_shape_up_to(Random& random, std::int64_t least_rank, std::int64_t most_rank,
                                std::int64_t most) {
  Shape shape(static_cast<std::size_t>(random_between(random, least_rank, most_rank)));
  for (std::int64_t& size : shape) size = random_size(random, most);
  return shape;
}

}  // namespace hocket
