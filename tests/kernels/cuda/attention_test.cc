#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "tests/kernels/cuda/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

struct AttentionSizes {
  std::int64_t batch, groups, heads, rows, columns, width, value_width;
};

void expect_attention(CudaKernels& kernels, Random& random, const AttentionSizes& sizes,
                      const Attributes& attributes) {
  const Numbers queries =
      random_numbers(random, {sizes.batch, sizes.heads, sizes.rows, sizes.width});
  const Numbers keys =
      random_numbers(random, {sizes.batch, sizes.groups, sizes.columns, sizes.width});
  const Numbers values =
      random_numbers(random, {sizes.batch, sizes.groups, sizes.columns, sizes.value_width});
  // Scores of this many terms are rounded, and with them the exponentials; a gradient is the sum
  // over the rows of all heads, or over the columns.
  const double score = 4 * std::sqrt(static_cast<double>(sizes.width)) + 4;
  OperationCase forward{Kind::attention, {queries, keys, values}, attributes, 2 * score};
  forward.narrow_magnitude = 2;  // shares
  const auto y = results(Kind::attention, {queries, keys, values}, attributes);
  const Numbers dy = random_numbers(random, y[0].type.shape);
  OperationCase backward{Kind::attention_gradient,
                         {queries, keys, values, y[0], y[1], dy},
                         attributes,
                         score * score * static_cast<double>(sizes.value_width + 4)};
  // Shares and slopes, and what is rounded in y.
  backward.narrow_magnitude =
      16 * static_cast<double>(sizes.value_width) + static_cast<double>(sizes.heads);
  for (const OperationCase& each : {forward, backward}) {
    expect_as_interpreted(kernels, each, random);
    expect_as_interpreted(kernels, in_bfloat16(each), random);
  }
}

/// Attention by the interpreter, as one kernel for some shapes.
class HostAttention final : public FusedAttention {
 public:
  class Plan final : public FusedAttentionPlan {
   public:
    explicit Plan(const FusedAttentionShape& shape) : shape_(shape) {}
    std::int64_t forward_workspace_bytes() const override { return 3; }
    std::int64_t backward_workspace_bytes() const override { return 5; }
    Result<void> forward(const FusedInputs& inputs, float* log_sums, void* y, void* workspace,
                         const DeviceTask&) const override {
      std::fill_n(checked(workspace), 3, std::byte{1});
      const auto made = results(Kind::attention, read(inputs), attributes());
      write_numbers(made[0], y);
      write_numbers(made[1], log_sums);
      return {};
    }
    Result<void> backward(const FusedInputs& inputs, const float* log_sums, const void* y,
                          const void* dy, const FusedGradients& gradients, void* workspace,
                          const DeviceTask&) const override {
      std::fill_n(checked(workspace), 5, std::byte{1});
      std::vector<Numbers> operands = read(inputs);
      operands.push_back(read_narrow(y));
      operands.push_back(read_numbers(
          {NumberType::float32, {shape_.batch(), shape_.heads(), shape_.positions()}}, log_sums));
      operands.push_back(read_narrow(dy));
      const auto made = results(Kind::attention_gradient, operands, attributes());
      write_numbers(made[0], gradients.queries);
      write_numbers(made[1], gradients.keys);
      write_numbers(made[2], gradients.values);
      return {};
    }

   private:
    static std::byte* checked(void* workspace) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(workspace) % 256, 0U);
      return static_cast<std::byte*>(workspace);
    }
    Attributes attributes() const {
      return {{"causal", shape_.is_causal}, {"scale", static_cast<double>(shape_.scale)}};
    }
    Numbers read_narrow(const void* from) const {
      const auto& extents = shape_.inputs.extents;
      return read_numbers({NumberType::bfloat16, {extents.begin(), extents.end()}}, from);
    }
    std::vector<Numbers> read(const FusedInputs& inputs) const {
      return {read_narrow(inputs.queries), read_narrow(inputs.keys), read_narrow(inputs.values)};
    }

    const FusedAttentionShape shape_;
  };

  Result<std::shared_ptr<const FusedAttentionPlan>> prepare(
      const FusedAttentionShape& shape) override {
    EXPECT_TRUE(shape.keeps_order);
    if (shape.width() == 7) return failure(ErrorCode::unavailable, "no kernel for a width of 7");
    ++prepared;
    return std::make_shared<const Plan>(shape);
  }

  int prepared = 0;
};

