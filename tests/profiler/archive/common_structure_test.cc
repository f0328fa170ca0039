#include "profiler/archive/common_structure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/profiler/archive/profiled_job.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(InferCommonStructure, TasksMeanTheSameOnAllRanks) {
  StepDescription step = small_step();
  step.rank_compute_scale = {1, 1.7};
  std::vector<RankTrace> traces;
  for (auto& made : ProfiledJob::traces(step)) traces.push_back(made.trace);
  std::vector<std::string> notes;
  const auto structure = infer_common_structure(traces, notes);
  EXPECT_THAT(notes, IsEmpty());
  ASSERT_FALSE(structure.tasks.empty());
  for (const RankTrace& trace : traces) {
    std::size_t numbered = 0;
    for (const TraceRecord& record : trace.records) {
      if (record.task == kNoTask) continue;
      ++numbered;
      const StructureTask& task = structure.tasks.at(static_cast<std::size_t>(record.task));
      EXPECT_EQ(task.name, trace.names[record.name]);
      EXPECT_EQ(task.collective, record.collective);
    }
    EXPECT_GT(numbered, 0U);
  }
}

TEST(InferCommonStructure, ARankThatDoesOtherWorkIsLeftOutOfPredictions) {
  std::vector<RankTrace> traces;
  for (auto& made : ProfiledJob::traces()) traces.push_back(made.trace);
  for (auto& name : traces[1].names) name += "'";
  std::vector<std::string> notes;
  EXPECT_FALSE(infer_common_structure(traces, notes).tasks.empty());
  EXPECT_THAT(notes, ::testing::ElementsAre(AllOf(HasSubstr("rank 1"), HasSubstr("other work"))));
  for (const TraceRecord& record : traces[1].records) EXPECT_EQ(record.task, kNoTask);
}

}  // namespace
}  // namespace hocket
