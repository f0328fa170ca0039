#include "profiler/formats/json/repaired_text.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

namespace hocket {
namespace {

using Kind = RepairedText::Kind;

std::string read_all(RepairedText& text) {
  return {std::istreambuf_iterator<char>(&text), std::istreambuf_iterator<char>()};
}

std::string repaired(const std::string& given) {
  std::stringbuf in(given);
  RepairedText text(in);
  return read_all(text);
}

TEST(RepairedText, LeavesJsonAlone) {
  for (const std::string text :
       {"", "{}", R"({"a": [-1.5e+3, 2E-4, true, false, null], "NaN": "a NaN, \"inf\" \\"})",
        "\"\u00e4 \u20ac \U0001f600\"", "[\n1,\n2\n]\n", "NaNo", "[1,-2,+3]"}) {
    EXPECT_EQ(repaired(text), text);
  }
  std::mt19937_64 random(5);
  std::string text = "[\"";
  while (text.size() < 300'000) text += static_cast<char>('a' + random() % 26);
  EXPECT_EQ(repaired(text + "\"]"), text + "\"]") << "over the ends of blocks";
}

TEST(RepairedText, ReplacesWhatIsNoJson) {
  EXPECT_EQ(repaired("[NaN, -Infinity,nan]"), "[null, null,null]");
  EXPECT_EQ(repaired("\"a\xff"
                     "b\""),
            "\"a?b\"");
  EXPECT_EQ(repaired("\"\xe2\x82\""), "\"?\"") << "a cut sequence";
  EXPECT_EQ(repaired("\"\xc0\xaf\""), "\"??\"") << "an overlong one";
  EXPECT_EQ(repaired("\"a\tb\nc\""), "\"a b c\"");
  EXPECT_EQ(repaired("{\"x\":inf"), "{\"x\":null");
}

TEST(RepairedText, SaysWhereTheFirstIsAndHowMany) {
  std::stringbuf in("[1,\nNaN,\n\"a\nb\",\nNaN, \"\xff\"]\n");
  RepairedText text(in);
  read_all(text);
  EXPECT_EQ(text.repairs(Kind::not_a_number).first_line, 2);
  EXPECT_EQ(text.repairs(Kind::not_a_number).count, 2);
  EXPECT_EQ(text.repairs(Kind::control_character).first_line, 3);
  EXPECT_EQ(text.repairs(Kind::not_utf8).first_line, 5);
}

TEST(RepairedText, CountsLinesAndTakesTextBack) {
  std::stringbuf in("a\nb\nc\n");
  RepairedText text(in);
  EXPECT_EQ(text.line(), 1);
  for (int i = 0; i < 4; ++i) text.sbumpc();
  EXPECT_EQ(text.line(), 3);
  text.unread("[{");
  EXPECT_EQ(text.line(), 3);
  EXPECT_EQ(read_all(text), "[{c\n");
}

/// Texts one after another, each as often as it says, without memory for them.
class Repeated final : public std::streambuf {
 public:
  explicit Repeated(std::vector<std::pair<std::string, std::int64_t>> parts)
      : parts_(std::move(parts)) {}

 protected:
  int_type underflow() override {
    while (at_ < parts_.size() && parts_[at_].second == 0) ++at_;
    if (at_ == parts_.size()) return traits_type::eof();
    auto& [text, count] = parts_[at_];
    --count;
    setg(text.data(), text.data(), text.data() + text.size());
    return traits_type::to_int_type(*gptr());
  }

 private:
  std::vector<std::pair<std::string, std::int64_t>> parts_;
  std::size_t at_ = 0;
};

constexpr std::int64_t kMib = 1 << 20;

TEST(RepairedText, KeepsTheFirstOfManyBlanks) {
  Repeated in({{"[1,", 1}, {std::string(kMib - 1, ' ') + "\n", 200}, {"2]", 1}});
  RepairedText text(in);
  const std::string read = read_all(text);
  EXPECT_EQ(read.size(), 5 + RepairedText::kMostBlanks);
  EXPECT_TRUE(read.starts_with("[1, ") && read.ends_with(" 2]"));
  EXPECT_EQ(text.line(), 201) << "lines are counted on";
  EXPECT_FALSE(text.problem());
}

TEST(RepairedText, EndsAtATextOrNumberWithoutEnd) {
  for (const auto& [begin, what] :
       {std::pair{"[\n\"", "line 2: a text"}, {"[\n", "number or word"}}) {
    for (const char* filler : {"0", "a", "-", "\xc3\xa4"}) {
      Repeated in({{begin, 1}, {std::string(filler), 3 * RepairedText::kMostTokenBytes}});
      RepairedText text(in);
      EXPECT_LE(read_all(text).size(), RepairedText::kMostTokenBytes + 9) << filler;
      ASSERT_TRUE(text.problem()) << filler;
      EXPECT_NE(text.problem()->find(what), std::string::npos) << *text.problem();
      EXPECT_NE(text.problem()->find("longer than 16 MiB"), std::string::npos);
    }
  }
  Repeated in({{"[", 1}, {"\"" + std::string(kMib, 'a') + "\",", 40}, {"1]", 1}});
  RepairedText text(in);
  EXPECT_EQ(read_all(text).size(), 40 * (kMib + 3) + 3) << "many texts are as long as they like";
  EXPECT_FALSE(text.problem());
}

TEST(RepairedText, EndsWhenMemoryDoes) {
  std::int64_t used = 0;
  MemoryBudget memory(10 * kMib, [&] { return used; });
  Repeated in({{"[1],", 8 * kMib}});
  RepairedText text(in, &memory);
  std::int64_t read = 0;
  while (text.sbumpc() != std::char_traits<char>::eof()) used = ++read;
  EXPECT_TRUE(text.problem());
  EXPECT_LT(read, 13 * kMib);
}

}  // namespace
}  // namespace hocket
