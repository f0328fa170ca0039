#include "tuner/trial/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/temporary_folder.h"
#include "tuner/trial/process/process_table.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// A clock that stands still until run_out().
class HeldClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now_ns_; }
  void sleep_until_ns(std::int64_t) const override {}
  void run_out() { now_ns_ = INT64_MAX / 2; }

 private:
  std::atomic<std::int64_t> now_ns_{0};
};

ProcessOptions shell(const std::string& script) {
  ProcessOptions options;
  options.argv = {"sh", "-c", script};
  options.grace_ns = 50'000'000;
  return options;
}

Result<ProcessResult> run(const ProcessOptions& options) {
  return run_process(options, SteadyClock(), CancelToken());
}

bool is_alive(pid_t pid) {
  return kill(pid, 0) == 0 || errno != ESRCH;
}

/// A named pipe through which a command reports the processes it has started.
class Fifo {
 public:
  explicit Fifo(std::string path) : path_(std::move(path)) { mkfifo(path_.c_str(), 0600); }

  /// Blocks until `count` process ids have been written, one per line.
  std::vector<pid_t> read_pids(std::size_t count) {
    std::ifstream stream(path_);
    std::vector<pid_t> pids;
    for (pid_t pid = 0; pids.size() < count && stream >> pid;) pids.push_back(pid);
    return pids;
  }

 private:
  std::string path_;
};

/// Starts three processes besides the shell: one in its own session, one forked twice there, one
/// that ignores SIGTERM. Each writes its id to $FIFO once it is in that state.
constexpr const char* kTree =
    "exec 3>\"$FIFO\"\n"
    "setsid sh -c 'echo $$ >&3; exec sleep 1000' &\n"
    "(setsid sh -c 'sh -c \"echo \\$\\$ >&3; exec sleep 1000\" & exit 0' &)\n"
    "sh -c 'trap \"\" TERM; echo $$ >&3; while :; do sleep 1000; done' &\n";

TEST(Process, ReturnsStatusAndBothStreams) {
  const auto result = run(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_status, 3);
  EXPECT_EQ(result->signal, 0);
  EXPECT_EQ(result->stdout_text, "out\n");
  EXPECT_EQ(result->stderr_text, "err\n");
  EXPECT_GT(result->wall_ns, 0);
  EXPECT_FALSE(result->succeeded());
  EXPECT_EQ(describe_end(*result), "exit status 3");
}

