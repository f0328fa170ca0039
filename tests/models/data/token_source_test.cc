#include "models/data/token_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// Returns the numbers as bytes, lowest first.
std::string little(const std::vector<std::uint32_t>& numbers, int bytes) {
  std::string text;
  for (const std::uint32_t number : numbers)
    for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(number >> (8 * i)));
  return text;
}

std::string llmc_file(std::vector<std::uint32_t> header, const std::vector<std::uint32_t>& tokens,
                      int bytes) {
  header.resize(256);
  return little(header, 4) + little(tokens, bytes);
}

std::vector<std::uint32_t> counted(std::uint32_t begin, std::uint32_t end) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

struct TokenBatch {
  std::vector<std::int32_t> inputs, targets;
  bool operator==(const TokenBatch&) const = default;
};

TokenBatch draw(const TokenSource& source, const BatchKey& key, std::int64_t sequence,
                std::size_t batch, std::int64_t vocabulary = 1 << 20) {
  const auto size = static_cast<std::size_t>(sequence) * batch;
  TokenBatch drawn{std::vector<std::int32_t>(size), std::vector<std::int32_t>(size)};
  const auto ok = source.draw(key, sequence, vocabulary, drawn.inputs, drawn.targets);
  EXPECT_TRUE(ok) << ok.error().message;
  return drawn;
}

class TokenSourceTest : public testing::Test {
 protected:
  TokenSource opened(const std::string& name, const std::string& bytes,
                     TokenFormat format = TokenFormat::automatic) {
    auto source = TokenSource::open(folder_.write(name, bytes), format);
    if (source) return *source;
    ADD_FAILURE() << source.error().message;
    return TokenSource::of_text("");
  }
  std::string error(const std::string& name, const std::string& bytes,
                    TokenFormat format = TokenFormat::automatic) {
    const auto source = TokenSource::open(folder_.write(name, bytes), format);
    return source ? "" : source.error().message;
  }

  const TemporaryFolder folder_;
};

TEST_F(TokenSourceTest, ReadsEveryFormatToTheSameTokens) {
  const std::vector<std::uint32_t> tokens = counted(100, 200);
  const std::vector<TokenSource> sources = {
      opened("a.txt", little(tokens, 1)),
      opened("b.bin", little(tokens, 2)),
      opened("c", little(tokens, 2), TokenFormat::nano_gpt),
      opened("d.bin", little(tokens, 1), TokenFormat::text),
      opened("e.bin", llmc_file({20240520, 1, 100}, tokens, 2)),
      opened("f.bin", llmc_file({20240801, 7, 100}, tokens, 4)),
      TokenSource::of_text(little(tokens, 1))};
  const BatchKey key{.seed = 3, .rank = 1, .step = 5};
  for (const TokenSource& source : sources) {
    EXPECT_EQ(source.size(), 100);
    EXPECT_EQ(source.largest_token(), 199);
    EXPECT_EQ(draw(source, key, 9, 20), draw(sources[0], key, 9, 20));
  }
}

TEST_F(TokenSourceTest, ReadsTokensOfAllTheirBytes) {
  EXPECT_EQ(opened("a.bin", little({0xfffe, 0x0102}, 2)).largest_token(), 0xfffe);
  EXPECT_EQ(opened("b", llmc_file({20240801, 7, 2}, {128255, 1}, 4)).largest_token(), 128255);
  EXPECT_EQ(opened("c", llmc_file({20240801, 7, 1}, {0xffffffff}, 4)).largest_token(), 0xffffffff);
}

TEST_F(TokenSourceTest, TargetsAreTheNextTokens) {
  const TokenBatch batch = draw(opened("a.bin", little(counted(0, 300), 2)), {.seed = 3}, 7, 50);
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    EXPECT_EQ(batch.targets[i], batch.inputs[i] + 1);
    if (i % 7 != 0) {
      EXPECT_EQ(batch.inputs[i], batch.targets[i - 1]);
    }
  }
}

