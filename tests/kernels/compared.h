#pragma once

// Kernels beside the interpreter: equal up to rounding, and with equal bits whole, in pieces, and
// in the memory of operands. One thread.
//
// The interpreter computes in double precision from the same rounded operands, so that what differs
// is the rounding of float32, and at last that of the result's type: each of a kernel's steps is
// off by 2^-24 of what it makes at most, and what a sum is made of may be larger than the sum. A
// number may therefore differ by kRoundings such steps of the larger one of itself and the sum of
// the magnitudes of its terms, which a case gives where it is not about 1. Sums in lanes and blocks
// are off by far less than their length.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/interpreter/interpreter.h"
#include "core/graph/passes/memory_plan.h"
#include "kernels/kernel_table.h"
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
  /// Bound of the numbers of 16 bits that are made on the way, for results that are not float32.
  double narrow_magnitude = 0;
};

/// The kernels of a device.
struct ComparedKernels {
  const KernelTable& table;
  KernelDevice device = KernelDevice::host;
  std::int64_t shift = 0;  ///< numbers by which values are not aligned
};

/// The memory that kernels compute on in tests, which the host reaches, too; and what the host
/// waits for before it reads results. A program that has a device sets it.
struct TestMemory {
  void* (*allocate)(std::size_t bytes) = [](std::size_t bytes) { return std::malloc(bytes); };
  void (*release)(void*) = [](void* memory) { std::free(memory); };
  void (*finish)() = [] {};
};
inline TestMemory& test_memory() {
  static TestMemory memory;
  return memory;
}

/// Memory of a value, at a multiple of 64 or `shift` bytes behind one, between bytes that must not
/// change.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::int64_t bytes, std::int64_t shift = 0)
      : bytes_(static_cast<std::size_t>(bytes)),
        all_(static_cast<unsigned char*>(test_memory().allocate(size_of_all())),
             test_memory().release) {
    std::fill_n(all_.get(), size_of_all(), kUntouched);
    const auto address = reinterpret_cast<std::uintptr_t>(all_.get());
    begin_ = kGuard + (kGuard - address % kGuard) % kGuard + static_cast<std::size_t>(shift);
  }

  unsigned char* data() { return all_.get() + begin_; }
  std::size_t size() const { return bytes_; }
  bool is_intact() const {
    const auto is_untouched = [](unsigned char each) { return each == kUntouched; };
    const unsigned char* const begin = all_.get() + begin_;
    return std::all_of(static_cast<const unsigned char*>(all_.get()), begin, is_untouched) &&
           std::all_of(begin + bytes_,
                       static_cast<const unsigned char*>(all_.get()) + size_of_all(), is_untouched);
  }

 private:
  static constexpr std::size_t kGuard = 64;
  /// In numbers of 4 bytes, one that is none.
  static constexpr unsigned char kUntouched = 0xff;

  std::size_t size_of_all() const { return bytes_ + 4 * kGuard; }

  std::size_t bytes_;
  std::unique_ptr<unsigned char, void (*)(void*)> all_;
  std::size_t begin_ = 0;
};

inline void write_numbers(const Numbers& numbers, void* to) {
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    const double value = numbers.values[i];
    switch (numbers.type.numbers) {
      case NumberType::float32:
        static_cast<float*>(to)[i] = static_cast<float>(value);
        break;
      case NumberType::int32:
        static_cast<std::int32_t*>(to)[i] = static_cast<std::int32_t>(value);
        break;
      case NumberType::bfloat16:
        static_cast<std::uint16_t*>(to)[i] =
            std::isnan(value)
                ? std::uint16_t{0x7fff}
                : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(
                                                 rounded(value, NumberType::bfloat16))) >>
                                             16);
        break;
      case NumberType::float16:
        ADD_FAILURE() << "numbers of float16 are compared by their bits";
    }
  }
}

