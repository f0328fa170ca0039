#include "core/trace/collective_name.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace hocket {
namespace {

using Kind = CollectiveKind;
using Source = CommunicationSource;

TEST(CollectiveName, KnowsTheKernelsOfAllVersionsOfNccl) {
  const std::vector<std::pair<std::string, std::optional<Kind>>> kernels = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       Kind::all_reduce},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       Kind::reduce_scatter},
      {"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
       Kind::all_gather},
      {"ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*)", Kind::broadcast},
      {"void ncclAllReduceRingLLKernel_sum_f32(ncclColl)", Kind::all_reduce},
      {"_Z45ncclKernel_AllReduce_RING_LL_Sum_float", Kind::all_reduce},
      {"ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_f32(ncclSymDevArgs)", Kind::all_reduce},
      {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", std::nullopt},
      {"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", std::nullopt},
      {"ncclDevKernel_Reduce_Sum_f32_RING_LL(void*)", std::nullopt},
  };
  for (const auto& [name, kind] : kernels) {
    const auto found = communication_name(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(*found, (CommunicationName{Source::kernel, kind})) << name;
  }
}

TEST(CollectiveName, KnowsTheOperationsOfC10dAndOfItsBackends) {
  const std::vector<std::pair<std::string, CommunicationName>> operations = {
      {"gloo:all_reduce", {Source::backend, Kind::all_reduce}},
      {"nccl:_all_gather_base", {Source::backend, Kind::all_gather}},
      {"nccl:_reduce_scatter_base", {Source::backend, Kind::reduce_scatter}},
      {"nccl:all_to_all", {Source::backend, Kind::all_to_all}},
      {"gloo:broadcast", {Source::backend, Kind::broadcast}},
      {"gloo:send", {Source::backend, std::nullopt}},
      {"c10d::allreduce_", {Source::dispatch, Kind::all_reduce}},
      {"c10d::_allgather_base_", {Source::dispatch, Kind::all_gather}},
      {"c10d::alltoall_base_", {Source::dispatch, Kind::all_to_all}},
      {"_c10d_functional::reduce_scatter_tensor", {Source::dispatch, Kind::reduce_scatter}},
      {"record_param_comms", {Source::dispatch, std::nullopt}},
  };
  for (const auto& [name, expected] : operations) {
    const auto found = communication_name(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(*found, expected) << name;
  }
}

TEST(CollectiveName, TakesNothingElseForCommunication) {
  for (const char* name :
       {"", "aten::add", "gloo::something", "gloo", "volta_sgemm_128x64_nn", "nccl",
        "void reduce_kernel<512, 1, ReduceOp>(ReduceOp)", "my_nccl_helper_Kernel",
        "torch.distributed.ddp.reducer::copy_bucket_to_grad", "_Z", "_Z12",
        "void at::native::f(ncclKernel_AllReduce)", "cudaLaunchKernel"}) {
    EXPECT_FALSE(communication_name(name)) << name;
  }
}

TEST(CollectiveName, ReadsTheProjectsOwnSpellings) {
  for (const CollectiveKind kind : kCollectiveKinds) {
    EXPECT_EQ(spelled_collective(to_string(kind)), kind);
  }
  EXPECT_FALSE(spelled_collective("barrier"));
}

}  // namespace
}  // namespace hocket
