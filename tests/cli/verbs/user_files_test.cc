// Tests verbs on paths at which no regular file lies, or a small one that could take much memory:
// nothing is waited for beyond Ctrl-C.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "tests/cli/program.h"
#include "tests/odd_files.h"
#include "tests/profiler/formats/packed/packed_stream_writer.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

/// Verbs that read a file, whose path is the last argument.
const std::vector<Arguments> kReaders = {
    {"simulate"}, {"tape", "show"}, {"replay"}, {"profiles", "import"}, {"explain"},
};

Arguments with_file(Arguments arguments, const std::string& path) {
  arguments.push_back(path);
  return arguments;
}

/// Returns whether a process of this one ends within a time.
bool has_ended(pid_t pid, std::chrono::milliseconds within) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  do {
    siginfo_t ended = {};
    ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid == pid) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

/// Waits until a process reads the pipe. Returns the pipe's other end; -1 if the process has ended.
int writer_of(const std::string& path, pid_t reader) {
  for (;;) {
    const int file = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0 || has_ended(reader, std::chrono::milliseconds(0))) return file;
  }
}

TEST(UserFiles, WhatIsNoFileIsAnError) {
  const TemporaryFolder folder;
  for (const Arguments& reader : kReaders) {
    for (const OddFile& odd : odd_files()) {
      if (odd.kind == "a named pipe" || odd.kind == "a device") continue;  // may be meant
      const std::string path = folder.file("odd");
      odd.make(path);
      EXPECT_TRUE(ends([&] { (void)hocket_run(folder, with_file(reader, path)); }))
          << reader[0] << " " << odd.kind;
      const auto ended = hocket_run(folder, with_file(reader, path));
      EXPECT_THAT(ended.status, testing::AnyOf(1, 2)) << reader[0] << " " << odd.kind << ended.err;
      std::filesystem::remove_all(path);
    }
  }
}

TEST(UserFiles, APipeIsReadUntilCtrlC) {
  const TemporaryFolder folder;
  const std::string path = folder.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  for (const Arguments& reader : kReaders) {
    const Program program(folder, with_file(reader, path));
    const int writer = writer_of(path, program.pid());
    if (writer < 0) continue;  // it looked first, and said what it is
    program.signal(SIGINT);
    EXPECT_TRUE(has_ended(program.pid(), std::chrono::minutes(1))) << reader[0];
    ::close(writer);
  }
}

TEST(UserFiles, AStudyGoesOnWithAPipeInItsReportsPlace) {
  const TemporaryFolder folder;
  const auto ended =
      hocket_run(folder, {"tune", "--objective", "report", "--param", "x=int:1..4", "--default",
                          "x=1", "--trials", "2", "--", "sh", "-c",
                          "rm -f \"$HOCKET_REPORT\"; mkfifo \"$HOCKET_REPORT\"; : {x}"});
  EXPECT_EQ(ended.status, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("it is a named pipe"));
}

/// Returns events of which a parser keeps much more than the file has packed.
std::string begun_events(std::size_t count) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) text += "{\"ph\":\"B\"},\n";
  return text + "{}]";
}

TEST(UserFiles, ASmallTraceTakesLittleMemory) {
  const TemporaryFolder folder;
  const std::string event = "{\"ph\":\"X\",\"name\":\"k\",\"cat\":\"kernel\",\"ts\":1,\"dur\":1}";
  const std::string blanks(200 << 20, ' ');
  folder.write("blanks.json.gz", packed("[" + blanks + event + "]", "gzip"));
  folder.write("text.json.gz", packed("[{\"name\":\"" + blanks + "\"}," + event + "]", "gzip"));
  folder.write("begun.json.gz", packed(begun_events(2'000'000), "gzip"));
  folder.write("begun.json", begun_events(2'000'000));
  const Program::Environment little = {{"HOCKET_READING_MIB", "64"}};
  const auto import = [&](const std::string& name) {
    return hocket_run(folder, {"profiles", "import", folder.file(name)}, little);
  };
  EXPECT_EQ(import("blanks.json.gz").status, 0) << import("blanks.json.gz").err;
  EXPECT_THAT(import("text.json.gz").err, HasSubstr("a text is longer than 16 MiB"));
  for (const char* begun : {"begun.json.gz", "begun.json"}) {
    const auto ended = import(begun);
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, AllOf(HasSubstr(begun), HasSubstr("at most 64 MiB are allowed here"),
                                 HasSubstr("HOCKET_READING_MIB")));
  }
}

}  // namespace
}  // namespace hocket
