// Tests what `hocket doctor` says of a GPU and the libraries for it.

#include "cli/checks/gpu_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::optional<ProbedLibrary> first_of(std::span<const std::string> candidates) {
  return ProbedLibrary{candidates.front(), std::nullopt};
}

std::optional<ProbedLibrary> none_of(std::span<const std::string>) {
  return std::nullopt;
}

std::vector<CheckState> states(const std::vector<DoctorCheck>& checks) {
  std::vector<CheckState> all;
  for (const DoctorCheck& check : checks) all.push_back(check.state);
  return all;
}

TEST(GpuLibraries, AreAskedForByTheNamesOfTheToolkit) {
  std::vector<std::string> asked;
  const auto probe = [&](std::span<const std::string> candidates) {
    asked.push_back(candidates.front());
    return first_of(candidates);
  };
  const auto checks = check_gpu_libraries({.toolkit = 13, .accelerators = {"NVIDIA H200"}}, probe);
  EXPECT_THAT(asked, ElementsAre("libcuda.so.1", "libnccl.so.2", "libcublasLt.so.13",
                                 "libcudnn.so.9", "libcupti.so.13"));
  EXPECT_EQ(std::ranges::count(states(checks), CheckState::ok), 5);
  EXPECT_EQ(checks[0].found, "NVIDIA H200");
}

TEST(GpuLibraries, SayWhereTheyWereLookedFor) {
  const auto checks = check_gpu_libraries({.toolkit = 13, .accelerators = {}}, none_of);
  ASSERT_THAT(checks, SizeIs(5));
  for (const DoctorCheck& check : checks) {
    EXPECT_EQ(check.state, CheckState::missing) << check.what;
    EXPECT_NE(check.remedy, "") << check.what;
  }
  EXPECT_THAT(checks[2].found, HasSubstr("libnccl.so.2 is not among the loader's"));
  EXPECT_THAT(checks[2].remedy, AllOf(HasSubstr("NCCL 2"), HasSubstr("LD_LIBRARY_PATH")));
}

TEST(GpuLibraries, SayWhatADriverWithoutAGpuMeans) {
  EXPECT_EQ(check_gpu_libraries({.toolkit = 13, .accelerators = {}}, first_of)[0].state,
            CheckState::note);
  const auto without =
      check_gpu_libraries({.toolkit = 13, .accelerators = {"NVIDIA A100"}}, none_of);
  EXPECT_EQ(without[0].state, CheckState::missing);
  EXPECT_THAT(without[0].found, HasSubstr("NVIDIA A100, but libcuda.so.1"));
}

TEST(GpuLibraries, OfABuildWithoutCudaAreWhatJobsOnNcclNeed) {
  const auto checks =
      check_gpu_libraries({.toolkit = 0, .accelerators = {"NVIDIA H200"}}, first_of);
  EXPECT_THAT(states(checks), ElementsAre(CheckState::ok, CheckState::note, CheckState::ok));
  EXPECT_EQ(checks[0].found, "NVIDIA H200");
  EXPECT_EQ(checks[2].what, "NCCL");
}

}  // namespace
}  // namespace hocket
