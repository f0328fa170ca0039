#include "archive/profiles/common_structure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/archive/profiles/profiled_job.h"

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

TEST(InferCommonStructure, WhatARankLacksIsNoPartOfTheStep) {
  StepDescription step = small_step();
  while (step.layers.size() < 12) step.layers.push_back(step.layers.front());
  std::vector<RankTrace> traces;
  for (auto& made : ProfiledJob::traces(step)) traces.push_back(made.trace);
  std::vector<std::string> notes;
  const auto all = infer_common_structure(traces, notes);
  const auto lacks = [](const TraceRecord& record) { return record.task == 3; };
  EXPECT_FALSE(all.tasks.at(3).collective);
  std::erase_if(traces[1].records, lacks);
  const auto shared = infer_common_structure(traces, notes);
  EXPECT_THAT(notes, IsEmpty());
  ASSERT_EQ(shared.tasks.size(), all.tasks.size() - 1);
  std::size_t accesses = 0, all_accesses = 0;
  for (const StructureTask& task : shared.tasks) accesses += task.accesses.size();
  for (const StructureTask& task : all.tasks) all_accesses += task.accesses.size();
  // Its place in the chain goes with it, and nothing else.
  EXPECT_EQ(accesses, all_accesses - 1);
  for (const RankTrace& trace : traces) {
    for (const TraceRecord& record : trace.records) {
      if (record.task == kNoTask) continue;
      EXPECT_EQ(shared.tasks.at(static_cast<std::size_t>(record.task)).name,
                trace.names[record.name]);
    }
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
