#include "cli/views/tape_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/tape/tape_fixtures.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TapeRecord record(TapeKind kind, std::int64_t time_ns, std::uint64_t number,
                  std::int64_t bytes = 0) {
  TapeRecord made;
  made.kind = kind;
  made.time_ns = time_ns;
  made.number = number;
  made.bytes = bytes;
  return made;
}

TEST(TapeTimes, AStepEndsWithTheLastOfItsTasks) {
  TapeTimes times;
  TapeRecord captured = record(TapeKind::captured, 0, 0);
  captured.tasks = {{"compute", 0, false, 0, {}}, {"collective", 0, true, 128, {}}};
  times.add(captured);
  for (const std::uint64_t first : {0, 2}) {
    TapeRecord launched = record(TapeKind::launched, 5, 0);
    launched.first_task = first;
    times.add(launched);
  }
  times.add(record(TapeKind::finished_part, 10, 1, 64));
  times.add(record(TapeKind::finished, 11, 0));
  EXPECT_THAT(times.step_ends_ns(), IsEmpty()) << "half a collective is left";
  times.add(record(TapeKind::finished_part, 12, 1, 64));
  EXPECT_THAT(times.step_ends_ns(), ElementsAre(12));
  times.add(record(TapeKind::finished_part, 13, 3, 128));
  times.add(record(TapeKind::finished, 14, 2));
  EXPECT_THAT(times.step_ends_ns(), ElementsAre(12, 14));
  EXPECT_EQ(times.last_finish_ns(), 14);
}

TEST(TapeTimes, TasksThatWereSubmittedOneByOneAreNoSteps) {
  TapeTimes times;
  times.add(record(TapeKind::finished, 3, 0));
  EXPECT_THAT(times.step_ends_ns(), IsEmpty());
  EXPECT_EQ(times.last_finish_ns(), 3);
}

TEST(TapeTimes, EveryLaunchOfAWholeRunEnds) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const auto records = read_tape(random_tape(seed)).records;
    TapeTimes times;
    for (const auto& each : records) times.add(each);
    const auto launches = std::ranges::count(records, TapeKind::launched, &TapeRecord::kind);
    const auto ends_ns = times.step_ends_ns();
    EXPECT_EQ(std::ssize(ends_ns), launches);
    for (const std::int64_t end_ns : ends_ns) EXPECT_LE(end_ns, records.back().time_ns);
  }
}

}  // namespace
}  // namespace hocket