TEST(Process, ReturnsTheSignal) {
  const auto result = run(shell("kill -ABRT $$"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->signal, SIGABRT);
  EXPECT_FALSE(result->succeeded());
  EXPECT_EQ(describe_end(*result), "signal 6 (SIGABRT)");
}

TEST(Process, PassesEnvironmentFolderAndNoInput) {
  const TemporaryFolder folder;
  auto options = shell("echo \"$HOCKET_TEST_A,$HOME\"; pwd -P; cat; ls /proc/self/fd | wc -l");
  options.environment = {{"HOCKET_TEST_A", "x y=z"}, {"HOME", "/nowhere"}};
  options.working_directory = folder.path();
  const auto result = run(options);
  ASSERT_TRUE(result);
  // stdin, stdout, stderr and the descriptor that ls opens: no descriptor of this process leaks.
  EXPECT_EQ(result->stdout_text,
            "x y=z,/nowhere\n" + std::filesystem::canonical(folder.path()).string() + "\n4\n");
}

TEST(Process, StartsWithSignalsAsByDefault) {
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  const auto result = run(shell("grep -E 'Sig(Blk|Ign)' /proc/self/status; exit 4"));
  sigaction(SIGCHLD, &before, nullptr);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_status, 4);
  EXPECT_EQ(result->stdout_text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(Process, NamesACommandThatCannotBeStarted) {
  const TemporaryFolder folder;
  const auto problem = [](const ProcessOptions& options) {
    const auto result = run(options);
    if (result) return std::string("started");
    EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
    return result.error().message;
  };
  ProcessOptions options;
  EXPECT_EQ(problem(options), "cannot start a command without a name");
  options.argv = {"no-such-program-here", "x"};
  EXPECT_EQ(problem(options), "cannot start no-such-program-here: No such file or directory");
  options.argv = {folder.write("plain", "text")};
  EXPECT_EQ(problem(options), "cannot start " + folder.file("plain") + ": Permission denied");
  options = shell("true");
  options.working_directory = folder.file("gone");
  EXPECT_EQ(problem(options), "cannot start sh: working directory " + folder.file("gone") +
                                  ": No such file or directory");
}

TEST(Process, KeepsTheHeadAndTheTailOfLongOutput) {
  auto options = shell("echo first; seq 100000; echo last");
  options.output_limit_bytes = 1000;
  const auto result = run(options);
  ASSERT_TRUE(result);
  const std::string& text = result->stdout_text;
  EXPECT_TRUE(text.starts_with("first\n1\n2\n"));
  EXPECT_TRUE(text.ends_with("100000\nlast\n"));
  // seq writes 588,895 bytes, the two words 11.
  EXPECT_THAT(text, HasSubstr("\n[587906 bytes left out]\n"));
  EXPECT_LT(text.size(), 1100u);

  options.output_limit_bytes = 2 << 20;
  EXPECT_EQ(run(options)->stdout_text.size(), 588'906u);
}

TEST(Process, CancelEndsTheWholeTree) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("fifo"));
  auto options = shell(std::string(kTree) + "wait");
  options.environment["FIFO"] = folder.file("fifo");
  CancelToken cancel;
  std::vector<pid_t> pids;
  std::thread canceller([&] {
    pids = fifo.read_pids(3);
    for (const pid_t pid : pids) EXPECT_TRUE(is_alive(pid));
    cancel.cancel();
  });
  const auto result = run_process(options, SteadyClock(), cancel);
  canceller.join();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->cancelled);
  EXPECT_FALSE(result->timed_out);
  ASSERT_EQ(pids.size(), 3u);
  for (const pid_t pid : pids) EXPECT_FALSE(is_alive(pid));
}

TEST(Process, TimeLimitEndsTheWholeTree) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("fifo"));
  auto options = shell(std::string(kTree) + "trap '' TERM; echo $$ >&3; while :; do wait; done");
  options.environment["FIFO"] = folder.file("fifo");
  options.time_limit_ns = 20'000'000;
  HeldClock clock;
  std::vector<pid_t> pids;
  std::thread timer([&] {
    pids = fifo.read_pids(4);  // includes the shell's, once it ignores SIGTERM
    clock.run_out();
  });
  const auto result = run_process(options, clock, CancelToken());
  timer.join();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->timed_out);
  EXPECT_FALSE(result->succeeded());
  EXPECT_EQ(result->signal, SIGKILL);
  ASSERT_EQ(pids.size(), 4u);
  for (const pid_t pid : pids) EXPECT_FALSE(is_alive(pid));
}

TEST(Process, CountsTheMemoryOfAllProcesses) {
  constexpr std::int64_t kBigBytes = 200 << 20;
  const auto peak_bytes = [](const std::string& script) {
    const auto result = run(shell(script));
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->peak_memory_bytes : 0;
  };
  // tail buffers a line until it is complete.
  const std::string big = "head -c " + std::to_string(kBigBytes) + " /dev/zero | tail -n 1 | wc -c";
  const std::int64_t small_bytes = peak_bytes("true"), big_bytes = peak_bytes(big);
  EXPECT_GT(small_bytes, 0);
  EXPECT_GE(big_bytes, kBigBytes);
  EXPECT_LT(big_bytes, 10 * kBigBytes);
  EXPECT_LT(small_bytes, big_bytes);
  // Includes a process that the command itself does not wait for.
  EXPECT_GE(peak_bytes("(setsid sh -c '" + big + "' &) | cat"), kBigBytes);
}

/// A clock that moves on by 10 ms whenever it is read, so that every wait ends at once.
class HastyClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now_ns_ += 10'000'000; }
  void sleep_until_ns(std::int64_t) const override {}
  void wait(std::int64_t ns) const { now_ns_ += ns; }

 private:
  mutable std::atomic<std::int64_t> now_ns_{0};
};

