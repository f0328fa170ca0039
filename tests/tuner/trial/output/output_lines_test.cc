#include "tuner/trial/output/output_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/mutate.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> found;
  OutputLines lines(text);
  while (lines.next()) found.emplace_back(lines.line()).append(lines.is_ended() ? "" : "…");
  return found;
}

TEST(OutputLines, EndWhereTheCursorMoves) {
  EXPECT_THAT(lines_of("a\nb\rc\bd"), ElementsAre("a", "b", "c", "d…"));
  EXPECT_THAT(lines_of("a\x1b[2Kb\x1b[1Ac\x1b[10;4Hd\x1b[Ge\x1b"
                       "7f\n"),
              ElementsAre("a", "b", "c", "d", "e", "f"));
  EXPECT_THAT(lines_of(""), ElementsAre());
}

TEST(OutputLines, HaveNoColoursAndNoTitles) {
  EXPECT_THAT(lines_of("t=\x1b[1;32m12\x1b[0m ms\n\x1b]0;title\at=3\x1b(B\n"),
              ElementsAre("t=12 ms", "t=3"));
}

TEST(OutputLines, ASequenceThatIsNotOverIsNotText) {
  EXPECT_THAT(lines_of("a\nb\x1b["), ElementsAre("a", "b…"));
  EXPECT_THAT(lines_of("a\x1b"), ElementsAre("a…"));
}

TEST(OutputLines, TakeAnyTextApart) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::string text = mutate("a\x1b[1mb\x1b[2Kc\r\x1b]0;t\a\n\x1b(Bd", random);
    OutputLines lines(text);
    std::size_t consumed = 0;
    while (lines.next()) {
      EXPECT_GT(lines.consumed(), consumed);
      consumed = lines.consumed();
    }
    EXPECT_EQ(consumed, text.size());
  }
}

TEST(OutputLines, OfStatesWrittenOverOneAnotherTheLastIsShown) {
  EXPECT_EQ(last_states("10%\r20%\r30%\r\nend\r\n"), "30%\nend\n");
  EXPECT_EQ(last_states("10%\x1b[2K20%\x1b[2K\x1b[1Gerror: memory"), "error: memory");
  EXPECT_EQ(last_states("a\n\nb"), "a\n\nb");
}

}  // namespace
}  // namespace hocket
