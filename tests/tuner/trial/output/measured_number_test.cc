#include "tuner/trial/output/measured_number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::vector<double>> read(const std::string& pattern, const std::string& text,
                                 std::optional<NumberUnit> unit = {}) {
  const auto matches = LineMatcher::make(pattern)->matches(text);
  return measured_samples(matches, 0, pattern, unit);
}

/// Returns the only sample, or the error without the number of the match.
std::string read_one(const std::string& pattern, const std::string& text) {
  const auto samples = read(pattern, text);
  if (!samples) return samples.error().message.substr(samples.error().message.find(": ") + 2);
  return samples->size() == 1 ? to_text(ParameterValue(samples->front())) : "several";
}

TEST(MeasuredNumber, CountsWhole) {
  const char* const kUsual = "r=([0-9.]+)";
  const std::pair<const char*, const char*> cases[] = {{"r=10,753 per second", "10753"},
                                                       {"r=1,234,567.5", "1234567.5"},
                                                       {"r=10'753", "10753"},
                                                       {"r=10_753", "10753"},
                                                       {"r=1.0753e+04", "10753"},
                                                       {"r=4.0E+01", "40"},
                                                       {"r=5.", "5"},
                                                       {"r=5.5, next", "5.5"},
                                                       {"r=1.2k", "1200"},
                                                       {"r=1.5Mtok/s", "1500000"},
                                                       {"r=12 tok/s", "12"},
                                                       {"r=95%", "95"},
                                                       {"r=\x1b[32m10.5\x1b[0mms", "10.5"}};
  for (const auto& [text, number] : cases) EXPECT_EQ(read_one(kUsual, text), number) << text;
  EXPECT_EQ(read_one("r=([0-9.,]+)", "r=10,753, x"), "10753");
  EXPECT_EQ(read_one("r=([0-9]+)", "r=12.75"), "12.75");
  EXPECT_EQ(read_one("r=([0-9.]+).*", "r=10,753 x"), "10753");
  EXPECT_EQ(read_one("r=(\\S+)", "r=+5e1"), "50");
  EXPECT_EQ(read_one("r=([0-9.]+)apples", "r=3apples"), "3");
}

TEST(MeasuredNumber, APartOfAWordIsNone) {
  const std::pair<const char*, const char*> cases[] = {
      {"r=1.#INF", "\"1.\" of \"1.#INF\""}, {"r=12,5", "\"12\" of \"12,5\""},
      {"r=0,753", "\"0\" of \"0,753\""},    {"r=10,75,3", "\"10\" of \"10,75,3\""},
      {"r=1:30", "\"1\" of \"1:30\""},      {"r=12apples", "\"12\" of \"12apples\""},
      {"r=0x1F", "\"0\" of \"0x1F\""},      {"r=12/60", "\"12\" of \"12/60\""}};
  for (const auto& [text, quoted] : cases) {
    EXPECT_THAT(read_one("r=([0-9.]+)", text), HasSubstr(std::string("matched ") + quoted)) << text;
    EXPECT_THAT(read_one("r=([0-9.]+).*", text), HasSubstr(std::string("matched ") + quoted));
  }
  EXPECT_THAT(read_one("r=.*([0-9.]+)", "r=53.25"), HasSubstr("matched \"5\" of \"53.25\""));
}

TEST(MeasuredNumber, OneThatIsNotFiniteOrBelowZeroIsAnError) {
  for (const char* text : {"r=nan", "r=NaN", "r=inf", "r=-inf", "r=Infinity"})
    EXPECT_THAT(read_one("r=([0-9.]+)", text), HasSubstr("expected a finite number")) << text;
  EXPECT_EQ(read("r=([0-9.]+)", "r=1\nr=2\nr=nan\n").error().message,
            "match 3 of r=([0-9.]+): expected a finite number, found \"nan\"");
  EXPECT_EQ(read_one("r=.*?([0-9.]+)", "r= -5"), "expected a number of at least 0, found \"-5\"");
}

TEST(MeasuredNumber, ARunAndThoseThatFollowAreReadInOneUnit) {
  const char* const kUsual = "r=([0-9.]+)";
  EXPECT_THAT(*read(kUsual, "r=950MB/s r=1.2GB/s"), ElementsAre(950, DoubleEq(1200)));
  EXPECT_THAT(*read(kUsual, "r=1.2 GB/s\nr=950 MB/s"), ElementsAre(1.2, DoubleEq(0.95)));
  EXPECT_THAT(*read(kUsual, "r=8Gbit/s\nr=2GB/s"), ElementsAre(8, DoubleEq(16)));
  EXPECT_THAT(*read(kUsual, "r=950us\nr=1.2ms r=2 s"),
              ElementsAre(950, DoubleEq(1200), DoubleEq(2e6)));
  EXPECT_THAT(*read("([0-9.]+)(?:s/it|it/s)", "2.50s/it\r1.25it/s\r4it/s\r"),
              ElementsAre(2.5, 0.8, 0.25));
  EXPECT_THAT(*read(kUsual, "r=2it/s r=4s/it", number_unit("s/it")), ElementsAre(0.5, 4));
  EXPECT_THAT(*read(kUsual, "r=1.5s", number_unit("ms")), ElementsAre(1500));
  EXPECT_THAT(*read(kUsual, "r=950 tok/s r=1.2k tok/s"), ElementsAre(950, 1200));
  EXPECT_THAT(*read(kUsual, "r=12 r=13ms"), ElementsAre(12, 13));
  EXPECT_EQ(read(kUsual, "r=12ms r=3GB").error().message,
            "match 2 of r=([0-9.]+): its unit is \"GB\", that of the others \"ms\"; write the unit "
            "into the pattern, behind the group");
}

TEST(MeasuredNumber, AnyTextIsReadOrRefused) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto samples =
        read("r=(\\S+)", mutated("r=10,753 r=1.2k r=4e1 r=9MB/s r=-1 r=nan", random));
    if (!samples) continue;
    for (const double sample : *samples) EXPECT_GE(sample, 0);
  }
}

}  // namespace
}  // namespace hocket
