// Tests what the plugin tells `hocket doctor`, and that it writes into no other file.

#include "plugins/nccl/abi/load_report.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/temporary_folder.h"

namespace hocket::nccl::abi {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The file that the environment names; empty: none.
std::string named_file;

const char* environment(const char* name) {
  return std::string(name) == "HOCKET_DOCTOR_FILE" && !named_file.empty() ? named_file.c_str()
                                                                          : nullptr;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A process that holds a lock on a file until it is ended.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string& path) {
    int ready[2] = {};
    EXPECT_EQ(::pipe(ready), 0);
    id_ = ::fork();
    if (id_ == 0) {
      struct flock whole = {};
      whole.l_type = F_WRLCK;
      const int file = ::open(path.c_str(), O_RDWR);
      const char held = ::fcntl(file, F_SETLK, &whole) == 0 ? 'y' : 'n';
      if (::write(ready[1], &held, 1) == 1) ::pause();
      ::_exit(0);
    }
    char held = 'n';
    EXPECT_EQ(::read(ready[0], &held, 1), 1);
    EXPECT_EQ(held, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~OtherProcess() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }

 private:
  pid_t id_ = -1;
};

/// All in one test: a process writes a bounded number of lines.
TEST(LoadReport, AppendsLinesToTheDoctorsFileAndToNoOther) {
  const TemporaryFolder folder;
  const LoadEvent event{.what = "profiler", .interface = 5, .rank = 1, .ranks = 2};
  named_file = "";
  EXPECT_FALSE(has_load_report(environment));
  report_load(environment, event, nullptr);

  const std::string own = folder.write("own", "mine");
  std::filesystem::create_symlink(own, folder.file("link"));
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const std::string full = folder.write("full", std::string(1 << 20, 'x'));
  for (const std::string& path : {folder.file("link"), folder.file("pipe"), folder.file("nowhere"),
                                  folder.path().string(), full}) {
    named_file = path;
    EXPECT_TRUE(has_load_report(environment));
    report_load(environment, event, nullptr);
  }
  EXPECT_EQ(text_of(own), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder.file("nowhere")));
  EXPECT_EQ(std::filesystem::file_size(full), 1U << 20);

  named_file = folder.write("reports", "");
  report_load(environment, event, nullptr);
  EXPECT_THAT(text_of(named_file),
              AllOf(StartsWith(R"({"format":"hocket-load","version":1,"from":"plugin",)"
                               R"("event":"profiler","host":")"),
                    HasSubstr(R"(,"interface":5,"rank":1,"ranks":2)"), EndsWith("}\n")));
  // The process of another host may hold the file, and never let it go.
  {
    const OtherProcess holder(named_file);
    const auto before = text_of(named_file).size();
    report_load(environment, event, nullptr);
    EXPECT_GT(text_of(named_file).size(), before);
  }
  for (int i = 0; i < 40; ++i) report_load(environment, {.what = "call"}, nullptr);
  const std::string all = text_of(named_file);
  EXPECT_LE(std::ranges::count(all, '\n'), 16);
  EXPECT_GE(std::ranges::count(all, '\n'), 5);
}

}  // namespace
}  // namespace hocket::nccl::abi
