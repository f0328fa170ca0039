#include "cli/process/nccl_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/client/environment.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Variables = std::map<std::string, std::string>;

class NcclEnvironment : public ::testing::Test {
 protected:
  NcclEnvironment() {
    std::filesystem::create_directories(folder_.file("a/lib"));
    for (const char* name : {"libnccl-tuner-hocket.so", "libnccl-profiler-hocket.so"})
      folder_.write(std::string("a/lib/") + name, "");
  }

  Result<Variables> variables(const NcclSettings& settings, const Variables& environment) const {
    return nccl_environment(settings, folder_.file("a/bin/hocket"),
                            hocket::environment(environment));
  }

  TemporaryFolder folder_;
};

TEST_F(NcclEnvironment, NcclFindsThePluginBesideTheProgram) {
  const std::string lib = folder_.file("a/lib");
  EXPECT_THAT(
      variables({}, {}).value(),
      UnorderedElementsAre(Pair("NCCL_TUNER_PLUGIN", "hocket"),
                           Pair("NCCL_PROFILER_PLUGIN", "hocket"), Pair("LD_LIBRARY_PATH", lib)));
  EXPECT_EQ(variables({}, {{"LD_LIBRARY_PATH", "/x"}}).value()["LD_LIBRARY_PATH"], lib + ":/x");
  EXPECT_EQ(variables({}, {{"LD_LIBRARY_PATH", ""}}).value()["LD_LIBRARY_PATH"], lib);
}

TEST_F(NcclEnvironment, OptionsBecomeVariables) {
  const auto all = variables({.daemon = "http://h:1", .explore = 0.05}, {}).value();
  EXPECT_EQ(all.at("HOCKET_DAEMON"), "http://h:1");
  EXPECT_EQ(all.at("HOCKET_NCCL_EXPLORE"), "0.05");
}

TEST_F(NcclEnvironment, APluginThatIsReplacedIsCalledByOurs) {
  const auto other = variables({}, {{"NCCL_TUNER_PLUGIN", "aws-ofi"}}).value();
  EXPECT_EQ(other.at("HOCKET_NCCL_TUNER_CHAIN"), "aws-ofi");
  EXPECT_EQ(other.count("HOCKET_NCCL_PROFILER_CHAIN"), 0u);
  const auto own = variables({}, {{"NCCL_TUNER_PLUGIN", "hocket"}}).value();
  EXPECT_EQ(own.count("HOCKET_NCCL_TUNER_CHAIN"), 0u);
  const Variables chosen = {{"NCCL_TUNER_PLUGIN", "aws-ofi"}, {"HOCKET_NCCL_TUNER_CHAIN", "none"}};
  EXPECT_EQ(variables({}, chosen).value().count("HOCKET_NCCL_TUNER_CHAIN"), 0u);
}

TEST_F(NcclEnvironment, AMissingPluginIsAnErrorThatNamesThePlaces) {
  std::filesystem::remove(folder_.file("a/lib/libnccl-profiler-hocket.so"));
  const auto missing = variables({}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr(folder_.file("a/lib")));
}

TEST(NcclFile, KeepsItsLinesAndGetsThoseThatItLacks) {
  const Variables wanted = {{"NCCL_TUNER_PLUGIN", "hocket"}, {"NCCL_PROFILER_PLUGIN", "hocket"}};
  EXPECT_EQ(with_variables("", wanted).value(),
            "NCCL_PROFILER_PLUGIN=hocket\nNCCL_TUNER_PLUGIN=hocket\n");
  const std::string some = "# NCCL_PROFILER_PLUGIN=x\nNCCL_DEBUG=WARN\n NCCL_TUNER_PLUGIN = hocket";
  EXPECT_EQ(with_variables(some, wanted).value(), some + "\nNCCL_PROFILER_PLUGIN=hocket\n");
  const std::string all = with_variables(some, wanted).value();
  EXPECT_EQ(with_variables(all, wanted).value(), all);
}

TEST(NcclFile, AnotherPluginIsNotReplaced) {
  const auto other =
      with_variables("NCCL_TUNER_PLUGIN=aws-ofi\n", {{"NCCL_TUNER_PLUGIN", "hocket"}});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("\"NCCL_TUNER_PLUGIN=aws-ofi\""));
}

}  // namespace
}  // namespace hocket
