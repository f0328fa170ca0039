#include "tuner/trial/running_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/mutate.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

LiveSamples of(const char* objective, std::size_t skip = 0, const std::string& file = {}) {
  return LiveSamples::make(parse_objective(objective).value(), skip, file).value();
}

TEST(LiveSamples, SomeObjectivesShowThemBeforeTheEnd) {
  for (const char* text : {"report", "regex:(.)", "file:x"}) {
    EXPECT_TRUE(LiveSamples::can_see(parse_objective(text).value())) << text;
  }
  for (const char* text : {"auto", "wall", "memory"}) {
    EXPECT_FALSE(LiveSamples::can_see(parse_objective(text).value())) << text;
  }
}

TEST(LiveSamples, OfAPatternAreThoseOfCompleteLines) {
  auto live = of("regex:t=([0-9]+)");
  EXPECT_THAT(live.read({"", ""}), IsEmpty());
  EXPECT_THAT(live.read({"t=1", ""}), IsEmpty());
  EXPECT_THAT(live.read({"t=12\nt=3 t=4\nt=", ""}), ElementsAre(12, 3, 4));
  EXPECT_THAT(live.read({"t=12\nt=3 t=4\nt=5\r", ""}), ElementsAre(12, 3, 4, 5));
}

TEST(LiveSamples, OfAPatternAreLookedForInStderrWhileStdoutHasNone) {
  auto live = of("regex:t=([0-9]+)", 1);
  EXPECT_THAT(live.read({"hello\n", "t=1\nt=2\n"}), ElementsAre(2));
  EXPECT_THAT(live.read({"hello\nt=7\nt=8\n", "t=1\nt=2\nt=3\n"}), ElementsAre(8));
}

TEST(LiveSamples, OfAPatternThatMatchesNoNumberAreNone) {
  auto live = of("regex:t=(\\S+)");
  EXPECT_THAT(live.read({"t=1\n", ""}), ElementsAre(1));
  EXPECT_THAT(live.read({"t=1\nt=nan\n", ""}), IsEmpty());
  EXPECT_THAT(live.read({"t=1\nt=nan\nt=2\n", ""}), IsEmpty());
}

/// The final samples equal those of the whole output, whatever is printed and whenever read() is
/// called.
TEST(LiveSamples, AreInTheEndThoseOfTheWholeOutput) {
  const auto objective = parse_objective("regex:t=([0-9.]+)").value();
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::string text = mutate("t=1.5\nloss\nt=2 t=30\r\nt=4\n\nt=5\n", random) + "\n";
    auto live = of("regex:t=([0-9.]+)", 1);
    for (std::size_t seen = 0; seen < text.size(); seen += 1 + random() % 8) {
      static_cast<void>(live.read({std::string_view(text).substr(0, seen), ""}));
    }
    TrialEvidence evidence;
    evidence.stdout_text = text;
    const auto whole = evaluate_objective(objective, 1, evidence);
    EXPECT_EQ(live.read({text, ""}), whole ? whole->samples : std::vector<double>());
  }
}

TEST(LiveSamples, OfAFileAreItsCompleteLinesWhateverIsWrittenToIt) {
  const TemporaryFolder folder;
  for (const char* objective : {"file:times", "report"}) {
    SCOPED_TRACE(objective);
    std::filesystem::remove(folder.file("times"));
    auto live = of(objective, 1, folder.file("times"));
    EXPECT_THAT(live.read({}), IsEmpty());
    folder.write("times", "12\n3\n4");
    EXPECT_THAT(live.read({}), ElementsAre(12, 3));
    folder.write("times", "12\n3\n45\n");
    EXPECT_THAT(live.read({}), ElementsAre(12, 3, 45));
    folder.write("times", "slow\n");
    EXPECT_THAT(live.read({}), IsEmpty());
    folder.write("times", "7\n");
    EXPECT_THAT(live.read({}), ElementsAre(7));
    folder.write("times", std::string(2 << 20, '1'));
    EXPECT_THAT(live.read({}), IsEmpty());
  }
  auto live = of("report", 0, folder.path());
  EXPECT_THAT(live.read({}), IsEmpty());
}

}  // namespace
}  // namespace hocket
