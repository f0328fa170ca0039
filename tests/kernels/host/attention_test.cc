#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/host/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

struct AttentionSizes {
  std::int64_t batch, groups, heads, rows, columns, width, value_width;
};

void expect_attention(Random& random, const AttentionSizes& sizes, const Attributes& attributes) {
  const Numbers queries =
      random_numbers(random, {sizes.batch, sizes.heads, sizes.rows, sizes.width});
  const Numbers keys =
      random_numbers(random, {sizes.batch, sizes.groups, sizes.columns, sizes.width});
  const Numbers values =
      random_numbers(random, {sizes.batch, sizes.groups, sizes.columns, sizes.value_width});
  // Scores of this many terms are rounded, and with them the exponentials; a gradient is the sum
  // over the rows of all heads, or over the columns.
  const double score = 4 * std::sqrt(static_cast<double>(sizes.width)) + 4;
  expect_as_interpreted({Kind::attention, {queries, keys, values}, attributes, 2 * score}, random);
  const auto y = results(Kind::attention, {queries, keys, values}, attributes);
  const Numbers dy = random_numbers(random, y[0].type.shape);
  expect_as_interpreted({Kind::attention_gradient,
                         {queries, keys, values, y[0], y[1], dy},
                         attributes,
                         score * score * static_cast<double>(sizes.value_width + 4)},
                        random);
}

TEST(HostAttention, OfAnyShapes) {
  for (std::uint64_t seed = 0; seed < rounds(80); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto some = [&] { return random_between(random, 1, 3); };
    const std::int64_t groups = some(), rows = random_size(random, 12);
    const AttentionSizes sizes{some(),
                               groups,
                               groups * some(),
                               rows,
                               rows + some() - 1,
                               random_size(random, 9),
                               random_size(random, 9)};
    expect_attention(random, sizes,
                     {{"causal", random() % 2 == 0}, {"scale", random() % 2 == 0 ? 0 : 0.7}});
  }
}

TEST(HostAttention, SeesFewerColumnsThanThereAreRows) {
  Random random(1);
  expect_attention(random, {2, 1, 2, 70, 5, 4, 3}, {});
}

// Several blocks of rows, the last one smaller.
TEST(HostAttention, OfManyRows) {
  Random random(2);
  for (const bool is_causal : {false, true}) {
    expect_attention(random, {1, 1, 2, 150, 150, 8, 8}, {{"causal", is_causal}});
    expect_attention(random, {1, 2, 2, 65, 200, 8, 5}, {{"causal", is_causal}});
    expect_attention(random, {1, 1, 1, 128, 128, 8, 8}, {{"causal", is_causal}});
  }
}

TEST(HostAttention, ScratchIsOfSomeRowsAlone) {
  const auto scratch = [](std::int64_t heads, std::int64_t rows) {
    const Numbers x{{NumberType::float32, {1, heads, rows, 4}}, {}};
    const KernelSignature signature = signature_of({Kind::attention, {x, x, x}});
    return host_kernels().make(signature, KernelDevice::host).value()->scratch_bytes();
  };
  EXPECT_EQ(scratch(1, 1024), scratch(64, 1024));
  EXPECT_EQ(scratch(1, 4096), 4 * scratch(1, 1024));
}

}  // namespace
}  // namespace hocket