/// Processes that are looked at on a host whose processors are taken. Cancels at the fourth look.
class AwaitedProcesses final : public ProcessTable {
 public:
  AwaitedProcesses(const HastyClock& clock, CancelToken& cancel) : clock_(clock), cancel_(cancel) {}
  std::vector<ProcessEntry> processes() const override {
    if (++samples == 4) cancel_.cancel();
    clock_.wait(10'000'000'000);
    return {};
  }
  std::optional<std::int64_t> proportional_bytes(pid_t) const override { return {}; }

  mutable int samples = 0;

 private:
  const HastyClock& clock_;
  CancelToken& cancel_;
};

/// The processes of this host, each of the same size.
class SizedProcesses final : public ProcessTable {
 public:
  std::vector<ProcessEntry> processes() const override {
    auto entries = host_processes().processes();
    for (auto& entry : entries) entry.resident_bytes = each_bytes;
    return entries;
  }
  std::optional<std::int64_t> proportional_bytes(pid_t) const override { return each_bytes; }

  std::atomic<std::int64_t> each_bytes = 0;
};

TEST(Process, TheMemoryLimitEndsTheWholeTree) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("fifo"));
  auto options = shell(std::string(kTree) + "wait");
  options.environment["FIFO"] = folder.file("fifo");
  // No process is above the limit, their sum is: a shell and three more, of which two are orphans
  // in sessions of their own.
  constexpr std::int64_t kEachBytes = std::int64_t{1} << 40;
  SizedProcesses processes;
  options.processes = &processes;
  options.memory_limit_bytes = kEachBytes * 7 / 2;
  std::vector<pid_t> pids;
  std::thread reader([&] {
    pids = fifo.read_pids(3);
    processes.each_bytes = kEachBytes;
  });
  const auto result = run_process(options, HastyClock(), CancelToken());
  reader.join();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->over_memory);
  EXPECT_FALSE(result->timed_out);
  EXPECT_FALSE(result->succeeded());
  EXPECT_GE(result->peak_memory_bytes, 4 * kEachBytes);
  ASSERT_EQ(pids.size(), 3u);
  for (const pid_t pid : pids) EXPECT_FALSE(is_alive(pid));
}

TEST(Process, SamplesOfMemoryThatWaitForAProcessorAreNotFewer) {
  const HastyClock clock;
  CancelToken cancel;
  const AwaitedProcesses processes(clock, cancel);
  auto options = shell("sleep 30");
  options.processes = &processes;
  const auto result = run_process(options, clock, cancel);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->cancelled) << "only " << processes.samples << " samples were taken in 30 s";
}

TEST(Process, AWatchSeesTheOutputAndEndsTheWholeTree) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("fifo"));
  auto options = shell("echo one; echo two >&2; " + std::string(kTree) + "wait");
  options.environment["FIFO"] = folder.file("fifo");
  options.watch_interval_ns = 1'000'000;
  std::atomic<bool> tree_stands = false;
  std::string out, err;
  options.watch = [&](const OutputSoFar& output) {
    out = output.stdout_text;
    err = output.stderr_text;
    return tree_stands && out == "one\n" && err == "two\n";
  };
  std::vector<pid_t> pids;
  std::thread reader([&] {
    pids = fifo.read_pids(3);
    tree_stands = true;
  });
  const auto result = run(options);
  reader.join();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->ended_early);
  EXPECT_FALSE(result->timed_out);
  EXPECT_FALSE(result->succeeded());
  EXPECT_EQ(result->stdout_text, "one\n");
  ASSERT_EQ(pids.size(), 3u);
  for (const pid_t pid : pids) EXPECT_FALSE(is_alive(pid));
}

TEST(Process, AWatchThatIsContentChangesNothing) {
  auto options = shell("seq 1000; exit 3");
  options.output_limit_bytes = 100;
  options.watch_interval_ns = 0;
  options.watch = [](const OutputSoFar& output) {
    EXPECT_LE(output.stdout_text.size(), 50u);
    EXPECT_TRUE(std::string_view("1\n2\n3\n").starts_with(output.stdout_text.substr(0, 6)));
    return false;
  };
  const auto result = run(options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_status, 3);
  EXPECT_FALSE(result->ended_early);
}

