#include "kernels/cuda/cudnn/cudnn_graph.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string_view>

#include "kernels/cuda/cudnn/attention_graph.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// An H200 in cuDNN's description format.
constexpr std::string_view kDevice = R"({
  "cudaDeviceId": 0, "deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000,
  "isTccDriver": 0, "l2CacheSize": 62914560, "maxBlockSize": [1024, 1024, 64], "maxCtasPerSM": 32,
  "maxGridSize": [2147483647, 65535, 65535], "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "memClockRateKHz": 3201000,
  "multiProcessorCount": 132, "pciDeviceId": 0, "regsPerBlock": 65536,
  "reservedSharedMemoryPerBlock": 1024, "smClockRateKHz": 1980000, "supportCoopLaunch": 1,
  "totalGlobalMem": 150000000000, "warpSize": 32
})";

/// Rows of the heads one after the other in a row of all queries, keys and values, as in GPT-2.
FusedAttentionShape packed(std::int64_t batch, std::int64_t heads, std::int64_t positions,
                           std::int64_t width) {
  const auto layout = [&](std::int64_t row) {
    return HeadsLayout{.extents = {batch, heads, positions, width},
                       .strides = {positions * row, width, row, 1}};
  };
  return {.inputs = layout(3 * heads * width), .outputs = layout(heads * width), .is_causal = true};
}

FusedAttentionShape dense(std::int64_t batch, std::int64_t heads, std::int64_t positions,
                          std::int64_t width, bool is_causal) {
  const HeadsLayout layout = dense_heads(batch, heads, positions, width);
  return {.inputs = layout, .outputs = layout, .is_causal = is_causal};
}

/// Makes plans for kDevice, which need not exist.
class CudnnGraphTest : public testing::Test {
 protected:
  void SetUp() override {
    // Loaded before cuDNN looks for the driver by this name.
    ASSERT_TRUE(dlopen(HOCKET_LOADS_ANY_MODULE, RTLD_NOW | RTLD_GLOBAL)) << dlerror();
    const auto loaded = load_cudnn();
    ASSERT_TRUE(loaded) << loaded.error().message;
    CudnnDescriptorBuilder builder(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    auto properties =
        builder.set_all(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::span<const char>(kDevice))
            .finalize();
    ASSERT_TRUE(properties) << properties.error().message;
    properties_ = std::move(*properties);
  }

  Result<CudnnPlan> plan_forward(const FusedAttentionShape& shape) {
    CudnnGraph graph;
    add_attention_forward(shape, graph);
    return make_plan(graph, {.properties = &properties_});
  }
  Result<CudnnPlan> plan_backward(const FusedAttentionShape& shape, GradientSums sums) {
    CudnnGraph graph;
    add_attention_backward(shape, sums, graph);
    return make_plan(graph, {.properties = &properties_});
  }

 private:
  CudnnDescriptor properties_;
};

TEST_F(CudnnGraphTest, CompilesAttentionForADeviceThatIsDescribed) {
  for (const FusedAttentionShape& shape :
       {packed(1, 12, 1024, 64), packed(16, 12, 1024, 64), packed(3, 2, 37, 16),
        dense(4, 12, 1024, 64, true), dense(1, 8, 2048, 128, true), dense(2, 4, 256, 64, false)}) {
    SCOPED_TRACE(testing::Message() << shape.batch() << " × " << shape.positions());
    const auto forward = plan_forward(shape);
    const auto ordered = plan_backward(shape, GradientSums::ordered);
    const auto unordered = plan_backward(shape, GradientSums::unordered);
    ASSERT_TRUE(forward) << forward.error().message;
    ASSERT_TRUE(ordered) << ordered.error().message;
    ASSERT_TRUE(unordered) << unordered.error().message;
    // A fused kernel stores no weights, except for ordered sums, in bfloat16.
    const std::int64_t weights_bytes =
        2 * shape.batch() * shape.heads() * shape.positions() * shape.positions();
    EXPECT_LT(forward->workspace_bytes, weights_bytes);
    EXPECT_LT(unordered->workspace_bytes, weights_bytes);
    EXPECT_GE(ordered->workspace_bytes, weights_bytes);
  }
}

TEST_F(CudnnGraphTest, RunsNothingWithoutAHandle) {
  const auto plan = plan_forward(packed(2, 2, 64, 32));
  ASSERT_TRUE(plan) << plan.error().message;
  int memory = 0;
  const auto ran = run_plan(nullptr, *plan, {{attention_tensor::query, &memory}}, &memory);
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, StartsWith("cudnnBackendExecute: CUDNN_STATUS_BAD_PARAM"));
}

TEST_F(CudnnGraphTest, SaysThatThereIsNoKernel) {
  // The rows are misaligned for the loads of all kernels.
  const FusedAttentionShape narrow = packed(2, 2, 64, 4);
  for (const auto& plan : {plan_forward(narrow), plan_backward(narrow, GradientSums::ordered)}) {
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::unavailable);
    EXPECT_THAT(plan.error().message, HasSubstr("cuDNN"));
  }
}

TEST_F(CudnnGraphTest, KeepsItsFirstErrorInCudnnsWords) {
  CudnnGraph graph;
  const HeadsLayout none = {.extents = {1, 1, 0, 1}, .strides = {1, 1, 1, 1}};
  const auto bad = graph.memory(1, none, CUDNN_DATA_BFLOAT16);
  graph.multiply(bad, bad, bad);
  const auto finished = graph.finish({});
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::unavailable);
  EXPECT_THAT(finished.error().message, HasSubstr("CUDNN_STATUS_BAD_PARAM"));
}

TEST(CudnnDescriptorBuilder, RefusesAnAttributeOfAnotherDescriptor) {
  CudnnDescriptorBuilder builder(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  builder.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  const auto finished = builder.finalize();
  ASSERT_FALSE(finished);
  EXPECT_THAT(finished.error().message, HasSubstr("cudnnBackendSetAttribute"));
  EXPECT_THAT(finished.error().message, HasSubstr("CUDNN_STATUS"));
}

}  // namespace
}  // namespace hocket
