#include "profiler/cupti/kernel_name.h"

#include <cupti.h>
#include <gtest/gtest.h>

#include <set>

namespace hocket {
namespace {

TEST(KernelName, WritesSymbolsAsInTheSource) {
  EXPECT_EQ(kernel_name("_Z4gemmPfi"), "gemm(float*, int)");
  EXPECT_EQ(kernel_name("ncclDevKernel_AllReduce"), "ncclDevKernel_AllReduce");
  EXPECT_EQ(kernel_name("_Znot a symbol"), "_Znot a symbol");
  EXPECT_EQ(kernel_name("a"), "a");
  EXPECT_EQ(kernel_name(""), "kernel without a name");
  EXPECT_EQ(kernel_name(nullptr), "kernel without a name");
}

TEST(KernelName, TellsCopiesOverheadAndWaitsApart) {
  EXPECT_EQ(std::set({copy_name(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD),
                      copy_name(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH),
                      copy_name(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD),
                      copy_name(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP), copy_name(1000)})
                .size(),
            5u);
  EXPECT_EQ(overhead_name(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH),
            "CUPTI overhead: buffer flush");
  EXPECT_EQ(overhead_name(12345), "CUPTI overhead");
  EXPECT_EQ(synchronization_name(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT),
            "stream waits for event");
  EXPECT_EQ(synchronization_name(12345), "synchronisation");
}

}  // namespace
}  // namespace hocket
