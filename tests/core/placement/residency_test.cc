#include "core/placement/residency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/core/placement/placed_model.h"
#include "tests/rounds.h"

namespace hocket::placement {
namespace {

std::vector<Residency> of_item(const Residencies& found, std::uint32_t item) {
  std::vector<Residency> its;
  std::ranges::copy_if(found.all, std::back_inserter(its),
                       [&](const Residency& each) { return each.data == item; });
  return its;
}

TEST(Residencies, FollowALayerThroughTheStep) {
  const StepToPlace step = step_of({.layers = 4});
  // Tasks: forward 0 to 3, loss, then backward and update of 3, 2, 1 and 0.
  const auto found =
      find_residencies(step, {.device_memory_bytes = 1, .offload_k = 1, .prefetch_layers = 1})
          .value();
  const auto item = [](int layer, std::uint32_t which) {
    return static_cast<std::uint32_t>(2 + 4 * layer) + which;
  };
  EXPECT_EQ(
      of_item(found, item(0, 0)),
      (std::vector<Residency>{{.data = item(0, 0), .first = 0, .last = 12, .is_permanent = true}}));
  EXPECT_EQ(of_item(found, item(1, 0)),
            (std::vector<Residency>{
                {.data = item(1, 0), .first = 1, .last = 1, .earliest = 0, .is_fetched = true},
                {.data = item(1, 0), .first = 9, .last = 9, .earliest = 7, .is_fetched = true}}));
  EXPECT_EQ(of_item(found, item(3, 0)),
            (std::vector<Residency>{
                {.data = item(3, 0), .first = 3, .last = 5, .earliest = 2, .is_fetched = true}}));
  EXPECT_TRUE(of_item(found, item(1, 1)).empty()) << "the state stays on the host";
  // The activation of layer 1, from its forward to its backward pass.
  EXPECT_EQ(of_item(found, item(1, 3)),
            (std::vector<Residency>{{.data = item(1, 3), .first = 1, .last = 9, .earliest = 1}}));
}

TEST(Residencies, ItemsOfATaskAreThereAndStaysOfAnItemFollowEachOther) {
  for (std::uint64_t seed = 0; seed < rounds(500); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepToPlace step = random_step(random);
    const auto found =
        find_residencies(step, {.device_memory_bytes = 1,
                                .offload_k = static_cast<std::int64_t>(random() % 5),
                                .prefetch_layers = static_cast<std::int64_t>(random() % 4)});
    if (!found) continue;
    for (std::uint32_t task = 0; task < step.tasks.size(); ++task) {
      for (std::size_t i = 0; i < step.tasks[task].accesses.size(); ++i) {
        const std::uint32_t used = found->used[task][i];
        const std::uint32_t data = step.tasks[task].accesses[i].data.index;
        const bool is_there =
            found->site[task] == PlacementSite::device && step.data[data].bytes > 0;
        ASSERT_EQ(used != kNoResidency, is_there);
        if (!is_there) continue;
        EXPECT_EQ(found->all[used].data, data);
        EXPECT_LE(found->all[used].first, task);
        EXPECT_GE(found->all[used].last, task);
      }
    }
    for (std::uint32_t item = 0; item < step.data.size(); ++item) {
      const auto its = of_item(*found, item);
      for (std::size_t i = 0; i < its.size(); ++i) {
        EXPECT_LE(its[i].earliest, its[i].first);
        if (i > 0) {
          EXPECT_LT(its[i - 1].last, its[i].earliest);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hocket::placement
