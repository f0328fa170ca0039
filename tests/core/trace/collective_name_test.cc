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
      {"ncclSymkDevKernel_AllGather_LLMC(ncclSymkDevWorkArgs4K)", Kind::all_gather},
      {"ncclDevFunc_SendRecv", std::nullopt},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", std::nullopt},
  };
  for (const auto& [name, kind] : kernels) {
    const auto found = communication_name(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(*found, (CommunicationName{Source::kernel, kind})) << name;
  }
}

TEST(CollectiveName, KnowsTheKernelsOfOtherLibrariesAndFrameworks) {
  const std::vector<std::pair<std::string, std::optional<Kind>>> kernels = {
      {"void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)", std::nullopt},
      {"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", std::nullopt},
      {"mscclKernel_Sum_float_Simple_LL(ncclDevComm*, mscclAlgo*)", std::nullopt},
      {"oneccl_allreduce_small_sycl", Kind::all_reduce},
      {"void c10d::symmetric_memory::(anonymous namespace)::two_shot_all_reduce_kernel<float>(f)",
       Kind::all_reduce},
      {"void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)", Kind::all_reduce},
      {"one_shot_all_reduce_kernel", Kind::all_reduce},
      {"void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)", Kind::all_reduce},
      {"void sglang::cross_device_reduce_2stage<float, 2>(sglang::RankData*)", Kind::all_reduce},
      {"void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8>(AllReduceParams)",
       Kind::all_reduce},
  };
  for (const auto& [name, kind] : kernels) {
    const auto found = communication_name(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(*found, (CommunicationName{Source::kernel, kind})) << name;
  }
}

TEST(CollectiveName, KnowsExpertParallelismBesideNccl) {
  const std::vector<std::pair<std::string, std::optional<Kind>>> kernels = {
      {"void deep_ep::internode::dispatch<false, 2, false, 16>(int4*, float*, long*)",
       Kind::all_to_all},
      {"void deep_ep::internode::combine<false, 2, __nv_bfloat16, 6>(int4*, float*)",
       Kind::all_to_all},
      {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", Kind::all_to_all},
      {"void deep_ep::internode_ll::combine<true, 7168, 9>(void*)", Kind::all_to_all},
      {"_ZN7deep_ep9intranode7combineI13__nv_bfloat16Li8ELi768ELi4096EEEvPT_", Kind::all_to_all},
      {"void deep_ep::internode::notify_dispatch<false, 2>(int const*)", std::nullopt},
      {"void deep_ep::intranode::cached_notify_combine<8>(void**, int*)", std::nullopt},
      {"deep_ep::internode::cached_notify<false>(int)", std::nullopt},
      {"void dpsk::ep::internode::dispatch<false, 8, true, 8>(int4*, float*)", Kind::all_to_all},
      {"void dpsk::ep::internode::combine<false, 8, __nv_bfloat16, 8>(int4*)", Kind::all_to_all},
      {"void dpsk::ep::internode::notify_dispatch<false, 8>(int const*)", std::nullopt},
      {"void my::deep_ep::intranode::dispatch<1>()", Kind::all_to_all},
      {"void hybrid_ep::dispatch_kernel<float>(int)", Kind::all_to_all},
      {"mori::moe::EpCombineIntraNodeKernel<float>", Kind::all_to_all},
      {"void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<4>(P)", Kind::all_to_all},
  };
  for (const auto& [name, kind] : kernels) {
    const auto found = communication_name(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(*found, (CommunicationName{Source::kernel, kind})) << name;
  }
  for (const char* name :
       {"triton_fused_dispatch_mask_kernel", "void deep_ep::layout::get_dispatch_layout<256>(long)",
        "void dpsk::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*)", "moe_dispatch_kernel",
        "combine", "void my::internode::dispatch<1>()",
        "void gemm<deep_ep::internode::dispatch>(int)"}) {
    EXPECT_FALSE(communication_name(name)) << name;
  }
}

TEST(CollectiveName, KnowsKernelsOverTheMemoryOfOtherDevices) {
  const std::vector<std::pair<std::string, std::optional<Kind>>> kernels = {
      {"void nvshmemi_alltoall_on_stream_kernel<long>(int)", Kind::all_to_all},
      {"nvshmemi_barrier_all_on_stream_kernel(int)", std::nullopt},
      {"void c10d::nvshmem_extension::(anonymous namespace)::allToAllV<true>(void*)",
       Kind::all_to_all},
      {"void c10d::symmetric_memory::(anonymous namespace)::barrier_kernel<2>(unsigned int**)",
       std::nullopt},
      {"_ZN4c10d16symmetric_memory53_GLOBAL__N__2b8a5d0a_22_CUDASymmetricMemory_cu_0123456"
       "26multimem_all_gather_kernelILi16EEEvPc",
       Kind::all_gather},
      {"multimem_all_reduce_", Kind::all_reduce},
      {"multimem_reduce_scatter", Kind::reduce_scatter},
      {"void multimem_one_shot_reduce_kernel<float>(float*)", std::nullopt},
      {"void mscclpp::executionKernel<__half>(int)", std::nullopt},
      {"void mscclpp::collective::allreducePacket<float>(float*)", Kind::all_reduce},
      {"void oneapi::ccl::v1::allgather_kernel(int)", Kind::all_gather},
      {"hcom_allReduce__503_96_1", Kind::all_reduce},
      {"hcom_reduceScatter__503_96_1", Kind::reduce_scatter},
      {"HcclAlltoAllv", Kind::all_to_all},
      {"userbuffers_pushsend", std::nullopt},
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
      {"nccl:recv", {Source::backend, std::nullopt}},
      {"nccl:coalesced", {Source::backend, std::nullopt}},
      {"nccl:_broadcast_oop", {Source::backend, Kind::broadcast}},
      {"hccl:allgather", {Source::backend, Kind::all_gather}},
      {"c10d::send", {Source::dispatch, std::nullopt}},
      {"c10d::recv_", {Source::dispatch, std::nullopt}},
      {"symm_mem::one_shot_all_reduce", {Source::dispatch, Kind::all_reduce}},
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
        "void at::native::reduce_kernel<512, 1>(all_reduce)", "my_all_reduce_kernels_setup",
        "one_shot_all_reduce", "void at::native::f(ncclKernel_AllReduce)", "cudaLaunchKernel"}) {
    EXPECT_FALSE(communication_name(name)) << name;
  }
}

TEST(CollectiveName, ReadsTheProjectsOwnSpellings) {
  for (const CollectiveKind kind : kCollectiveKinds) {
    if (kind == Kind::shift) continue;
    EXPECT_EQ(spelled_collective(to_string(kind)), kind);
  }
  EXPECT_FALSE(spelled_collective("bitwise_left_shift")) << "a word of other programs";
  EXPECT_FALSE(spelled_collective("barrier"));
}

TEST(CollectiveName, ReadsTheKindOfAMessageWhereItIsOne) {
  for (const char* name : {"send", "isend", "gloo:send", "nccl:send 0->1", "c10d::send"})
    EXPECT_EQ(spelled_message(name), Kind::send) << name;
  for (const char* name : {"recv", "irecv", "receive", "nccl:recv 12<-3", "c10d::recv_",
                           "c10d::recv_any_source_", "gloo:recvAnySource"})
    EXPECT_EQ(spelled_message(name), Kind::receive) << name;
  for (const char* name : {"", ":", "batch_isend_irecv", "nccl:coalesced", "coalesced", "sendrecv",
                           "nccl:all_to_all", "send_recv", "sender"})
    EXPECT_FALSE(spelled_message(name)) << name;
  EXPECT_TRUE(names_messages("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"));
  EXPECT_TRUE(names_messages("gloo:recv"));
  EXPECT_FALSE(names_messages("ncclDevKernel_AllReduce_Sum_f32_RING_LL(SendRecv)"));
}

}  // namespace
}  // namespace hocket
