#include "core/files/scratch_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A process that makes a scratch folder with a file in it, and then waits to be killed.
class Holder {
 public:
  /// With `passes_on` another program takes the place of the process before this returns.
  explicit Holder(const std::string& parent, bool passes_on = false) {
    int ends[2];
    HOCKET_CHECK(::pipe(ends) == 0, "a pipe can be made");
    pid_ = ::fork();
    if (pid_ == 0) hold(parent, ends[1], passes_on);
    ::close(ends[1]);
    char block[256];
    for (ssize_t bytes; (bytes = ::read(ends[0], block, sizeof block)) > 0;) {
      path_.append(block, static_cast<std::size_t>(bytes));
    }
    ::close(ends[0]);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { end(); }

  const std::string& path() const { return path_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  [[noreturn]] static void hold(const std::string& parent, int answer, bool passes_on) {
    auto folder = ScratchFolder::make(parent);
    if (folder) {
      std::ofstream(folder->path() + "/report.json") << "{}";
      [[maybe_unused]] const auto written =
          ::write(answer, folder->path().data(), folder->path().size());
      if (passes_on) {
        folder->pass_on();
        ::fcntl(answer, F_SETFD, FD_CLOEXEC);
        ::execlp("sleep", "sleep", "1000", nullptr);
      }
    }
    ::close(answer);
    for (;;) ::pause();
  }

  pid_t pid_ = -1;
  std::string path_;
};

class ScratchFolderTest : public ::testing::Test {
 protected:
  std::size_t count() const {
    const fs::directory_iterator entries(folder_.path());
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  }
  /// Makes a folder like one that is left over, and returns its path.
  std::string left_over() const {
    Holder holder(folder_.path());
    holder.end();
    EXPECT_TRUE(fs::exists(holder.path() + "/report.json"));
    return holder.path();
  }

  const TemporaryFolder folder_;
};

TEST_F(ScratchFolderTest, GoesWithItsObject) {
  std::string path;
  {
    auto made = ScratchFolder::make(folder_.path());
    ASSERT_TRUE(made) << made.error().message;
    path = made->path();
    struct stat status = {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    EXPECT_EQ(fs::path(path).parent_path(), folder_.path());
    fs::create_directories(path + "/a/b");
    std::ofstream(path + "/a/b/c") << "text";
    const ScratchFolder moved(std::move(*made));
    EXPECT_EQ(moved.path(), path);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_EQ(count(), 0u);
}

TEST_F(ScratchFolderTest, OfAKilledProcessIsRemovedByTheNextMaker) {
  const std::string path = left_over();
  const auto found = find_scratch_folders(folder_.path());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, path);
  EXPECT_TRUE(found[0].is_left_over);
  const auto next = ScratchFolder::make(folder_.path());
  ASSERT_TRUE(next);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(count(), 1u);
}

TEST_F(ScratchFolderTest, OfALivingProcessStays) {
  const Holder holder(folder_.path());
  const auto own = ScratchFolder::make(folder_.path());
  ASSERT_TRUE(own);
  EXPECT_TRUE(fs::exists(holder.path() + "/report.json"));
  const auto found = find_scratch_folders(folder_.path());
  ASSERT_EQ(found.size(), 2u);
  for (const auto& each : found) {
    EXPECT_FALSE(each.is_left_over) << each.path;
    EXPECT_EQ(remove_scratch_folder(each.path), Result<bool>(false));
  }
  EXPECT_EQ(count(), 2u);
}

TEST_F(ScratchFolderTest, ThatIsPassedOnStaysUntilTheNextProgramEnds) {
  Holder holder(folder_.path(), /*passes_on=*/true);
  ASSERT_TRUE(ScratchFolder::make(folder_.path()));
  EXPECT_TRUE(fs::exists(holder.path() + "/report.json"));
  holder.end();
  ASSERT_TRUE(ScratchFolder::make(folder_.path()));
  EXPECT_FALSE(fs::exists(holder.path()));
}

TEST_F(ScratchFolderTest, IsNotHeldByWhatItsProcessStarts) {
  std::optional<ScratchFolder> folder;
  if (auto made = ScratchFolder::make(folder_.path())) folder.emplace(std::move(*made));
  ASSERT_TRUE(folder);
  const pid_t child = ::fork();
  if (child == 0) {
    // Names the descriptors that the program has: none is of a folder with scratch in its name.
    ::execl("/bin/sh", "sh", "-c", "! ls -l /proc/self/fd | grep -q hocket-scratch-", nullptr);
    ::_exit(126);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(ScratchFolderTest, OnlyExactNamesOfPrivateFoldersAreRemoved) {
  const std::string path = left_over();
  const std::vector<std::string> others = {
      path + "0",                                          // longer
      path.substr(0, path.size() - 1),                     // shorter
      path.substr(0, path.size() - 1) + "-",               // not drawn by mkdtemp()
      folder_.file("hocket-scratch-another.host-abcdef"),  // of another host
      folder_.file("hocket-scratch-abcdef"),               // of no host
      folder_.file("hocket-abcdef"),                       // of another kind
  };
  for (const auto& other : others) {
    ASSERT_EQ(::mkdir(other.c_str(), 0700), 0) << other;
    EXPECT_EQ(remove_scratch_folder(other), Result<bool>(false)) << other;
  }
  const auto same_but = [&](char last) { return path.substr(0, path.size() - 1) + last; };
  const char last = path.back();
  const std::string open_folder = same_but(last == 'a' ? 'b' : 'a');
  const std::string link = same_but(last == 'c' ? 'd' : 'c');
  const std::string file = same_but(last == 'e' ? 'f' : 'e');
  ASSERT_EQ(::mkdir(open_folder.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(open_folder.c_str(), 0750), 0);
  const TemporaryFolder elsewhere;
  ASSERT_EQ(::symlink(elsewhere.path().c_str(), link.c_str()), 0);
  std::ofstream(file) << "text";
  ASSERT_EQ(find_scratch_folders(folder_.path()).size(), 1u);
  const auto before = count();
  ASSERT_TRUE(ScratchFolder::make(folder_.path()));
  EXPECT_EQ(count(), before - 1);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ScratchFolderTest, OfAnotherUserStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders to another user";
  const std::string path = left_over();
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_THAT(find_scratch_folders(folder_.path()), IsEmpty());
  ASSERT_TRUE(ScratchFolder::make(folder_.path()));
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(ScratchFolderTest, ManyMakersAtOnceEachHaveTheirOwn) {
  constexpr int kThreads = 8, kTurns = 50;
  std::vector<int> lost(kThreads);
  std::vector<std::thread> threads;
  for (int& own_lost : lost) {
    threads.emplace_back([&own_lost, parent = folder_.path().string()] {
      for (int turn = 0; turn < kTurns; ++turn) {
        const auto made = ScratchFolder::make(parent);
        if (!made || !fs::exists(made->path())) ++own_lost;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(lost, ::testing::Each(0));
  EXPECT_EQ(count(), 0u);
}

TEST_F(ScratchFolderTest, SaysWhatToDoWhereNoneCanBeMade) {
  const auto made = ScratchFolder::make(folder_.file("missing"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::unavailable);
  EXPECT_THAT(made.error().message, HasSubstr("set TMPDIR"));
  EXPECT_THAT(find_scratch_folders(folder_.file("missing")), IsEmpty());
}

}  // namespace
}  // namespace hocket
