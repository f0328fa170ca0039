#include "examples/gpt2/model/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace hocket {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// An empty folder for the running test, removed at its end.
class TextTest : public testing::Test {
 protected:
  TextTest() {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("hocket_text_") +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TextTest() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }

  fs::path folder_;
};

struct Batch {
  std::vector<std::int32_t> inputs, targets;
  bool operator==(const Batch&) const = default;
};

Batch draw(const Text& text, const BatchKey& key, int sequence, int batch) {
  Batch drawn{std::vector<std::int32_t>(sequence * batch),
              std::vector<std::int32_t>(sequence * batch)};
  text.draw(key, sequence, drawn.inputs, drawn.targets);
  return drawn;
}

std::string alphabet() {
  std::string bytes;
  for (int i = 0; i < 200; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

TEST_F(TextTest, LoadsAFile) {
  const auto text = Text::load(write("a.txt", std::string("ab\xff\0d", 5)), 5);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->size(), 5u);
  EXPECT_EQ(text->largest_token(), 255);
}

TEST_F(TextTest, LoadsAFolderInTheOrderOfNames) {
  write("b", "456");
  write("a", "123");
  fs::create_directories(folder_ / "sub");
  const auto text = Text::load(folder_.string(), 6);
  ASSERT_TRUE(text) << text.error().message;
  ASSERT_EQ(text->size(), 6u);
  EXPECT_EQ(draw(*text, {}, 5, 1).inputs, (std::vector<std::int32_t>{'1', '2', '3', '4', '5'}));
}

TEST_F(TextTest, RefusesTooLittleText) {
  const auto short_file = Text::load(write("a.txt", "123"), 4);
  ASSERT_FALSE(short_file);
  EXPECT_EQ(short_file.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(short_file.error().message, HasSubstr("a.txt: 3 bytes, at least 4"));

  fs::remove(folder_ / "a.txt");
  const auto empty_folder = Text::load(folder_.string(), 1);
  ASSERT_FALSE(empty_folder);
  EXPECT_THAT(empty_folder.error().message, HasSubstr("0 bytes, at least 1"));
}

TEST_F(TextTest, RefusesAMissingPath) {
  const auto text = Text::load((folder_ / "missing").string(), 1);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::unavailable);
  EXPECT_THAT(text.error().message, HasSubstr("missing"));
}

TEST(TextDraw, TargetsAreTheNextBytes) {
  const Batch batch = draw(Text(alphabet()), {.seed = 3}, 7, 50);
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    EXPECT_EQ(batch.targets[i], batch.inputs[i] + 1);
    if (i % 7 != 0) {
      EXPECT_EQ(batch.inputs[i], batch.targets[i - 1]);
    }
  }
}

TEST(TextDraw, IsAFunctionOfSeedRankAndStep) {
  const Text text(alphabet());
  const BatchKey key{.seed = 3, .rank = 1, .step = 5};
  EXPECT_EQ(draw(text, key, 7, 4), draw(text, key, 7, 4));
  EXPECT_NE(draw(text, key, 7, 4), draw(text, {.seed = 4, .rank = 1, .step = 5}, 7, 4));
  EXPECT_NE(draw(text, key, 7, 4), draw(text, {.seed = 3, .rank = 2, .step = 5}, 7, 4));
  EXPECT_NE(draw(text, key, 7, 4), draw(text, {.seed = 3, .rank = 1, .step = 6}, 7, 4));
}

TEST(TextDraw, ReachesEveryWindow) {
  const Text text(alphabet().substr(0, 12));
  std::set<std::int32_t> starts;
  for (int step = 0; step < 200; ++step) starts.insert(draw(text, {.step = step}, 7, 1).inputs[0]);
  EXPECT_EQ(starts, (std::set<std::int32_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace hocket