TEST(Process, StragglersOfANormalExitAreEnded) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("fifo"));
  // The stragglers hold stdout open, which must not delay the result; the shell exits once they
  // run.
  auto options = shell(std::string(kTree) + "cat \"$GO\"; exit 5");
  mkfifo(folder.file("go").c_str(), 0600);
  options.environment["FIFO"] = folder.file("fifo");
  options.environment["GO"] = folder.file("go");
  std::vector<pid_t> pids;
  std::thread starter([&] {
    pids = fifo.read_pids(3);
    std::ofstream(folder.file("go")) << "went\n";
  });
  const auto result = run(options);
  starter.join();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_status, 5);
  EXPECT_EQ(result->stdout_text, "went\n");
  ASSERT_EQ(pids.size(), 3u);
  for (const pid_t pid : pids) EXPECT_FALSE(is_alive(pid));
}

TEST(Process, ATreeHasTheGraceToEndByItself) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("fifo"));
  // The shell itself waits, so that there is no other process to signal. A shell that reads would
  // miss a signal that arrives just before.
  auto options =
      shell("exec 3>\"$FIFO\"; trap 'echo saved; exit 0' TERM; echo $$ >&3; while :; do :; done");
  options.grace_ns = 60'000'000'000;
  options.environment["FIFO"] = folder.file("fifo");
  CancelToken cancel;
  std::thread canceller([&] {
    fifo.read_pids(1);
    cancel.cancel();
  });
  const auto result = run_process(options, SteadyClock(), cancel);
  canceller.join();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->cancelled);
  EXPECT_EQ(result->signal, 0);
  EXPECT_EQ(result->stdout_text, "saved\n");
}

TEST(Process, EveryProcessOfATreeIsAskedToEnd) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("fifo"));
  // The outer shell waits for the inner one, which has its own session, and ignores the request.
  auto options = shell(
      "exec 3>\"$FIFO\"; setsid sh -c 'trap \"echo saved; exit 0\" TERM; echo $$ >&3; "
      "while :; do :; done' & trap '' TERM; echo $$ >&3; wait; exit 6");
  options.grace_ns = 60'000'000'000;
  options.environment["FIFO"] = folder.file("fifo");
  CancelToken cancel;
  std::thread canceller([&] {
    fifo.read_pids(2);
    cancel.cancel();
  });
  const auto result = run_process(options, SteadyClock(), cancel);
  canceller.join();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->stdout_text, "saved\n");
}

/// Blocks until `pid` has ended; `pid` may have any parent.
void await_end(pid_t pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return;
  pollfd event{fd, POLLIN, 0};
  while (poll(&event, 1, -1) < 0 && errno == EINTR) {
  }
  close(fd);
}

TEST(Process, NothingOutlivesASweepThatIsKilled) {
  const TemporaryFolder folder;
  Fifo fifo(folder.file("fifo"));
  auto options = shell(std::string(kTree) + "wait");
  options.environment["FIFO"] = folder.file("fifo");
  options.grace_ns = 3'600'000'000'000;
  const pid_t sweep = fork();
  if (sweep == 0) {
    static_cast<void>(run(options));
    _exit(0);
  }
  const auto pids = fifo.read_pids(3);
  ASSERT_EQ(pids.size(), 3u);
  kill(sweep, SIGKILL);
  waitpid(sweep, nullptr, 0);
  // They end only because they are killed: they sleep far longer than a test may take.
  for (const pid_t pid : pids) await_end(pid);
}

TEST(Process, CommandsRunSideBySide) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) {
        const auto result = run(shell("(setsid sleep 1000 &); exit " + std::to_string(i)));
        if (result && result->exit_status == i) ++right;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

TEST(Process, LeavesNoDescriptorsBehind) {
  const auto count = [] {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
      ++n;
    return n;
  };
  const auto before = count();
  ASSERT_TRUE(run(shell("true")));
  ProcessOptions missing;
  missing.argv = {"no-such-program-here"};
  ASSERT_FALSE(run(missing));
  EXPECT_EQ(count(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(CancelToken, IsSeenOnceCancelled) {
  CancelToken token;
  EXPECT_FALSE(token.cancelled());
  token.cancel();
  token.cancel();
  EXPECT_TRUE(token.cancelled());
  EXPECT_TRUE(token.cancelled());
}

}  // namespace
}  // namespace hocket
