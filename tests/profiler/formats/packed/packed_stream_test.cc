#include "profiler/formats/packed/packed_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <sstream>
#include <utility>

#include "core/base/memory_budget.h"
#include "tests/profiler/formats/packed/packed_stream_writer.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// The result of reading a packed text.
struct Unpacked {
  std::vector<ArchivedFile> files;
  bool is_archive = false;
  std::optional<UnpackProblem> problem;
};

Unpacked unpack(const std::string& bytes, UnpackUse use = {}) {
  std::stringbuf packed(bytes);
  PackedStream stream(packed, use, {});
  Unpacked unpacked;
  while (stream.next()) {
    unpacked.is_archive = stream.is_in_archive();
    const std::string head(stream.head());
    std::string text{std::istreambuf_iterator<char>(stream.bytes()), {}};
    EXPECT_TRUE(text.starts_with(head));
    unpacked.files.emplace_back(stream.name(), std::move(text));
  }
  unpacked.problem = stream.problem();
  return unpacked;
}

/// Text that does not shrink to nothing.
std::string random_text(std::mt19937_64& random, std::size_t size) {
  std::string text = "{";
  while (text.size() < size) text += std::to_string(random() % 100'000) + ",";
  text.resize(std::max<std::size_t>(size, 1));
  return text;
}

TEST(PackedStream, ReadsWhatWasPackedInEveryForm) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const char* filter : {"", "gzip", "zstd", "xz", "bzip2", "lz4"}) {
    for (const char* format : {"raw", "gnutar", "zip"}) {
      SCOPED_TRACE(std::string(format) + " " + filter);
      std::vector<ArchivedFile> files;
      const bool is_raw = std::string(format) == "raw";
      for (std::size_t i = 0; i < (is_raw ? 1 : 1 + random() % 4); ++i) {
        const auto size = random() % (random() % 2 == 0 ? 300 : 300'000);
        files.emplace_back(is_raw ? "" : "../rank" + std::to_string(i) + ".json",
                           random_text(random, size));
      }
      const auto unpacked = unpack(archived(files, format, filter));
      EXPECT_EQ(unpacked.files, files);
      EXPECT_EQ(unpacked.is_archive, !is_raw);
      EXPECT_FALSE(unpacked.problem) << unpacked.problem->message;
    }
  }
}

TEST(PackedStream, CutOffBytesAreReadAsFarAsTheyGo) {
  std::mt19937_64 random(7);
  const std::string text = random_text(random, 1 << 18);
  for (const char* filter : {"gzip", "zstd", "bzip2"}) {
    const std::string bytes = packed(text, filter);
    for (int round = 0; round < 20; ++round) {
      const auto size = 20 + random() % (bytes.size() - 30);
      SCOPED_TRACE(std::string(filter) + " cut off at " + std::to_string(size));
      const auto unpacked = unpack(bytes.substr(0, size));
      ASSERT_TRUE(unpacked.problem);
      EXPECT_FALSE(unpacked.problem->is_limit);
      if (unpacked.files.empty()) continue;
      const std::string& read = unpacked.files[0].second;
      EXPECT_EQ(read, text.substr(0, read.size()));
      if (std::string(filter) == "gzip") {
        // All but the block that was being unpacked.
        const auto share = static_cast<double>(size) / static_cast<double>(bytes.size());
        EXPECT_GT(static_cast<double>(read.size()) + 70e3,
                  share * static_cast<double>(text.size()) * 0.9);
      }
    }
  }
}

TEST(PackedStream, DamagedBytesEndWithAProblemOrAreRead) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<ArchivedFile> files = {{"a.json", random_text(random, 3000)},
                                           {"b.json", random_text(random, 100)}};
  for (const char* filter : {"", "gzip", "zstd"}) {
    for (const char* format : {"gnutar", "zip"}) {
      const std::string bytes = archived(files, format, filter);
      for (int round = 0; round < 200; ++round) {
        std::string damaged = bytes;
        for (int i = 0; i < 3; ++i)
          damaged[random() % damaged.size()] = static_cast<char>(random());
        for (const auto& file : unpack(damaged).files) EXPECT_LE(file.first.size(), 210U);
      }
    }
  }
}