inline Numbers read_numbers(const ValueType& type, const void* from) {
  Numbers numbers{type, {}};
  for (std::int64_t i = 0; i < type.count(); ++i) {
    if (type.numbers == NumberType::float32) {
      numbers.values.push_back(static_cast<const float*>(from)[i]);
    } else if (type.numbers == NumberType::int32) {
      numbers.values.push_back(static_cast<const std::int32_t*>(from)[i]);
    } else {
      EXPECT_EQ(type.numbers, NumberType::bfloat16);
      const std::uint32_t bits = static_cast<const std::uint16_t*>(from)[i];
      numbers.values.push_back(std::bit_cast<float>(bits << 16));
    }
  }
  return numbers;
}

/// A run of a kernel: results in memory of their own, or in that of operands.
struct KernelRun {
  std::vector<InPlace> in_place = {};
  std::vector<UnitRange> ranges = {};    ///< all units if none
  std::vector<UnitRange> summands = {};  ///< instead of units
};

inline Result<std::vector<Numbers>> run_kernel(const Kernel& kernel,
                                               const KernelSignature& signature,
                                               const std::vector<Numbers>& operands,
                                               const KernelRun& run = {}, std::int64_t shift = 0) {
  const auto shifted = [shift](const ValueType& type) {
    return GuardedMemory(type.bytes(), shift * number_bytes(type.numbers));
  };
  std::vector<GuardedMemory> memory;
  std::vector<const void*> from;
  std::vector<void*> to;
  memory.reserve(operands.size() + signature.results.size() + 1);
  for (const Numbers& operand : operands) {
    write_numbers(operand, memory.emplace_back(shifted(operand.type)).data());
    from.push_back(memory.back().data());
  }
  for (std::size_t i = 0; i < signature.results.size(); ++i) {
    const auto shared = std::find_if(run.in_place.begin(), run.in_place.end(),
                                     [i](const InPlace& each) { return each.result == i; });
    to.push_back(shared != run.in_place.end()
                     ? memory[shared->operand].data()
                     : memory.emplace_back(shifted(signature.results[i])).data());
  }
  const KernelCall call{from, to, memory.emplace_back(kernel.scratch_bytes()).data()};
  if (run.ranges.empty() && run.summands.empty()) HOCKET_TRY(kernel.run(call));
  for (const UnitRange range : run.summands) HOCKET_TRY(kernel.run_summands(call, range));
  for (const UnitRange range : run.ranges) HOCKET_TRY(kernel.run(call, range));
  test_memory().finish();
  for (const GuardedMemory& each : memory) EXPECT_TRUE(each.is_intact());
  std::vector<Numbers> results;
  for (std::size_t i = 0; i < to.size(); ++i)
    results.push_back(read_numbers(signature.results[i], to[i]));
  return results;
}

/// Returns a graph of an operation alone. A test requires that there is such an operation.
inline Graph graph_of(const OperationCase& each) {
  Graph graph;
  std::vector<ValueId> values;
  for (const Numbers& operand : each.operands)
    values.push_back(graph.add_input("x" + std::to_string(values.size()), operand.type).value());
  const auto added = graph.add(each.kind, values, each.attributes);
  EXPECT_TRUE(added) << (added ? "" : added.error().message);
  return graph;
}
/// Returns the operation as its kernel sees it.
inline KernelSignature signature_of(const OperationCase& each) {
  const Graph graph = graph_of(each);
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

inline void expect_close(const Numbers& found, const Numbers& expected, const OperationCase& of,
                         const std::string& name) {
  ASSERT_EQ(found.type, expected.type) << name;
  const double step = kRoundings * std::ldexp(1.0, -24);
  const bool is_narrow = found.type.numbers == NumberType::bfloat16;
  const double magnitude = of.magnitude;
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    double should = expected.values[i];
    if (is_narrow && magnitude == 0) should = rounded(should, NumberType::bfloat16);
    const double is = found.values[i];
    if (is == should || (std::isnan(is) && std::isnan(should))) continue;
    ASSERT_GT(magnitude, 0) << name << " at " << i << ": " << is << ", expected " << should;
    if (std::abs(should) > std::numeric_limits<float>::max() && std::isinf(is) &&
        std::signbit(is) == std::signbit(should))
      continue;
    double most = step * std::max(magnitude, std::abs(should));
    // Half a step of what was rounded on the way, and of the number itself.
    most += std::ldexp(of.narrow_magnitude, -8);
    if (is_narrow) most += std::max(std::ldexp(std::abs(should), -8), std::ldexp(1.0, -133));
    ASSERT_LE(std::abs(is - should), most)
        << name << " at " << i << ": " << is << ", expected " << should;
  }
}

