#include "profiler/formats/kineto_step_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Records with names, and the notes on what their steps are.
struct Recorded {
  std::vector<TraceRecord> records;
  Interner names;
  ImportNotes notes;

  void add(TraceKind kind, const std::string& name, std::int64_t begin_ns, std::int64_t end_ns,
           std::int64_t step = kNoStep) {
    TraceRecord record;
    record.kind = kind;
    record.name = names.number(name);
    record.begin_ns = begin_ns;
    record.end_ns = end_ns;
    record.step = step;
    records.push_back(record);
  }
  std::vector<StepRange> steps(const KinetoStepMarks& marks = {}, std::string_view range = {}) {
    return marks.steps(records, names, range, notes);
  }
};

TEST(KinetoStepMarks, TheHostsMarksComeBeforeThoseOfTheDevice) {
  KinetoStepMarks marks;
  marks.take({"ProfilerStep#7", 100, 200});
  // Another stream's range of the same step, and ranges that mark none.
  marks.take({"ProfilerStep#7", 90, 180});
  marks.take({"ProfilerStep#8", 210, 300});
  marks.take({"ProfilerStep#x", 400, 500});
  marks.take({"ProfilerStep#9", 600, 500});
  marks.take({"forward", 0, 50});
  Recorded recorded;
  recorded.add(TraceKind::compute, "gemm", 100, 150);
  EXPECT_THAT(recorded.steps(marks), ElementsAre(StepRange{7, 90, 200}, StepRange{8, 210, 300}));
  recorded.add(TraceKind::range, "ProfilerStep#3", 10, 60);
  EXPECT_THAT(recorded.steps(marks), ElementsAre(StepRange{3, 10, 60}));
  EXPECT_THAT(recorded.notes.texts(), IsEmpty());
}

TEST(KinetoStepMarks, NumbersOfRecordsComeBeforeRepetition) {
  Recorded recorded;
  for (int step = 0; step < 8; ++step) {
    recorded.add(TraceKind::compute, "gemm", 100 * step, 100 * step + 40, step / 2);
    recorded.add(TraceKind::compute, "add", 100 * step + 50, 100 * step + 60, step / 2);
  }
  EXPECT_THAT(recorded.steps(), ElementsAre(StepRange{0, 0, 0}, StepRange{1, 200, 200},
                                            StepRange{2, 400, 400}, StepRange{3, 600, 600}));
  for (TraceRecord& record : recorded.records) record.step = kNoStep;
  EXPECT_EQ(recorded.steps().size(), 8U);
  EXPECT_THAT(recorded.notes.texts(), ElementsAre(HasSubstr("from the repetition of names")));
}

TEST(KinetoStepMarks, ANamedRangeIsTheOnlySource) {
  Recorded recorded;
  for (int step = 0; step < 8; ++step) {
    recorded.add(TraceKind::range, "ProfilerStep#" + std::to_string(step), 100 * step,
                 100 * step + 90);
    recorded.add(TraceKind::compute, "gemm", 100 * step, 100 * step + 40);
  }
  EXPECT_THAT(recorded.steps({}, "epoch"), IsEmpty());
  EXPECT_THAT(recorded.notes.texts(), ElementsAre(HasSubstr("no range is called \"epoch\"")));
}

}  // namespace
}  // namespace hocket
