#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/graph/evaluated.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using ::testing::HasSubstr;

Attributes slots_of(std::int64_t experts, std::int64_t capacity) {
  return {{"expert_count", experts}, {"capacity", capacity}};
}

TEST(Dispatch, FillsSlotsInOrderOfRowThenChoice) {
  const Numbers x = numbers_of({3, 1}, {10, 20, 30});
  const Numbers experts = whole({3, 2}, {1, 0, 1, 1, 0, 1});
  const auto y = results(Kind::dispatch, {x, experts}, slots_of(3, 2));
  EXPECT_EQ(y[0], numbers_of({3, 2, 1}, {10, 30, 10, 20, 0, 0}));
  EXPECT_EQ(y[1], whole({3, 2}, {0, 0, 1, -1, 1, -1}));
}

TEST(Combine, AddsWeightedSlots) {
  const Numbers slots = numbers_of({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Numbers experts = whole({2, 2}, {1, 0, 0, 1}), places = whole({2, 2}, {1, 0, -1, 0});
  const Numbers weights = numbers_of({2, 2}, {10, 1, 100, 0.5});
  EXPECT_EQ(result(Kind::combine, {slots, experts, places, weights}),
            numbers_of({2, 2}, {71, 82, 2.5, 3}));
}

struct RandomRouting {
  explicit RandomRouting(std::uint64_t seed) : random(seed) {
    const std::int64_t rows = random_between(random, 1, 8), choices = random_between(random, 1, 3);
    count = random_between(random, 1, 4);
    capacity = random_between(random, 1, 8);
    x = random_numbers(random, {rows, random_between(random, 1, 4)});
    experts = random_indices(random, {rows, choices}, count);
    weights = random_numbers(random, {rows, choices});
    auto sent = results(Kind::dispatch, {x, experts}, slots_of(count, capacity));
    slots = sent[0];
    places = sent[1];
  }

  Random random;
  std::int64_t count = 0, capacity = 0;
  Numbers x, experts, weights, slots, places;
};

TEST(Dispatch, GivesEachRowASlotOfItsOwnUntilTheyAreFull) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    const RandomRouting of(seed);
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(of.count));
    const std::int64_t width = of.x.type.shape[1];
    for (const Shape& index : indices_of(of.experts.type.shape)) {
      const auto expert = static_cast<std::int64_t>(at(of.experts, index));
      const std::int64_t before = chosen[static_cast<std::size_t>(expert)]++;
      EXPECT_EQ(at(of.places, index), before < of.capacity ? static_cast<double>(before) : -1);
      for (std::int64_t j = 0; before < of.capacity && j < width; ++j)
        EXPECT_EQ(at(of.slots, {expert, before, j}), at(of.x, {index[0], j}));
    }
    for (const Shape& slot : indices_of(of.slots.type.shape)) {
      if (slot[1] >= chosen[static_cast<std::size_t>(slot[0])]) {
        EXPECT_EQ(at(of.slots, slot), 0);
      }
    }
  }
}

TEST(Dispatch, GradientIsItsTranspose) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    RandomRouting of(seed);
    const Numbers dslots = random_numbers(of.random, of.slots.type.shape);
    const Numbers dx = result(Kind::dispatch_gradient, {of.experts, of.places, dslots});
    EXPECT_NEAR(inner_product(of.slots, dslots), inner_product(of.x, dx), 1e-10);
  }
}

TEST(Combine, GradientsAreTheTransposesInSlotsAndWeights) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    RandomRouting of(seed);
    const Numbers slots = random_numbers(of.random, of.slots.type.shape);
    const Numbers y = result(Kind::combine, {slots, of.experts, of.places, of.weights});
    const Numbers dy = random_numbers(of.random, y.type.shape);
    const auto gradients =
        results(Kind::combine_gradient, {slots, of.experts, of.places, of.weights, dy});
    // The result is linear in both.
    EXPECT_NEAR(inner_product(y, dy), inner_product(slots, gradients[0]), 1e-10);
    EXPECT_NEAR(inner_product(y, dy), inner_product(of.weights, gradients[1]), 1e-10);
    for (std::size_t i = 0; i < of.places.values.size(); ++i) {
      if (of.places.values[i] < 0) {
        EXPECT_EQ(gradients[1].values[i], 0);
      }
    }
  }
}

TEST(Combine, UndoesDispatchWhereWeightsSumTo1AndAllHaveRoom) {
  Random random(3);
  const Numbers x = random_numbers(random, {6, 3}), experts = random_indices(random, {6, 2}, 4);
  const auto sent = results(Kind::dispatch, {x, experts}, slots_of(4, 12));
  Numbers weights = random_numbers(random, {6, 2}, 0, 1);
  for (std::size_t i = 0; i < 12; i += 2) weights.values[i + 1] = 1 - weights.values[i];
  expect_near(result(Kind::combine, {sent[0], experts, sent[1], weights}), x);
}

TEST(Dispatch, RefusesSlotsThatThereAreNot) {
  const auto error = [](Kind kind, const std::vector<Numbers>& operands,
                        const Attributes& attributes = {}) {
    const auto found = try_operation(kind, operands, attributes);
    return found ? "none" : found.error().message;
  };
  const Numbers x = numbers_of({1, 1}, {1}), slots = numbers_of({2, 3, 1}, {1, 2, 3, 4, 5, 6});
  const Numbers first = whole({1, 1}, {0});
  for (const double wrong : {-1.0, 2.0}) {
    const Numbers none = whole({1, 1}, {wrong});
    EXPECT_THAT(error(Kind::dispatch, {x, none}, slots_of(2, 3)),
                HasSubstr("dispatch: experts: expected numbers from 0 to 1"));
    EXPECT_THAT(error(Kind::dispatch_gradient, {none, first, slots}),
                HasSubstr("experts: expected numbers from 0 to 1"));
    EXPECT_THAT(error(Kind::combine, {slots, none, first, x}), HasSubstr("experts: "));
  }
  for (const double wrong : {-2.0, 3.0}) {
    const Numbers none = whole({1, 1}, {wrong});
    EXPECT_THAT(error(Kind::dispatch_gradient, {first, none, slots}),
                HasSubstr("places: expected numbers from -1 to 2"));
    EXPECT_THAT(error(Kind::combine, {slots, first, none, x}), HasSubstr("places: "));
    EXPECT_THAT(error(Kind::combine_gradient, {slots, first, none, x, x}), HasSubstr("places: "));
  }
}

}  // namespace
}  // namespace hocket
