#include "cli/process/demo_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DemoJob : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.file("bin"));
    std::filesystem::create_directories(folder_.file("libexec/hocket"));
  }

  TemporaryFolder folder_;
};

TEST_F(DemoJob, TrainsOnTheDocumentation) {
  const std::string job = folder_.write("libexec/hocket/gpt2", "");
  const auto words = demo_job(folder_.file("bin/hocket"));
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_THAT(*words, ElementsAre(job, "--text", folder_.file("share/doc/hocket/docs")));
}

TEST_F(DemoJob, WhereItIsMissingTheErrorSaysWhatBringsIt) {
  const auto words = demo_job(folder_.file("bin/hocket"));
  ASSERT_FALSE(words);
  EXPECT_EQ(words.error().code, ErrorCode::not_found);
  EXPECT_THAT(words.error().message, HasSubstr(folder_.file("libexec/hocket/gpt2")));
  EXPECT_THAT(words.error().message, HasSubstr("pip install hocket"));
}

}  // namespace
}  // namespace hocket
