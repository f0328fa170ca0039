// Tests what becomes of programs whose output nobody reads: the reader is gone, or does not read.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <sstream>
#include <thread>

#include "client/link/daemon_access.h"
#include "client/link/http_client.h"
#include "core/base/json.h"
#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr std::int64_t kAnswerNs = 60'000'000'000;

/// A pipe, as small as the system allows.
class Pipe {
 public:
  Pipe() {
    EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    EXPECT_GT(fcntl(ends_[1], F_SETPIPE_SZ, 4096), 0);
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writer() const { return ends_[1]; }
  void close_reader() { close_end(0); }
  void close_writer() { close_end(1); }

  /// Returns what is written until `text` is among it.
  std::string read_until(const std::string& text) const {
    std::string all;
    std::array<char, 4096> block;
    while (all.find(text) == std::string::npos) {
      const ssize_t length = ::read(ends_[0], block.data(), block.size());
      if (length <= 0) break;
      all.append(block.data(), static_cast<std::size_t>(length));
    }
    return all;
  }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }

  std::array<int, 2> ends_ = {-1, -1};
};

class UnreadOutputTest : public ::testing::Test {
 protected:
  Program start(std::vector<std::string> arguments, Program::Streams streams) const {
    return Program(folder_, std::move(arguments), {}, Rights::own, streams);
  }

  /// Returns the first line of what `text` returns, once it is whole.
  template <typename Text>
  static std::string first_line(const Text& text) {
    for (;;) {
      const std::string all = text();
      if (const auto end = all.find('\n'); end != std::string::npos) return all.substr(0, end);
      std::this_thread::yield();
    }
  }

  /// Returns how many of `count` requests the daemon answers.
  static int answers(const std::string& url, int count) {
    DaemonAccess access;
    access.address = *parse_daemon_address(url);
    HttpClient client(access);
    int answered = 0;
    for (int i = 0; i < count; ++i) {
      if (!client.send({.target = "/v1/none"}, deadline_after_ns(kAnswerNs))) break;
      ++answered;
    }
    return answered;
  }

  const TemporaryFolder folder_;
  const std::vector<std::string> serve_ = {"serve",       "--listen",    "127.0.0.1:0",
                                           "--no-tokens", "--log-level", "debug"};
};

TEST_F(UnreadOutputTest, ADaemonOutlivesTheReaderOfItsLog) {
  Pipe log;
  auto daemon = start(serve_, {.err = log.writer()});
  log.close_writer();  // so that its only writers are the daemon's
  const std::string url = first_line([&] { return daemon.output(); });
  log.close_reader();
  EXPECT_EQ(answers(url, 20), 20);
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);
}

TEST_F(UnreadOutputTest, ADaemonDoesNotWaitForTheReaderOfItsLog) {
  Pipe log;
  auto daemon = start(serve_, {.err = log.writer()});
  log.close_writer();
  const std::string url = first_line([&] { return daemon.output(); });
  ASSERT_EQ(answers(url, 200), 200);
  // Once somebody reads, he gets whole lines, and how many are missing.
  std::atomic<bool> is_told = false;
  std::thread asking([&] {
    while (!is_told && answers(url, 1) == 1) {
    }
  });
  const std::string text = log.read_until("lines of the log were lost");
  is_told = true;
  asking.join();
  EXPECT_THAT(text, HasSubstr("because nobody read it lines="));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, HasSubstr("Z ")) << line;
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);
}

TEST_F(UnreadOutputTest, ADaemonSaysThatItsAddressWasNotRead) {
  Pipe address;
  address.close_reader();
  auto daemon = start(serve_, {.out = address.writer()});
  const std::string line = first_line([&] {
    const std::string all = daemon.errors();
    const auto found = all.find("the address could not be written");
    return found == std::string::npos ? std::string() : all.substr(found);
  });
  EXPECT_EQ(answers(line.substr(line.find("http")), 2), 2) << line;
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);
}

TEST_F(UnreadOutputTest, AParameterServerServesWithoutAReaderOfItsAddress) {
  Pipe address;
  address.close_reader();
  auto server = start({"param-server", "--ranks", "1"}, {.out = address.writer()});
  EXPECT_THAT(first_line([&] { return server.errors(); }),
              EndsWith("could not be written to standard output"));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().status, 0);
}

/// Prints its ignored and blocked signals to a file.
constexpr const char* kSignals = "grep -E 'SigIgn|SigBlk' /proc/self/status >signals; echo t=$X";

class ChildSignals : public UnreadOutputTest {
 protected:
  void expect_default_signals() const {
    const auto text = first_lines(folder_.file("signals"));
    EXPECT_THAT(text, HasSubstr("SigIgn:\t0000000000000000"));
    EXPECT_THAT(text, HasSubstr("SigBlk:\t0000000000000000"));
  }
  static std::string first_lines(const std::string& path) {
    return read_file(path).value_or("nothing in " + path);
  }
};

TEST_F(ChildSignals, TuneGoesOnWithoutAReaderOfItsProgress) {
  Pipe progress;
  progress.close_reader();
  auto tuning = start({"tune", "--param", "X=int:1..4", "--trials", "3", "--objective",
                       "regex:t=([0-9]+)", "--json", "--", "sh", "-c", kSignals},
                      {.err = progress.writer()});
  const auto ended = tuning.wait();
  EXPECT_LE(ended.status, 3) << ended.out;
  EXPECT_TRUE(ended.json().is_object()) << ended.out;
  expect_default_signals();
}

TEST_F(ChildSignals, RanksHaveDefaultSignals) {
  EXPECT_EQ(hocket_run(folder_, {"run", "--ranks", "1", "--", "sh", "-c", kSignals}).status, 0);
  expect_default_signals();
}

TEST_F(ChildSignals, ARunThatNobodyReadsEndsAsItsRanksDo) {
  Pipe errors;
  errors.close_reader();
  auto run = start({"run", "--ranks", "1", "--", "sh", "-c", "exit 7"}, {.err = errors.writer()});
  EXPECT_EQ(run.wait().status, 7);
}

TEST_F(UnreadOutputTest, AVerbThatOnlyPrintsEndsQuietly) {
  Pipe out;
  out.close_reader();
  auto listing = start({"studies", "--help"}, {.out = out.writer()});
  const auto ended = listing.wait();
  EXPECT_EQ(ended.status, 128 + SIGPIPE);
  EXPECT_EQ(ended.err, "");
}

}  // namespace
}  // namespace hocket
