#include "daemon/api/computed_results.h"

#include <gtest/gtest.h>

#include "tests/archive/profiles/profiled_job.h"
#include "tests/archive/studies/kept_study.h"

namespace hocket {
namespace {

TEST(ComputedResults, KeepsWhatItHasLoaded) {
  ProfiledJob job;
  const auto name = job.add().name;
  const ServedTraces traces;
  ComputedResults computed(*job.store, traces);
  const auto first = must(computed.timeline(name));
  EXPECT_EQ(must(computed.timeline(name)), first);
  EXPECT_EQ(first->profile, name);
  EXPECT_EQ(must(computed.measured_job(name)), must(computed.measured_job(name)));
}

TEST(ComputedResults, AnotherProfileOfTheSameNameIsLoadedAnew) {
  ProfiledJob job;
  const auto row = job.add();
  const ServedTraces traces;
  ComputedResults computed(*job.store, traces);
  const auto first = must(computed.timeline(row.name));
  ASSERT_TRUE(job.store->remove_profile(row.id));
  EXPECT_EQ(code_of(computed.timeline(row.name)), ErrorCode::not_found);
  const auto again = job.add();
  EXPECT_NE(must(computed.timeline(again.name)), first);
}

TEST(ComputedResults, AStudyIsExplainedAnewAfterItHasChanged) {
  std::int64_t now_ns = 1;
  const auto store = open_store_in_memory([&] { return ++now_ns; });
  const ServedTraces traces;
  ComputedResults computed(*store, traces);
  EXPECT_EQ(code_of(computed.explanation("parabola")), ErrorCode::not_found);
  keep_study(*store, parabola());
  const auto first = must(computed.explanation("parabola"));
  EXPECT_EQ(first->title, "study parabola");
  EXPECT_EQ(must(computed.explanation("1")), first);
  ASSERT_TRUE(store->update_study(1, {.state = StudyState::finished}));
  EXPECT_NE(must(computed.explanation("parabola")), first);
}

}  // namespace
}  // namespace hocket
