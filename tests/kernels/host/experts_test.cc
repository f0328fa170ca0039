#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/host/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using ::testing::HasSubstr;

TEST(HostExperts, GiveWhatTheInterpreterGives) {
  for (std::uint64_t seed = 0; seed < rounds(150); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::int64_t rows = random_size(random, 20), choices = random_between(random, 1, 3);
    const std::int64_t experts = random_between(random, 1, 6), width = random_size(random, 20);
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

TEST(HostExperts, RefuseWhatThereIsNot) {
  Random random(1);
  const Numbers x = random_numbers(random, {2, 3}), slots = random_numbers(random, {4, 2, 3});
  const Numbers weights = random_numbers(random, {2, 1});
  const Attributes attributes{{"expert_count", std::int64_t{4}}, {"capacity", std::int64_t{2}}};
  const Numbers experts = whole({2, 1}, {3, 0}), places = whole({2, 1}, {-1, 1});
  for (const double wrong : {-2.0, 4.0, 2e9, -2e9}) {
    const Numbers wrong_one = whole({2, 1}, {3, wrong});
    EXPECT_THAT(kernel_error({Kind::dispatch, {x, wrong_one}, attributes}),
                HasSubstr("experts: expected numbers from 0 to 3, found"));
    for (const bool of_places : {false, true}) {
      const Numbers& e = of_places ? experts : wrong_one;
      const Numbers& p = of_places ? whole({2, 1}, {0, wrong}) : places;
      const std::string expected = of_places ? "places: expected numbers from -1 to 1, found"
                                             : "experts: expected numbers from 0 to 3, found";
      EXPECT_THAT(kernel_error({Kind::dispatch_gradient, {e, p, slots}}), HasSubstr(expected));
      EXPECT_THAT(kernel_error({Kind::combine, {slots, e, p, weights}}), HasSubstr(expected));
      EXPECT_THAT(kernel_error({Kind::combine_gradient, {slots, e, p, weights, x}}),
                  HasSubstr(expected));
    }
  }
}

}  // namespace
}  // namespace hocket
