#include "tuner/trial/file_fingerprint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "core/base/clock.h"
#include "tests/odd_files.h"
#include "tests/temporary_folder.h"
#include "tuner/trial/command_runner.h"

namespace hocket {
namespace {

TEST(FileFingerprint, IsThatOfTheContent) {
  const TemporaryFolder folder;
  folder.write("a", "one");
  folder.write("b", "one");
  folder.write("c", "two");
  const auto a = content_fingerprint(folder.file("a"));
  ASSERT_TRUE(a);
  EXPECT_EQ(a, content_fingerprint(folder.file("b")));
  EXPECT_NE(a, content_fingerprint(folder.file("c")));
  folder.write("empty", "");
  EXPECT_TRUE(content_fingerprint(folder.file("empty")));
  // Bytes that are no text count, too.
  folder.write("d", std::string("\xff\xfe\0x", 4));
  folder.write("e", std::string("\xff\xfd\0x", 4));
  EXPECT_NE(content_fingerprint(folder.file("d")), content_fingerprint(folder.file("e")));
}

TEST(FileFingerprint, OnlyOfRegularFilesOfBoundedSize) {
  const TemporaryFolder folder;
  EXPECT_FALSE(content_fingerprint(folder.path()));
  EXPECT_FALSE(content_fingerprint(folder.file("none")));
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(content_fingerprint(folder.file("pipe"))) << "it would be waited for";
  folder.write("data", "");
  std::filesystem::resize_file(folder.file("data"), kMostFingerprintedBytes);
  EXPECT_TRUE(content_fingerprint(folder.file("data")));
  std::filesystem::resize_file(folder.file("data"), kMostFingerprintedBytes + 1);
  EXPECT_FALSE(content_fingerprint(folder.file("data")));
}

TEST(FileFingerprint, FindsTheFirstThatHasChangedOrIsGone) {
  const TemporaryFolder folder;
  std::vector<FileFingerprint> files;
  for (const char* name : {"argument", "script"}) {
    folder.write(name, "one");
    files.push_back({folder.file(name), *content_fingerprint(folder.file(name))});
  }
  files[1].is_program = true;
  EXPECT_EQ(changed_file(files), nullptr);
  folder.write("argument", "two");
  EXPECT_EQ(changed_file(files), &files[0]);
  EXPECT_EQ(changed_file(files, FilesCompared::programs), nullptr);
  folder.write("argument", "one");
  EXPECT_EQ(changed_file(files), nullptr) << "it is the content that counts";
  std::filesystem::remove(folder.file("script"));
  EXPECT_EQ(changed_file(files), &files[1]);
  EXPECT_EQ(changed_file(files, FilesCompared::programs), &files[1]);
}

TEST(CommandRunner, RefusesATrialOfAScriptThatHasChanged) {
  const TemporaryFolder folder;
  folder.write("script", "echo 1");
  const std::string path = folder.file("script");
  CommandOptions options{.command = {"sh", path},
                         .objective = {ObjectiveKind::wall, ""},
                         .working_directory = folder.path()};
  options.files = {{path, *content_fingerprint(path), true}};
  const SteadyClock clock;
  const CancelToken cancel;
  auto runner = CommandRunner::make(options, clock, cancel);
  ASSERT_TRUE(runner) << runner.error().message;
  EXPECT_TRUE(runner->run({}, {}));
  folder.write("script", "echo 2");
  const auto refused = runner->run({}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find(path + " has changed"), std::string::npos);
  EXPECT_NE(refused.error().message.find("--accept-changes"), std::string::npos);
}

TEST(CommandRunner, ATrialHasOnlyTheTimeThatIsLeft) {
  const TemporaryFolder folder;
  CommandOptions options{.command = {"sleep", "1000"},
                         .objective = {ObjectiveKind::wall, ""},
                         .working_directory = folder.path()};
  options.time_limit_ns = 600'000'000'000;
  options.time_left_ns = [] { return std::int64_t{10'000'000}; };
  const SteadyClock clock;
  const CancelToken cancel;
  auto runner = CommandRunner::make(options, clock, cancel);
  ASSERT_TRUE(runner) << runner.error().message;
  const auto outcome = runner->run({}, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->state, TrialState::timeout);
  EXPECT_EQ(outcome->message, "not done within 0.01 s; its processes were ended");
}

TEST(FileFingerprint, NothingElseIsWaitedFor) {
  const TemporaryFolder folder;
  const std::string path = folder.file("odd");
  for_odd_files(
      path, [&] { (void)content_fingerprint(path); },
      [&](const OddFile& odd, bool ended) {
        EXPECT_TRUE(ended) << odd.kind;
        EXPECT_FALSE(content_fingerprint(path)) << odd.kind;
      });
}

}  // namespace
}  // namespace hocket
