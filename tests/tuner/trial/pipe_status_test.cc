#include "tuner/trial/pipe_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/clock.h"
#include "tuner/trial/process.h"

namespace hocket {
namespace {

int status_of(const std::vector<std::string>& words) {
  const CancelToken cancel;
  const SteadyClock clock;
  ProcessOptions process;
  process.argv = with_pipe_status(words);
  const auto result = run_process(process, clock, cancel);
  return result ? result->exit_status : -1;
}

TEST(PipeStatus, IsThatOfTheCommandThatFailed) {
  EXPECT_EQ(status_of({"bash", "-c", "(echo x; exit 3) 2>&1 | cat"}), 3);
  EXPECT_EQ(status_of({"env", "A=1", "/bin/bash", "-euc", "(exit 4) | cat | cat"}), 4);
  EXPECT_EQ(status_of({"bash", "-o", "nounset", "-c", "(exit 5) | cat # log"}), 5);
  EXPECT_EQ(status_of({"bash", "-c", "(exit 6) | cat", "name", "argument"}), 6);
}

TEST(PipeStatus, OfACommandThatWorksIsItsOwn) {
  EXPECT_EQ(status_of({"bash", "-c", "echo x | cat"}), 0);
  EXPECT_EQ(status_of({"bash", "-c", "echo x | cat; exit 7"}), 7);
  EXPECT_EQ(status_of({"bash", "-c", "echo x | cat; (exit 8)"}), 8);
  EXPECT_EQ(status_of({"bash", "-c", "yes | head -n 1"}), 0) << "nobody reads on";
  EXPECT_EQ(status_of({"bash", "-c", "(exit 3) || cat"}), 0);
}

TEST(PipeStatus, ChangesNoOtherCommand) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"sh", "-c", "a | b"},
                                                {"bash", "-c", "a || b"},
                                                {"bash", "a.sh"},
                                                {"bash", "-c"},
                                                {"python3", "bash", "x"},
                                                {}}) {
    EXPECT_EQ(with_pipe_status(words), words);
  }
}

}  // namespace
}  // namespace hocket
