#include "kernels/cuda/cuda_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/passes.h"
#include "models/models.h"
#include "tests/kernels/cuda/compared.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using ::testing::Contains;

TEST(CudaKernels, HaveFloat32ForEachKind) {
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const auto kind = static_cast<Kind>(i);
    if (kind == Kind::input || kind == Kind::parameter) continue;  // nothing is computed
    if (is_of_ranks(kind)) continue;
    EXPECT_THAT(cuda_kernels().table.types(kind, KernelDevice::cuda), Contains(KernelTypes()))
        << to_string(kind);
  }
}

TEST(CudaKernels, SayWhichTypesTheyLack) {
  const ValueType narrow{NumberType::float16, {4, 8}};
  const auto error =
      cuda_kernels().table.find({Kind::softmax, {}, {narrow}, {narrow}}, KernelDevice::cuda);
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().message,
            "softmax of float16[4, 8] has no kernel on a CUDA device, where there are those for "
            "float32, bfloat16; convert its operands");
}

// All models with all passes: products and what surrounds them in bfloat16, their derivatives, and
// an optimiser.
TEST(CudaKernels, AreThereForModelsInBfloat16) {
  PassOptions options;
  options.precision.computes = NumberType::bfloat16;
  options.optimiser.method = OptimiserMethod::adamw;
  for (const Model& model : models()) {
    SCOPED_TRACE(model.name);
    const auto graph = model.build({});
    ASSERT_TRUE(graph) << graph.error().message;
    const auto passed = run_passes(*graph, graph_passes().back().name, options);
    ASSERT_TRUE(passed) << passed.error().message;
    for (const Operation& operation : passed->operations()) {
      if (!operation.name.empty()) continue;
      const auto found =
          cuda_kernels().table.make(signature_of(*passed, operation), KernelDevice::cuda);
      EXPECT_TRUE(found) << words_of(operation) << ": " << found.error().message;
    }
  }
}

}  // namespace
}  // namespace hocket
