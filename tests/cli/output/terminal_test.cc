// Tests `hocket top` on a pseudo-terminal, and its output without a terminal.

#include "cli/output/terminal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/inputs/access/daemon_access.h"
#include "core/protocol/job_message.h"
#include "tests/daemon/running_daemon.h"
#include "tests/reserved_port.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// `hocket ARGUMENTS…` on a terminal of its own.
class OnTerminal {
 public:
  OnTerminal(std::vector<std::string> arguments, unsigned short columns) {
    arguments.insert(arguments.begin(), HOCKET_PROGRAM);
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    winsize size = size_of(columns);
    pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ != 0) return;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
    close_range(3, ~0u, 0);  // closes the daemon's sockets, which would otherwise stay open
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~OnTerminal() {
    if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
    close(terminal_);
  }

  void resize(unsigned short columns) const {
    const winsize size = size_of(columns);
    ioctl(terminal_, TIOCSWINSZ, &size);
  }
  void type(char key) const { EXPECT_EQ(::write(terminal_, &key, 1), 1); }

  /// Reads until `text` was shown, and drops the output up to it. Returns false at the end of the
  /// output.
  bool await(const std::string& text) {
    for (;;) {
      if (const auto at = shown.find(text); at != std::string::npos) {
        shown.erase(0, at + text.size());
        return true;
      }
      if (!read_some()) return false;
    }
  }

  /// Reads to the end, and returns the exit status.
  int wait() {
    while (read_some()) {
    }
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string shown;

 private:
  static winsize size_of(unsigned short columns) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = 24;
    return size;
  }
  bool read_some() {
    char bytes[4096];
    for (;;) {
      const auto count = ::read(terminal_, bytes, sizeof bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      shown.append(bytes, static_cast<std::size_t>(count));
      return true;
    }
  }

  int terminal_ = -1;
  pid_t pid_ = -1;
};

struct Printed {
  int status = 0;
  std::string out;  ///< stdout and stderr
};

/// Runs `hocket ARGUMENTS` on a pipe. Uses popen() instead of fork(), because this process has
/// threads.
Printed run(const std::string& arguments) {
  const std::string command = std::string(HOCKET_PROGRAM) + " " + arguments + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  Printed printed;
  char bytes[4096];
  while (const auto count = fread(bytes, 1, sizeof bytes, pipe)) printed.out.append(bytes, count);
  printed.status = WEXITSTATUS(pclose(pipe));
  return printed;
}

/// A daemon with one job.
class TopTest : public ::testing::Test {
 protected:
  std::string start_daemon() {
    daemon_.emplace(*store_);
    HttpClient client({.address = must(parse_daemon_address(daemon_->url()))});
    JobDescription job{.id = "job-1", .name = "gpt2-6x256"};
    job.topology.world_size = 8;
    job.workload.name = "gpt2";
    must(ask_daemon(client, "POST", "/v1/jobs", to_json(job)));
    const JobReport report{
        .job = "job-1",
        .step = 40,
        .iteration_ns = {8'000'000},
        .activity = JobActivity{.exposed_ns = 2'000'000, .lanes = {{TraceKind::compute, 0, 0.9}}}};
    must(ask_daemon(client, "POST", "/v1/reports", to_json(report)));
    return daemon_->url();
  }

  std::unique_ptr<Store> store_ = open_store_in_memory();
  std::optional<RunningDaemon> daemon_;
};

TEST_F(TopTest, DrawsOnATerminalAndLeavesItAsItWas) {
  const auto url = start_daemon();
  OnTerminal top({"top", "--daemon", url, "--interval", "100ms"}, 80);
  ASSERT_TRUE(top.await("\033[?1049h\033[?25l")) << top.shown;
  ASSERT_TRUE(top.await("gpt2-6x256")) << top.shown;
  ASSERT_TRUE(top.await("8.0 ms   25.0 %  █")) << top.shown;
  daemon_.reset();
  ASSERT_TRUE(top.await("no answer for ")) << "it goes on asking: " << top.shown;
  ASSERT_TRUE(top.await("gpt2-6x256")) << "with what was known";
  top.type('\x03');
  EXPECT_EQ(top.wait(), 130);
  EXPECT_TRUE(top.shown.ends_with("\033[?25h\033[?1049l")) << top.shown;
}

TEST_F(TopTest, FollowsTheSizeOfTheTerminalAtOnce) {
  OnTerminal top({"top", "--daemon", start_daemon(), "--interval", "1h"}, 80);
  ASSERT_TRUE(top.await("version  last change")) << top.shown;
  top.resize(40);
  ASSERT_TRUE(top.await("exposed\033[K")) << "no other column fits: " << top.shown;
  top.type('\x03');
  EXPECT_EQ(top.wait(), 130);
}

TEST_F(TopTest, OnAPipeThereAreTablesWithoutEscapes) {
  const auto url = start_daemon();
  const auto printed = run("top --once --daemon " + url);
  EXPECT_EQ(printed.status, 0) << printed.out;
  EXPECT_THAT(printed.out, HasSubstr("gpt2-6x256 (away)      8    40     8.0 ms   25.0 %"));
  EXPECT_THAT(printed.out, HasSubstr("last push: none\n"));
  EXPECT_THAT(printed.out, Not(HasSubstr("\033")));
  const auto cut = run("top --interval 100ms --daemon " + url + " | head -n 9");
  EXPECT_THAT(cut.out, Not(HasSubstr("\033"))) << "it ends with who reads it";
  const auto twice = run("top --count 2 --interval 100ms --daemon " + url);
  EXPECT_EQ(twice.status, 0) << twice.out;
  EXPECT_NE(twice.out.find("hocket top"), twice.out.rfind("hocket top"));
  EXPECT_THAT(twice.out, Not(HasSubstr("\033")));
}

TEST_F(TopTest, WithoutADaemonItSaysSoAndKeepsAsking) {
  const ReservedPort port;
  const std::string url = port.url();
  const auto once = run("top --once --daemon " + url);
  EXPECT_EQ(once.status, 1);
  EXPECT_THAT(once.out, HasSubstr(url.substr(7)));
  const auto twice = run("top --count 2 --interval 100ms --daemon " + url);
  EXPECT_EQ(twice.status, 0);
  EXPECT_THAT(twice.out, ContainsRegex("no answer for [0-9]+ s, asking again: "));
  for (const std::string wrong : {"0s", "2h", "x", "50ms"}) {
    const auto refused = run("top --interval " + wrong + " --daemon " + url);
    EXPECT_EQ(refused.status, 2) << wrong;
    EXPECT_THAT(refused.out, HasSubstr("--interval"));
  }
}

}  // namespace
}  // namespace hocket
