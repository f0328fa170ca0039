#include "client/start/last_good.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <random>
#include <thread>

#include "core/base/fingerprint.h"
#include "core/base/json.h"
#include "tests/client/environment.h"
#include "tests/mutate.h"
#include "tests/odd_files.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

const ConfigKey kKey{fingerprint_of({{"a", 1}}), fingerprint_of({{"b", 1}})};

LastGood sample(int streams = 3) {
  LastGood last_good{.config = {}, .version = 12, .origin = "study s"};
  last_good.config.streams = streams;
  return last_good;
}

class LastGoodTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_.file("hocket/" + to_string(kKey) + ".json"); }
  std::string folder() const { return folder_.file("hocket"); }

  TemporaryFolder folder_;
};

TEST_F(LastGoodTest, IsReadBackAsItWasWrittenUntilItIsRemoved) {
  EXPECT_EQ(read_last_good(folder(), kKey).value(), std::nullopt);
  EXPECT_TRUE(remove_last_good(folder(), kKey));
  for (int streams : {3, 4}) {
    ASSERT_TRUE(write_last_good(folder(), kKey, sample(streams)));
    EXPECT_EQ(read_last_good(folder(), kKey).value(), sample(streams));
  }
  EXPECT_TRUE(parse_object(read_file(path()).value(), "file"));
  using std::filesystem::directory_iterator;
  EXPECT_EQ(std::distance(directory_iterator(folder()), directory_iterator()), 1);
  EXPECT_TRUE(remove_last_good(folder(), kKey));
  EXPECT_EQ(read_last_good(folder(), kKey).value(), std::nullopt);
}

TEST_F(LastGoodTest, FilesAreKnownByTheirNamesAndForTheirUserAlone) {
  ASSERT_TRUE(write_last_good(folder(), kKey, sample()));
  struct stat status = {};
  ASSERT_EQ(::stat(folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  const std::string name = to_string(kKey) + ".json";
  EXPECT_TRUE(is_last_good_name(name));
  EXPECT_FALSE(is_unfinished_last_good_name(name));
  EXPECT_TRUE(is_unfinished_last_good_name(name + ".aB3xyz"));
  for (const std::string& other :
       {std::string(), std::string("notes.json"), to_string(kKey), name + ".bak", name + "aB3xyz1",
        name + ".aB3xyz1", std::string(".aB3xyz")}) {
    EXPECT_FALSE(is_last_good_name(other)) << other;
    EXPECT_FALSE(is_unfinished_last_good_name(other)) << other;
  }
}

TEST_F(LastGoodTest, NoDamageGivesAnotherConfiguration) {
  ASSERT_TRUE(write_last_good(folder(), kKey, sample()));
  const std::string valid = read_file(path()).value();
  const auto refused = [&](const std::string& text) {
    folder_.write("hocket/" + to_string(kKey) + ".json", text);
    const auto read = read_last_good(folder(), kKey);
    return !read && read.error().message.find(path()) != std::string::npos;
  };
  for (std::size_t at = 0; at < valid.size(); ++at) {
    std::string text = valid;
    text[at] = static_cast<char>(text[at] ^ 1);
    ASSERT_TRUE(refused(text)) << "byte " << at;
    ASSERT_TRUE(refused(valid.substr(0, at))) << "cut at " << at;
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = mutate(valid, random);
    ASSERT_TRUE(text == valid || refused(text)) << "seed 7, round " << i;
  }
}

TEST_F(LastGoodTest, OneOfAnotherKeyOrOutOfRangeIsRefused) {
  const ConfigKey other{kKey.workload, kKey.topology};
  ASSERT_TRUE(write_last_good(folder(), other, sample()));
  std::filesystem::rename(folder_.file("hocket/" + to_string(other) + ".json"), path());
  EXPECT_THAT(read_last_good(folder(), kKey).error().message, HasSubstr("of another key"));
  ASSERT_TRUE(write_last_good(folder(), kKey, sample(65)));
  EXPECT_THAT(read_last_good(folder(), kKey).error().message, HasSubstr("from 1 to 64, found 65"));
}

TEST_F(LastGoodTest, AFolderThatCannotBeUsedIsAnError) {
  const std::string file = folder_.write("file", "");
  EXPECT_EQ(write_last_good(file, kKey, sample()).error().code, ErrorCode::unavailable);
  EXPECT_EQ(write_last_good("/proc/no", kKey, sample()).error().code, ErrorCode::unavailable);
  std::filesystem::create_directories(path());
  EXPECT_EQ(read_last_good(folder(), kKey).error().code, ErrorCode::unavailable);
  EXPECT_EQ(write_last_good(folder(), kKey, sample()).error().code, ErrorCode::unavailable);
  std::filesystem::remove(path());
  // Reading a pipe would block forever.
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(read_last_good(folder(), kKey).error().code, ErrorCode::unavailable);
}

TEST_F(LastGoodTest, WritersAtOnceLeaveTheFileOfOneOfThem) {
  ASSERT_TRUE(write_last_good(folder(), kKey, sample(1)));
  std::vector<std::thread> writers;
  for (int streams = 1; streams <= 4; ++streams) {
    writers.emplace_back([this, streams] {
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(write_last_good(folder(), kKey, sample(streams)));
    });
  }
  for (int i = 0; i < 200; ++i) {
    const auto read = read_last_good(folder(), kKey);
    ASSERT_TRUE(read && *read) << read.error().message;
    ASSERT_EQ(**read, sample((*read)->config.streams));
  }
  for (auto& writer : writers) writer.join();
}

TEST(LastGood, LiesInTheUsersCache) {
  EXPECT_EQ(last_good_folder(environment({{"XDG_CACHE_HOME", "/c"}, {"HOME", "/h"}})), "/c/hocket");
  EXPECT_EQ(last_good_folder(environment({{"XDG_CACHE_HOME", "c"}, {"HOME", "/h"}})),
            "/h/.cache/hocket");
  EXPECT_EQ(last_good_folder(environment({{"HOME", ""}})), std::nullopt);
}

TEST_F(LastGoodTest, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_TRUE(write_last_good(folder(), kKey, sample()));
  for_odd_files(
      path(), [&] { (void)read_last_good(folder(), kKey); },
      [&](const OddFile& odd, bool ended) {
        EXPECT_TRUE(ended) << odd.kind;
        const auto read = read_last_good(folder(), kKey);
        EXPECT_FALSE(read && *read) << odd.kind;
      });
}

TEST_F(LastGoodTest, AFolderThatOthersCanWriteIsNotBelieved) {
  ASSERT_TRUE(write_last_good(folder(), kKey, sample()));
  ASSERT_EQ(::chmod(folder().c_str(), 0777), 0);
  EXPECT_NE(read_last_good(folder(), kKey).error().message.find("chmod go-w " + folder()),
            std::string::npos);
}

}  // namespace
}  // namespace hocket
