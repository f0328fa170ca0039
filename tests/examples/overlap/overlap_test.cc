// Tests the example as a user would start it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/examples/gpt2/run_job.h"

namespace hocket {
namespace {

TEST(Overlap, TrainsTwiceAndPrintsBothTimes) {
  const auto process = run_command({HOCKET_BIN "/overlap"}, {}, {});
  EXPECT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
  EXPECT_THAT(process.stdout_text, testing::MatchesRegex("in order: +[0-9.]+ ms an iteration\n"
                                                         "overlapped: +[0-9.]+ ms an iteration\n"
                                                         "ratio: +[0-9.]+\n"));
  EXPECT_EQ(process.stderr_text, "");
}

}  // namespace
}  // namespace hocket
