#include <algorithm>

#include "examples/gpt2/cuda/kernels.h"
#include "tests/examples/gpt2/cuda/kernel_cases.h"

namespace hocket {
namespace {

class EmbeddingKernels : public KernelTest {};

EmbeddingShape draw_embedding_shape(KernelCase& of) {
  return {.batch = of.integer(1, 4),
          .sequence = of.integer(1, 14),
          .vocabulary = of.integer(1, 60),
          .width = std::min(of.width(), 300)};
}

TEST_F(EmbeddingKernels, Forward) {
  for_kernel_cases([](KernelCase& of) {
    const EmbeddingShape shape = draw_embedding_shape(of);
    const std::size_t width = shape.width;
    const auto tokens = of.tokens(shape.batch * shape.sequence, shape.vocabulary);
    const Vector table = of.normal(shape.vocabulary * width),
                 positions = of.normal(shape.sequence * width);
    Vector expected(tokens.size() * width);
    embedding_forward(shape, tokens, table, positions, expected);
    const DeviceArray token(tokens), token_table(of, table), position_table(of, positions);
    const Vector y = same_each_time([&] {
      const DeviceArray out(of, junk(expected.size()));
      EXPECT_TRUE(kernels::embedding_forward(shape, of.type, token.as<std::int32_t>(),
                                             token_table.data(), position_table.data(), out.data(),
                                             kernel_device()->stream()));
      return out.read();
    });
    EXPECT_EQ(y, rounded(expected, of.type));
  });
}

void expect_embedding_backward(KernelCase& of, const EmbeddingShape& shape,
                               const std::vector<std::int32_t>& tokens) {
  const std::size_t width = shape.width;
  const Vector dy = of.normal(tokens.size() * width),
               before = of.normal_float32(shape.vocabulary * width),
               positions_before = of.normal_float32(shape.sequence * width);
  const DeviceArray token(tokens), gradient(of, dy);
  for (const bool add : {false, true}) {
    SCOPED_TRACE(add ? "added" : "overwritten");
    Vector expected = before, expected_positions = positions_before, positions;
    embedding_backward(shape, tokens, dy, expected, expected_positions, add);
    const Vector dtable = same_each_time([&] {
      const DeviceArray table = float32_array(of, before);
      const DeviceArray position_table =
          float32_array(of, add ? positions_before : junk(positions_before.size()));
      EXPECT_TRUE(kernels::embedding_backward(
          shape, of.type, token.as<std::int32_t>(), gradient.data(), table.as<float>(),
          position_table.as<float>(), add, kernel_device()->stream()));
      positions = position_table.read();
      return table.read();
    });
    expect_close(dtable, expected, ElementType::float32);
    expect_close(positions, expected_positions, ElementType::float32);
  }
}

TEST_F(EmbeddingKernels, Backward) {
  for_kernel_cases([](KernelCase& of) {
    const EmbeddingShape shape = draw_embedding_shape(of);
    expect_embedding_backward(of, shape, of.tokens(shape.batch * shape.sequence, shape.vocabulary));
  });
}

TEST_F(EmbeddingKernels, BackwardWhereAllTokensAreTheSame) {
  for_kernel_cases([](KernelCase& of) {
    const EmbeddingShape shape{
        .batch = 3, .sequence = of.integer(1, 60), .vocabulary = 5, .width = of.integer(1, 20)};
    const auto tokens = std::vector<std::int32_t>(shape.batch * shape.sequence, 4);
    expect_embedding_backward(of, shape, tokens);
  });
}

}  // namespace
}  // namespace hocket
