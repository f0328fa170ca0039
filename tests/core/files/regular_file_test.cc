#include "core/files/regular_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "core/files/file_stream.h"
#include "tests/odd_files.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

TEST(RegularFile, IsReadUpToALimit) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "text");
  EXPECT_EQ(read_regular_file(path, 4).value(), "text");
  EXPECT_THAT(read_regular_file(path, 3).error().message, HasSubstr("larger than 3 bytes"));
  EXPECT_EQ(read_regular_file(folder.file("none"), 4).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_regular_file(path + "/none", 4).error().code, ErrorCode::not_found);
  std::string word;
  FileReader in(open_regular_file(path).value());
  in >> word;
  EXPECT_EQ(word, "text");
  in.clear();
  in.seekg(2);
  in >> word;
  EXPECT_EQ(word, "xt");
}

TEST(RegularFile, IsWrittenFromItsBeginOrAtItsEnd) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "old text");
  ASSERT_TRUE(write_all(open_to_write(path, Writing::from_begin).value(), "new", path));
  ASSERT_TRUE(write_all(open_to_write(path, Writing::at_end).value(), "er", path));
  EXPECT_EQ(read_regular_file(path, 9).value(), "newer");
  FileWriter out(open_to_write(path, Writing::at_end).value());
  out << '!';
  EXPECT_TRUE(out.close());
  EXPECT_EQ(read_regular_file(path, 9).value(), "newer!");
  ASSERT_TRUE(replace_file(path, "whole"));
  EXPECT_EQ(read_regular_file(path, 9).value(), "whole");
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  EXPECT_EQ(replace_file(folder.file("no/file"), "").error().code, ErrorCode::unavailable);
  struct stat status = {};
  const auto before = ::umask(0);
  ASSERT_TRUE(open_to_write(folder.file("own"), Writing::from_begin, 0600));
  ::umask(before);
  ASSERT_EQ(::stat(folder.file("own").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

/// Ends with 0 if a limit on the size of files makes `write` fail, which 64 KiB do not fit into.
[[noreturn]] void write_beyond_a_limit(const std::function<bool(const std::string&)>& write) {
  std::signal(SIGXFSZ, SIG_DFL);
  const rlimit limit = {4096, RLIM_INFINITY};
  const bool is_limited = ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
  ::_exit(is_limited && !write(std::string(64 << 10, 'x')) ? 0 : 1);
}

TEST(RegularFileDeathTest, ALimitOfItsSizeIsAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.file("file");
  const auto all = [&](const std::string& text) {
    const auto written = write_all(open_to_write(path, Writing::from_begin).value(), text, path);
    return written || written.error().message.find(path) == std::string::npos;
  };
  EXPECT_EXIT(write_beyond_a_limit(all), ::testing::ExitedWithCode(0), "");
  const auto replaced = [&](const std::string& text) { return !!replace_file(path, text); };
  EXPECT_EXIT(write_beyond_a_limit(replaced), ::testing::ExitedWithCode(0), "");
  const auto streamed = [&](const std::string& text) {
    FileWriter out(open_to_write(path, Writing::from_begin).value());
    out << text << text;
    return out.close() || out.good();
  };
  EXPECT_EXIT(write_beyond_a_limit(streamed), ::testing::ExitedWithCode(0), "");
}

TEST(RegularFile, IsStreamedInBlocks) {
  const TemporaryFolder folder;
  const std::string path = folder.file("file");
  std::string all;
  {
    FileWriter out(open_to_write(path, Writing::from_begin).value());
    for (int i = 0; i < 30'000; ++i) {
      const std::string number = std::to_string(i) + '\n';
      out << number;
      all += number;
    }
    const std::string block(200'000, 'b');
    out.write(block.data(), static_cast<std::streamsize>(block.size()));
    all += block + "end";
    out << "end";
  }  // without close()
  EXPECT_EQ(read_regular_file(path, 1 << 20).value(), all);
}

TEST(RegularFile, NothingElseIsOpened) {
  const TemporaryFolder folder;
  const std::string path = folder.file("odd");
  for (const Links links : {Links::followed, Links::refused}) {
    const auto open = [&] {
      (void)read_regular_file(path, 100, links);
      (void)open_to_write(path + ".new", Writing::from_begin, 0666, links);
      (void)check_regular_or_missing(path);
    };
    for_odd_files(path, open, [&](const OddFile& odd, bool ended) {
      EXPECT_TRUE(ended) << odd.kind;
      const auto read = read_regular_file(path, 100, links);
      ASSERT_FALSE(read) << odd.kind;
      if (!odd.kind.starts_with("a link") && links == Links::followed) {
        EXPECT_THAT(read.error().message, HasSubstr("it is " + odd.kind));
      }
      if (odd.kind == "a link to nothing") return;  // which may be made
      for (const Writing writing : {Writing::from_begin, Writing::at_end})
        EXPECT_FALSE(open_to_write(path, writing, 0666, links)) << odd.kind;
      EXPECT_FALSE(check_regular_or_missing(path)) << odd.kind;
    });
  }
  const std::string file = folder.write("file", "text");
  std::filesystem::create_symlink(file, path);
  EXPECT_TRUE(open_regular_file(path));
  EXPECT_THAT(open_regular_file(path, Links::refused).error().message,
              HasSubstr("it is a symbolic link"));
  EXPECT_FALSE(open_to_write(path, Writing::from_begin, 0666, Links::refused));
  EXPECT_EQ(read_regular_file(file, 9).value(), "text") << "it was not emptied";
  EXPECT_TRUE(check_regular_or_missing(file));
  EXPECT_TRUE(check_regular_or_missing(folder.file("none")));
}

}  // namespace
}  // namespace hocket
