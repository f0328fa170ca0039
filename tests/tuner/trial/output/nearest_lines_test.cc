#include "tuner/trial/output/nearest_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/mutate.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kOutput =
    "loading 3 files\n"
    "step 1: step_ms=12.5 loss=3.1\r\n"
    "step 2: step_ms=12.6 loss=3.1\n"
    "Step_MS 12\n"
    "step_ms= (no number)\n";

TEST(NearestLines, FindsWhatAMistypedPatternMeant) {
  for (const char* pattern : {"stp_ms=([0-9.]+)", "step_ms=(\\d+)$", "^STEP_MS=([0-9]+)",
                              "(?:step_ms=)([]0-9.]+)s", "step_ms\\=\\s*([^a-z]+)ms{2,3}"}) {
    EXPECT_THAT(nearest_lines(pattern, kOutput, 1), ElementsAre("step 1: step_ms=12.5 loss=3.1"))
        << pattern;
  }
}

TEST(NearestLines, ReturnsTheNearestFirstAndLinesThatDifferInDigitsOnce) {
  EXPECT_THAT(nearest_lines("step_ms=([0-9.]+)x", kOutput, 9),
              ElementsAre("step 1: step_ms=12.5 loss=3.1", "Step_MS 12"));
}

TEST(NearestLines, ReturnsNothingWhereNothingIsNear) {
  EXPECT_THAT(nearest_lines("throughput: ([0-9.]+)", kOutput, 3), IsEmpty());
  EXPECT_THAT(nearest_lines("([0-9.]+)", kOutput, 3), IsEmpty()) << "fits too much";
  EXPECT_THAT(nearest_lines("step_ms=([0-9.]+)", "", 3), IsEmpty());
}

TEST(NearestLines, ReadsAnyPatternAndText) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const std::string pattern = mutate("^a[^]b\\]c](?:d{1,2}|\\.e)(x)", random);
    const std::string text = mutate(kOutput, random);
    EXPECT_LE(nearest_lines(pattern, text, 2).size(), 2u);
  }
}

}  // namespace
}  // namespace hocket