TEST(PackedStream, LimitsAreKept) {
  const std::string zeros(4 << 20, '0');
  const auto message = [&](const std::string& bytes, UnpackLimits limits) {
    const auto unpacked = unpack(bytes, {.limits = limits});
    if (!unpacked.problem || !unpacked.problem->is_limit) return std::string("none");
    std::size_t size = 0;
    for (const auto& file : unpacked.files) size += file.second.size();
    EXPECT_LE(size, 2U << 20);
    return unpacked.problem->message;
  };
  const std::string bomb = packed(zeros, "gzip");
  EXPECT_THAT(message(bomb, {.most_bytes = 1 << 20}), HasSubstr("more than 1048576 bytes"));
  EXPECT_THAT(message(bomb, {.most_ratio = 100, .ratio_from_bytes = 1 << 20}),
              HasSubstr("more than 100 times its size"));
  EXPECT_EQ(message(bomb, {.most_ratio = 5000, .ratio_from_bytes = 1 << 20}), "none");
  EXPECT_EQ(message(bomb, {}), "none") << "small files may shrink as much as they like";
  std::vector<ArchivedFile> many;
  for (int i = 0; i < 20; ++i) many.emplace_back(std::to_string(i), "x");
  EXPECT_THAT(message(archived(many, "zip"), {.most_files = 19}), HasSubstr("more than 19 files"));
  EXPECT_EQ(message(archived(many, "zip"), {.most_files = 20}), "none");
}

TEST(PackedStream, FilesThatAreSkippedCount) {
  const std::string bytes =
      archived({{"a", std::string(4 << 20, '0')}, {"b", "x"}}, "gnutar", "gzip");
  std::stringbuf packed(bytes);
  UnpackUse use{.limits = {.most_bytes = 1 << 20}};
  PackedStream stream(packed, use, {});
  ASSERT_TRUE(stream.next());
  EXPECT_FALSE(stream.next());
  EXPECT_TRUE(stream.problem() && stream.problem()->is_limit);
}

TEST(PackedStream, NothingIsNoFile) {
  const auto unpacked = unpack("");
  EXPECT_TRUE(unpacked.files.empty());
  EXPECT_FALSE(unpacked.problem);
}

TEST(PackedStream, EndsWhenItsReaderHasTakenTooMuchMemory) {
  const std::string text(8 << 20, '0');
  std::int64_t looks = 0;
  const auto unpack_with = [&](const std::string& bytes, std::int64_t most, std::int64_t growth) {
    looks = 0;
    UnpackUse use;
    use.memory = MemoryBudget(most, [&] { return looks++ * growth; });
    return unpack(bytes, std::move(use));
  };
  constexpr std::int64_t kMuch = std::int64_t{1} << 40;
  for (const std::string& bytes :
       {packed(text, "gzip"), packed(text, "zstd"), archived({{"a", text}}, "gnutar"),
        archived({{"a", text}}, "zip"), text}) {
    const auto over = unpack_with(bytes, 5 << 20, 2 << 20);
    ASSERT_TRUE(over.problem && over.problem->is_limit);
    EXPECT_THAT(over.problem->message, HasSubstr("HOCKET_READING_MIB"));
    EXPECT_EQ(looks, 4) << "it stops at once";
    EXPECT_FALSE(unpack_with(bytes, kMuch, 0).problem);
  }
  // Eight looks at a reader that takes more with each MiB.
  const auto bomb = unpack_with(packed(text, "gzip"), kMuch, kPackedMemoryBytes / 2);
  ASSERT_TRUE(bomb.problem && bomb.problem->is_limit);
  EXPECT_THAT(bomb.problem->message, HasSubstr("packed bytes has taken"));
  EXPECT_FALSE(unpack_with(text, kMuch, kPackedMemoryBytes / 2).problem) << "nothing is packed";
}

}  // namespace
}  // namespace hocket
