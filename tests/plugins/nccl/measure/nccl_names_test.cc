#include "plugins/nccl/measure/nccl_names.h"

#include <gtest/gtest.h>

#include <limits>

#include "plugins/nccl/measure/measured_collective.h"

namespace hocket::nccl::measure {
namespace {

TEST(NcclNames, AreReadInEveryWriting) {
  EXPECT_EQ(function_of("Broadcast"), 0);
  EXPECT_EQ(function_of("Reduce"), 1);
  EXPECT_EQ(function_of("AllGather"), 2);
  EXPECT_EQ(function_of("ReduceScatter"), 3);
  EXPECT_EQ(function_of("AllReduce"), 4);
  EXPECT_EQ(algorithm_of("TREE"), 0);
  EXPECT_EQ(algorithm_of("Ring"), 1);
  EXPECT_EQ(algorithm_of("COLLNET_DIRECT"), 2);
  EXPECT_EQ(algorithm_of("CollNetChain"), 3);
  EXPECT_EQ(algorithm_of("NVLS"), 4);
  EXPECT_EQ(algorithm_of("NVLS_TREE"), 5);
  EXPECT_EQ(algorithm_of("PAT"), 6);
  EXPECT_EQ(protocol_of("LL"), 0);
  EXPECT_EQ(protocol_of("LL128"), 1);
  EXPECT_EQ(protocol_of("SIMPLE"), 2);
}

TEST(NcclNames, OthersAreUnknown) {
  for (const char* name : {"", "L", "LL1", "LL1280", "AllReduces", "SendRecv", "_"}) {
    EXPECT_EQ(function_of(name), kUnknown) << name;
    EXPECT_EQ(algorithm_of(name), kUnknown) << name;
    EXPECT_EQ(protocol_of(name), kUnknown) << name;
    EXPECT_EQ(bytes_of_datatype(name), 0) << name;
  }
  EXPECT_EQ(function_of(nullptr), kUnknown);
  EXPECT_EQ(algorithm_of(nullptr), kUnknown);
  EXPECT_EQ(protocol_of(nullptr), kUnknown);
  EXPECT_EQ(bytes_of_datatype(nullptr), 0);
}

TEST(NcclNames, SizesOfElements) {
  EXPECT_EQ(bytes_of_datatype("ncclInt8"), 1);
  EXPECT_EQ(bytes_of_datatype("ncclUint8"), 1);
  EXPECT_EQ(bytes_of_datatype("ncclBfloat16"), 2);
  EXPECT_EQ(bytes_of_datatype("ncclFloat16"), 2);
  EXPECT_EQ(bytes_of_datatype("ncclFloat32"), 4);
  EXPECT_EQ(bytes_of_datatype("ncclFloat64"), 8);
  EXPECT_EQ(bytes_of_datatype("ncclUint64"), 8);
  EXPECT_EQ(bytes_of_datatype("ncclFloat8e5m2"), 1);
  EXPECT_EQ(bytes_of_datatype("float32"), 4);
}

TEST(NcclNames, SizesAreThoseThatATunerIsTold) {
  EXPECT_EQ(collective_bytes(4, 1000, 4, 8), 4000U);
  EXPECT_EQ(collective_bytes(0, 1000, 4, 8), 4000U);
  EXPECT_EQ(collective_bytes(2, 1000, 4, 8), 32000U);
  EXPECT_EQ(collective_bytes(3, 1000, 2, 8), 16000U);
  EXPECT_EQ(collective_bytes(2, 1000, 4, 0), 4000U);
  EXPECT_EQ(collective_bytes(kUnknown, 1000, 0, 8), 0U);
  const auto most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(collective_bytes(4, most / 2, 4, 8), most);
  EXPECT_EQ(collective_bytes(2, most / 4, 4, 8), most);
}

}  // namespace
}  // namespace hocket::nccl::measure