// One kernel serves bfloat16 with as many keys as queries, as wide as values.
TEST(CudaAttention, IsOneKernelWhereThereIsOne) {
  const DeviceTask task = tested_task();
  const RunningDeviceTask running(task);
  Random random(3);
  HostAttention attention;
  CudaKernels kernels(1 << 20, &attention);
  const auto compare = [&](const AttentionSizes& sizes, bool is_narrow) {
    const Numbers queries =
        random_numbers(random, {sizes.batch, sizes.heads, sizes.rows, sizes.width});
    const Numbers keys =
        random_numbers(random, {sizes.batch, sizes.groups, sizes.columns, sizes.width});
    const Attributes attributes{{"causal", true}};
    OperationCase forward{Kind::attention, {queries, keys, keys}, attributes, 30, 2};
    const auto y = results(Kind::attention, forward.operands, attributes);
    OperationCase backward{
        Kind::attention_gradient, {queries, keys, keys, y[0], y[1], y[0]}, attributes, 1000, 200};
    for (OperationCase each : {forward, backward}) {
      if (is_narrow) each = in_bfloat16(each);
      expect_as_interpreted({kernels.table, KernelDevice::cuda}, each, random);
    }
  };
  compare({2, 3, 3, 5, 5, 8, 8}, true);
  EXPECT_EQ(attention.prepared, 2);
  // Heads that share keys.
  compare({2, 2, 4, 5, 5, 8, 8}, true);
  compare({1, 1, 6, 3, 3, 8, 8}, true);
  EXPECT_EQ(attention.prepared, 6);
  EXPECT_EQ(kernels.products.multiplied, 0);
  // Float32, and more keys than queries.
  compare({2, 3, 3, 5, 5, 8, 8}, false);
  compare({2, 3, 3, 5, 6, 8, 8}, true);
  EXPECT_EQ(attention.prepared, 6);
  EXPECT_GT(kernels.products.multiplied, 0);
  EXPECT_EQ(kernels.warnings.size(), 0U);
  compare({1, 1, 1, 5, 5, 7, 7}, true);
  EXPECT_EQ(kernels.warnings,
            std::vector<std::string>{"attention is made of products: no kernel for a width of 7"});
}

AttentionSizes random_attention_sizes(Random& random) {
  const auto some = [&] { return random_between(random, 1, 3); };
  const std::int64_t groups = some(), rows = random_size(random, 9);
  return {some(),
          groups,
          groups * some(),
          rows,
          rows + some() - 1,
          random_size(random, 9),
          random_size(random, 9)};
}

TEST(CudaAttention, OfAnyShapes) {
  for (std::uint64_t seed = 0; seed < rounds(30); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    expect_attention(cuda_kernels(), random, random_attention_sizes(random),
                     {{"causal", random() % 2 == 0}, {"scale", random() % 2 == 0 ? 0 : 0.7}});
  }
}

// Scores of a few groups, and of some rows of one, at a time.
TEST(CudaAttention, InLittleMemory) {
  for (std::uint64_t seed = 0; seed < rounds(30); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    CudaKernels kernels(random_between(random, 1, 400));
    expect_attention(kernels, random, random_attention_sizes(random),
                     {{"causal", random() % 2 == 0}});
  }
}

TEST(CudaAttention, SeesFewerColumnsThanThereAreRows) {
  Random random(1);
  expect_attention(cuda_kernels(), random, {2, 1, 2, 40, 5, 4, 3}, {});
}

// More columns than a warp has lanes.
TEST(CudaAttention, OfManyColumns) {
  Random random(2);
  expect_attention(cuda_kernels(), random, {1, 1, 2, 70, 70, 8, 8}, {{"causal", true}});
}

TEST(CudaAttention, ScratchIsBounded) {
  CudaKernels kernels(std::int64_t{1} << 20);
  const auto scratch = [&](std::int64_t heads, std::int64_t rows) {
    const Numbers x{{NumberType::float32, {1, heads, rows, 4}}, {}};
    const KernelSignature signature = signature_of({Kind::attention, {x, x, x}});
    return kernels.table.make(signature, KernelDevice::cuda).value()->scratch_bytes();
  };
  EXPECT_EQ(scratch(1, 256), 256 * 256 * 4);
  EXPECT_EQ(scratch(64, 256), 1 << 20);
  EXPECT_EQ(scratch(64, 4096), 1 << 20);
}

}  // namespace
}  // namespace hocket
