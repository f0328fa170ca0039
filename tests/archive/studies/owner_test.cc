#include "archive/studies/owner.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hocket {
namespace {

HostView host_with(std::optional<std::string> start_time) {
  return {"node7", "boot-a",
          [start_time](const std::string& pid) { return pid == "42" ? start_time : std::nullopt; }};
}

TEST(Owner, IsJudgedByHostBootAndStart) {
  const auto host = host_with("1000");
  EXPECT_EQ(owner_state("42@node7 boot-a/1000", host), OwnerState::alive);
  EXPECT_EQ(owner_state("42@node7 boot-a/999", host), OwnerState::gone);   // process id reused
  EXPECT_EQ(owner_state("43@node7 boot-a/1000", host), OwnerState::gone);  // no such process
  EXPECT_EQ(owner_state("42@node7 boot-b/1000", host), OwnerState::gone);  // the host was restarted
  EXPECT_EQ(owner_state("42@node8 boot-a/1000", host), OwnerState::unknown);
  EXPECT_EQ(owner_state("42@node7 boot-a/1000", host_with(std::nullopt)), OwnerState::gone);
}

TEST(Owner, IsUnknownWhenItCannotBeRead) {
  const auto host = host_with("1000");
  for (const auto* text : {"", "42", "42@node7", "42@node7 boot-a", "@node7 boot-a/1000",
                           "x@node7 boot-a/1000", "../42@node7 boot-a/1000", " /@", "/ @"}) {
    EXPECT_EQ(owner_state(text, host), OwnerState::unknown) << text;
  }
}

TEST(Owner, HasAHost) {
  EXPECT_EQ(owner_host("42@node7 boot-a/1000"), "node7");
  EXPECT_EQ(owner_host(owner_text()), this_host().name);
  for (const auto* text : {"", "42", "42@node7", "42@node7 boot-a", "/ @", "workers"}) {
    EXPECT_EQ(owner_host(text), "") << text;
  }
}

TEST(Owner, ThisProcessIsAlive) {
  EXPECT_EQ(owner_state(owner_text(), this_host()), OwnerState::alive);
}

TEST(Owner, AProcessThatEndedIsGoneEvenBeforeItsParentLooks) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(this_host().start_time(std::to_string(pid)));
  waitpid(pid, nullptr, 0);
  EXPECT_FALSE(this_host().start_time(std::to_string(pid)));
}

}  // namespace
}  // namespace hocket
