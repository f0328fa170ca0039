#include "core/scheduler/whole_step_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/collective/part_sizes.h"

namespace hocket {
namespace {

std::shared_ptr<const CapturedStep> random_step(std::mt19937_64& random) {
  std::vector<CapturedStep::Task> tasks(1 + random() % 40);
  for (auto& task : tasks) {
    task.priority = static_cast<std::uint32_t>(random() % 6);
    task.is_collective = random() % 3 == 0;
    if (task.is_collective) {
      task.bytes = static_cast<std::int64_t>(random() % 1000) * 4;
      task.accesses = {update(DataId{static_cast<std::uint32_t>(random() % 8)})};
      continue;
    }
    for (auto n = random() % 4; n > 0; --n) {
      task.accesses.push_back({DataId{static_cast<std::uint32_t>(random() % 8)},
                               static_cast<AccessMode>(random() % 3)});
    }
  }
  return std::make_shared<const CapturedStep>(std::move(tasks));
}

/// Returns whether a task must come after an earlier one.
bool conflict(const CapturedStep::Task& a, const CapturedStep::Task& b) {
  return std::ranges::any_of(a.accesses, [&](const Access& x) {
    return std::ranges::any_of(b.accesses, [&](const Access& y) {
      return x.data == y.data && (x.mode != AccessMode::read || y.mode != AccessMode::read);
    });
  });
}

/// Returns the collectives of a step in the order of their parts, numbered among collectives.
std::vector<std::uint32_t> part_order(const CapturedStep& step,
                                      const std::vector<StepEntry>& sequence) {
  std::vector<std::uint32_t> numbers(step.size()), order;
  std::uint32_t collectives = 0;
  for (std::uint32_t i = 0; i < step.size(); ++i)
    if (step.task(i).is_collective) numbers[i] = collectives++;
  for (const StepEntry& entry : sequence)
    if (entry.is_part) order.push_back(numbers[entry.task]);
  return order;
}

/// Expects each task once, each collective in all its parts, and every entry after all that it
/// conflicts with.
void expect_complete(const CapturedStep& step, const PlanOptions& options,
                     const std::vector<StepEntry>& sequence) {
  constexpr std::size_t kNever = ~std::size_t{0};
  std::vector<std::size_t> first(step.size(), kNever), last(step.size(), kNever);
  std::vector<std::int64_t> bytes(step.size()), parts(step.size());
  std::uint64_t part = 0;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    const StepEntry& entry = sequence[i];
    EXPECT_EQ(entry.is_part, step.task(entry.task).is_collective);
    if (first[entry.task] == kNever) first[entry.task] = i;
    last[entry.task] = i;
    ++parts[entry.task];
    if (!entry.is_part) continue;
    EXPECT_EQ(entry.part, part++);
    EXPECT_EQ(entry.offset_bytes, bytes[entry.task]);
    bytes[entry.task] += entry.bytes;
  }
  for (std::uint32_t task = 0; task < step.size(); ++task) {
    const bool is_collective = step.task(task).is_collective;
    EXPECT_EQ(bytes[task], step.task(task).bytes);
    EXPECT_EQ(parts[task],
              is_collective ? part_count(step.task(task).bytes, options.partition_bytes) : 1);
    for (std::uint32_t before = 0; before < task; ++before) {
      if (conflict(step.task(before), step.task(task))) {
        EXPECT_LT(last[before], first[task]) << before << " before " << task;
      }
    }
  }
}

/// Expects the parts not known to have ended to fit into the window, or to be a single part.
void expect_within_window(const PlanOptions& options, const std::vector<StepEntry>& sequence) {
  std::vector<std::int64_t> bytes;
  std::uint64_t ended = 0;
  for (const StepEntry& entry : sequence) {
    if (!entry.is_part) continue;
    const std::uint64_t now = entry.after_part ? *entry.after_part + 1 : 0;
    EXPECT_GE(now, ended) << "what has ended stays so";
    ended = now;
    bytes.push_back(entry.bytes);
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(ended);
    std::int64_t in_flight = 0;
    for (auto part = begin; part != bytes.end(); ++part) in_flight += *part;
    EXPECT_TRUE(in_flight <= options.credit_bytes || bytes.end() - begin == 1);
    // Expects that no part waits unnecessarily.
    if (ended > 0 && bytes.end() - begin > 1) {
      EXPECT_GT(in_flight + bytes[ended - 1], options.credit_bytes);
    }
  }
}

TEST(StepSequence, RandomStepsAreWholeInOrderAndWithinTheWindow) {
  for (std::uint64_t seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto step = random_step(random);
    PlanOptions options{.partition_bytes = std::int64_t{256} << random() % 4,
                        .credit_bytes = std::int64_t{256} << random() % 6,
                        .order = random() % 2 == 0 ? PartOrder::fifo : PartOrder::priority};
    const auto sequence = sequence_of(step, options, {});
    expect_complete(*step, options, sequence);
    expect_within_window(options, sequence);
    const auto order = part_order(*step, sequence);
    if (options.order == PartOrder::fifo) {
      EXPECT_TRUE(std::ranges::is_sorted(order));
    }
    // A given order is followed, with a different window as well.
    options.order = PartOrder::announced;
    options.credit_bytes = std::int64_t{256} << random() % 6;
    const auto followed = sequence_of(step, options, order);
    expect_complete(*step, options, followed);
    expect_within_window(options, followed);
    EXPECT_EQ(part_order(*step, followed), order);
  }
}

}  // namespace
}  // namespace hocket