TEST_F(TokenSourceTest, IsAFunctionOfSeedRankAndStepAndReachesEveryWindow) {
  const TokenSource source = TokenSource::of_text("0123456789ab");
  const BatchKey key{.seed = 3, .rank = 1, .step = 5};
  EXPECT_EQ(draw(source, key, 7, 40), draw(source, key, 7, 40));
  EXPECT_NE(draw(source, key, 7, 40), draw(source, {.seed = 4, .rank = 1, .step = 5}, 7, 40));
  EXPECT_NE(draw(source, key, 7, 40), draw(source, {.seed = 3, .rank = 2, .step = 5}, 7, 40));
  EXPECT_NE(draw(source, key, 7, 40), draw(source, {.seed = 3, .rank = 1, .step = 6}, 7, 40));
  std::set<std::int32_t> begins;
  for (int step = 0; step < 200; ++step)
    begins.insert(draw(source, {.step = step}, 7, 1).inputs[0]);
  EXPECT_EQ(begins, (std::set<std::int32_t>{'0', '1', '2', '3', '4'}));
}

TEST_F(TokenSourceTest, AFolderIsItsFilesInTheOrderOfNames) {
  folder_.write("2.bin", llmc_file({20240520, 1, 3}, {4, 5, 6}, 2));
  folder_.write("1.bin", little({1, 2, 3}, 2));
  folder_.write("15.bin", llmc_file({20240520, 1, 0}, {}, 2));
  folder_.write("3.bin", little({7}, 2));
  const auto source = TokenSource::open(folder_.path());
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->size(), 7);
  const TokenBatch batch = draw(*source, {}, 6, 1);
  EXPECT_THAT(batch.inputs, testing::ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(batch.targets, testing::ElementsAre(2, 3, 4, 5, 6, 7));
}

TEST_F(TokenSourceTest, SaysWhichFileIsWrongAndWhy) {
  EXPECT_THAT(error("odd.bin", "abc"),
              HasSubstr("odd.bin: has 3 bytes, which are not whole tokens of 2 bytes"));
  EXPECT_THAT(error("short", little({20240520}, 4) + "ab"),
              HasSubstr("short: ends within the header of 1024 bytes, after 6"));
  EXPECT_THAT(error("old", llmc_file({20240520, 7, 1}, {1}, 2)),
              HasSubstr("old: is of version 7, expected 1"));
  EXPECT_THAT(error("cut", llmc_file({20240520, 1, 5}, {1, 2, 3}, 2)),
              HasSubstr("cut: has 1030 bytes, but its header says 5 tokens, which are 1034 bytes"));
  EXPECT_THAT(error("long", llmc_file({20240801, 7, 0xffffffff}, {1}, 4)),
              HasSubstr("its header says 4294967295 tokens, which are 17179870204 bytes"));
  EXPECT_THAT(error("text", "no tokens", TokenFormat::llm_c),
              HasSubstr("text: is no token file of llm.c"));
  EXPECT_THAT(TokenSource::open(folder_.file("none.bin")).error().message, HasSubstr("none.bin"));
}

TEST_F(TokenSourceTest, RefusesTokensBeyondTheVocabularyAndTooFew) {
  const TokenSource source = opened("a.bin", little({1, 2, 50257}, 2));
  std::vector<std::int32_t> inputs(2), targets(2);
  const auto drawn = source.draw({}, 2, 50257, inputs, targets);
  ASSERT_FALSE(drawn);
  EXPECT_THAT(drawn.error().message,
              HasSubstr("a.bin: token 50257 at 2 is beyond the vocabulary of 50257"));
  EXPECT_TRUE(source.draw({}, 2, 50258, inputs, targets));
  EXPECT_TRUE(source.check_window(2));
  EXPECT_THAT(source.check_window(3).error().message,
              HasSubstr("a.bin: has 3 tokens, at least 4 are needed"));
  // A token that a number of 32 bits does not hold is beyond any vocabulary.
  const TokenSource vast = opened("b", llmc_file({20240801, 7, 3}, {1, 2, 0xffffffff}, 4));
  EXPECT_FALSE(vast.draw({}, 2, std::int64_t{1} << 31, inputs, targets));
}

TEST_F(TokenSourceTest, ATextMayComeFromAPipe) {
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "text"; });
  const auto source = TokenSource::open(pipe, TokenFormat::text);
  writer.join();
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->size(), 4);
}

}  // namespace
}  // namespace hocket
