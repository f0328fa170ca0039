#include "profiler/cupti/cupti_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/profiler/cupti/nvtx_variable.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

std::string loading_fails_with(const std::vector<std::string>& libraries) {
  const auto loaded = load_cupti(libraries);
  if (loaded) return "";
  EXPECT_EQ(loaded.error().code, ErrorCode::unavailable);
  return loaded.error().message;
}

TEST(CuptiLibrary, SaysThatItIsMissing) {
  EXPECT_THAT(loading_fails_with({}), HasSubstr("its library was not found"));
  EXPECT_THAT(loading_fails_with({"libno-such-cupti.so"}),
              AllOf(HasSubstr("libno-such-cupti.so"), HasSubstr("LD_LIBRARY_PATH"),
                    EndsWith("profiling goes on at the host level")));
}

TEST(CuptiLibrary, NamesAFunctionThatALibraryLacks) {
  EXPECT_THAT(loading_fails_with({"libm.so.6"}), HasSubstr("has no function cuptiGetVersion"));
}

TEST(CuptiLibrary, LeavesNvtxToWhomeverItWasGiven) {
  const NvtxVariable set("/some/other/tool.so");
  EXPECT_EQ(give_nvtx_to_cupti(default_cupti_libraries()), "/some/other/tool.so");
  EXPECT_STREQ(std::getenv(NvtxVariable::kName), "/some/other/tool.so");
}

TEST(CuptiLibrary, GivesNvtxToNobodyWithoutALibrary) {
  const NvtxVariable empty("");
  EXPECT_EQ(give_nvtx_to_cupti(std::vector<std::string>{"libno-such-cupti.so"}), "");
  EXPECT_STREQ(std::getenv(NvtxVariable::kName), "");
}

}  // namespace
}  // namespace hocket
