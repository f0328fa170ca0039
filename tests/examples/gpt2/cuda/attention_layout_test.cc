#include "examples/gpt2/cuda/attention_layout.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace hocket {
namespace {

using Index = std::array<std::int64_t, 4>;

const AttentionShape kShapes[] = {{1, 1, 1, 1}, {2, 5, 3, 12}, {3, 4, 1, 8}, {1, 7, 4, 4}};

std::int64_t offset(const HeadsLayout& layout, const Index& index) {
  std::int64_t sum = 0;
  for (std::size_t axis = 0; axis < 4; ++axis) sum += index[axis] * layout.strides[axis];
  return sum;
}

void for_each_index(const HeadsLayout& layout, const std::function<void(const Index&)>& body) {
  const auto& size = layout.extents;
  Index i;
  for (i[0] = 0; i[0] < size[0]; ++i[0])
    for (i[1] = 0; i[1] < size[1]; ++i[1])
      for (i[2] = 0; i[2] < size[2]; ++i[2])
        for (i[3] = 0; i[3] < size[3]; ++i[3]) body(i);
}

/// Returns the offsets of all elements and checks that each occurs once.
std::set<std::int64_t> offsets(const HeadsLayout& layout, std::int64_t first = 0) {
  std::set<std::int64_t> all;
  for_each_index(layout, [&](const Index& index) {
    EXPECT_TRUE(all.insert(first + offset(layout, index)).second);
  });
  return all;
}

std::set<std::int64_t> up_to(std::int64_t size) {
  std::set<std::int64_t> all;
  for (std::int64_t i = 0; i < size; ++i) all.insert(i);
  return all;
}

TEST(AttentionLayout, QueriesKeysAndValuesAreAllOfQkv) {
  for (const AttentionShape& shape : kShapes) {
    std::set<std::int64_t> all;
    for (int part = 0; part < 3; ++part)
      all.merge(offsets(qkv_layout(shape), part * qkv_part_elements(shape)));
    EXPECT_EQ(all, up_to(std::int64_t{3} * shape.batch * shape.sequence * shape.width));
  }
}

TEST(AttentionLayout, WhatIsNotOfQkvIsDense) {
  for (const AttentionShape& shape : kShapes) {
    const std::int64_t rows = std::int64_t{1} * shape.batch * shape.sequence;
    EXPECT_EQ(offsets(output_layout(shape)), up_to(rows * shape.width));
    EXPECT_EQ(offsets(statistics_layout(shape)), up_to(rows * shape.heads));
    EXPECT_EQ(offsets(weights_layout(shape)), up_to(rows * shape.heads * shape.sequence));
  }
}

TEST(AttentionLayout, ARowHasItsHeadsOneAfterTheOther) {
  for (const AttentionShape& shape : kShapes) {
    const std::int64_t head_width = shape.width / shape.heads;
    for_each_index(output_layout(shape), [&](const Index& i) {
      const std::int64_t row = i[0] * shape.sequence + i[2];
      const std::int64_t column = i[1] * head_width + i[3];
      EXPECT_EQ(offset(output_layout(shape), i), row * shape.width + column);
      EXPECT_EQ(offset(qkv_layout(shape), i), row * 3 * shape.width + column);
    });
  }
}

TEST(AttentionLayout, TransposedIsTheSameMemory) {
  for (const AttentionShape& shape : kShapes) {
    const HeadsLayout layout = qkv_layout(shape), exchanged = transposed(layout);
    EXPECT_EQ(transposed(exchanged), layout);
    for_each_index(layout, [&](const Index& i) {
      EXPECT_EQ(offset(exchanged, {i[0], i[1], i[3], i[2]}), offset(layout, i));
    });
  }
}

TEST(AttentionLayout, OffsetsOfLargeShapesDoNotOverflow) {
  const AttentionShape shape{.batch = 1024, .sequence = 8192, .heads = 128, .width = 16384};
  EXPECT_EQ(qkv_layout(shape).strides[0] * shape.batch, std::int64_t{3} << (10 + 13 + 14));
  EXPECT_EQ(weights_layout(shape).strides[0], std::int64_t{1} << (7 + 13 + 13));
}

TEST(AttentionLayout, RefusesWhatIsNoShape) {
  for (const AttentionShape& shape : kShapes) EXPECT_TRUE(validate(shape));
  for (const AttentionShape& shape :
       {AttentionShape{0, 1, 1, 1}, AttentionShape{1, 0, 1, 1}, AttentionShape{1, 1, 0, 1},
        AttentionShape{1, 1, 1, 0}, AttentionShape{1, 1, 3, 4}, AttentionShape{1, 1, -1, 4}}) {
    const auto refused = validate(shape);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace hocket