/// Expects that the kernel allows what plans write over. What an activation makes is not written
/// over its residual, unless the product is kept elsewhere.
inline void expect_written_over(const OperationCase& each, const Kernel& kernel) {
  const Graph graph = graph_of(each);
  const Operation& operation = graph.operations().back();
  if (each.kind == OperationKind::matmul && !operation.attributes.flag("keeps_before") &&
      (operation.attributes.word("activation") != "none" ||
       operation.attributes.word("gradient_of") != "none"))
    return;
  const auto allowed = kernel.in_place();
  for (std::size_t r = 0; r < graph.results(operation); ++r) {
    for (const std::size_t o : in_place_operands(graph, operation, r)) {
      EXPECT_NE(std::find(allowed.begin(), allowed.end(), InPlace{r, o}), allowed.end())
          << "result " << r << " over operand " << o;
    }
  }
}

/// Compares a kernel with the interpreter, and its runs with one another.
inline void expect_as_interpreted(const ComparedKernels& kernels, OperationCase each,
                                  Random& random) {
  SCOPED_TRACE(to_string(each.kind));
  for (Numbers& operand : each.operands)
    for (double& value : operand.values) value = rounded(value, operand.type.numbers);
  const KernelSignature signature = signature_of(each);
  const auto kernel = kernels.table.make(signature, kernels.device);
  ASSERT_TRUE(kernel) << kernel.error().message;
  const auto expected = try_operation(each.kind, each.operands, each.attributes);
  ASSERT_TRUE(expected) << expected.error().message;

  const auto whole = run_kernel(**kernel, signature, each.operands, {}, kernels.shift);
  ASSERT_TRUE(whole) << whole.error().message;
  const auto names = result_names(each.kind, signature.attributes);
  for (std::size_t i = 0; i < whole->size(); ++i)
    expect_close((*whole)[i], (*expected)[i], each, std::string(names[i]));
  expect_written_over(each, **kernel);

  const auto expect_same = [&](const KernelRun& run) {
    const auto found = run_kernel(**kernel, signature, each.operands, run, kernels.shift);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(same_bits(*found, *whole))
        << run.ranges.size() << " ranges, " << run.in_place.size() << " results in place";
  };
  const bool divides = (*kernel)->units() > 1;
  expect_same({.ranges = random_ranges(random, (*kernel)->units())});
  for (const InPlace& pair : (*kernel)->in_place()) {
    expect_same({.in_place = {pair}});
    if (divides)
      expect_same({.in_place = {pair}, .ranges = random_ranges(random, (*kernel)->units())});
  }
  std::vector<InPlace> all;
  for (const InPlace& pair : (*kernel)->in_place()) {
    if (std::none_of(all.begin(), all.end(), [&](const InPlace& other) {
          return other.result == pair.result || other.operand == pair.operand;
        }))
      all.push_back(pair);
  }
  if (divides || all.size() > 1)
    expect_same({.in_place = all, .ranges = random_ranges(random, (*kernel)->units())});
  if ((*kernel)->summands() == 1) return;
  for (const std::vector<InPlace>& in_place : {std::vector<InPlace>(), all}) {
    std::vector<UnitRange> summands = random_ranges(random, (*kernel)->summands());
    std::ranges::sort(summands, {}, &UnitRange::begin);
    const auto found = run_kernel(**kernel, signature, each.operands,
                                  {.in_place = in_place, .summands = summands}, kernels.shift);
    ASSERT_TRUE(found) << found.error().message;
    for (std::size_t i = 0; i < found->size(); ++i)
      expect_close((*found)[i], (*expected)[i], each, std::string(names[i]) + " in parts");
  }
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
