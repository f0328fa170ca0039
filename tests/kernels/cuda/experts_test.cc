#include <gtest/gtest.h>

#include "tests/kernels/cuda/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

TEST(CudaExperts, GiveWhatTheInterpreterGives) {
  for (std::uint64_t seed = 0; seed < rounds(30); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::int64_t rows = random_size(random, 20), choices = random_between(random, 1, 3);
    const std::int64_t experts = random_between(random, 1, 6),
                       width = seed % 2 == 0 ? 8 * random_between(random, 1, 5)
                                             : random_size(random, 20);
    const std::int64_t capacity = random_between(random, 1, 5);
    const Attributes attributes{{"expert_count", experts}, {"capacity", capacity}};
    const Numbers x = random_numbers(random, {rows, width});
    const Numbers chosen = random_indices(random, {rows, choices}, experts);
    expect_as_interpreted({Kind::dispatch, {x, chosen}, attributes, 0}, random);

    const Numbers places = results(Kind::dispatch, {x, chosen}, attributes)[1];
    const Numbers slots = random_numbers(random, {experts, capacity, width});
    const Numbers weights = random_numbers(random, {rows, choices});
    expect_as_interpreted({Kind::dispatch_gradient, {chosen, places, slots}, {}, 8}, random);
    expect_as_interpreted({Kind::combine, {slots, chosen, places, weights}, {}, 12}, random);
    expect_as_interpreted({Kind::combine_gradient,
                           {slots, chosen, places, weights, random_numbers(random, {rows, width})},
                           {},
                           4.0 * static_cast<double>(width)},
                          random);
  }
}

// More choices than a warp looks at together, for experts that fill up.
TEST(CudaExperts, OfManyRows) {
  Random random(1);
  const Attributes attributes{{"expert_count", std::int64_t{3}}, {"capacity", std::int64_t{40}}};
  const Numbers x = random_numbers(random, {70, 2});
  expect_as_interpreted({Kind::dispatch, {x, random_indices(random, {70, 2}, 3)}, attributes, 0},
                        random);
}

TEST(CudaExperts, LeaveOutWhatThereIsNot) {
  Random random(1);
  const Numbers x = random_numbers(random, {2, 3}), slots = random_numbers(random, {4, 2, 3});
  const Numbers weights = numbers_of({2, 1}, {1, 1}), experts = whole({2, 1}, {3, 0});
  const Attributes attributes{{"expert_count", std::int64_t{4}}, {"capacity", std::int64_t{2}}};
  const auto no_row = [](const Numbers& y) {
    return std::all_of(y.values.begin() + 3, y.values.begin() + 6,
                       [](double each) { return each == 0; });
  };
  for (const double wrong : {-2.0, 4.0, 2e9, -2e9}) {
    const Numbers wrong_one = whole({2, 1}, {3, wrong}), zeros = whole({2, 1}, {0, 0});
    const auto dispatched = cuda_results({Kind::dispatch, {x, wrong_one}, attributes});
    EXPECT_EQ(dispatched[1].values, (std::vector<double>{0, -1}));
    for (const bool of_places : {false, true}) {
      const Numbers& e = of_places ? experts : wrong_one;
      const Numbers& p = of_places ? whole({2, 1}, {0, wrong}) : zeros;
      EXPECT_TRUE(no_row(cuda_results({Kind::dispatch_gradient, {e, p, slots}})[0]));
      EXPECT_TRUE(no_row(cuda_results({Kind::combine, {slots, e, p, weights}})[0]));
      const auto slopes = cuda_results({Kind::combine_gradient, {slots, e, p, weights, x}});
      EXPECT_EQ(slopes[1].values[1], 0);
    }
  }
}

}  // namespace
}  // namespace hocket
