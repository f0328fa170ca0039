#include "archive/studies/interim_study.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/open.h"
#include "tests/archive/studies/kept_study.h"

namespace hocket {
namespace {

/// Ends a study after `limit` trials.
class Limited final : public StudyObserver {
 public:
  Limited(StudyRecord& record, int limit) : record_(record), limit_(limit) {}
  Result<void> trial_started(std::int64_t number, TrialPhase phase, const Params& params) override {
    if (limit_-- == 0) return failure(ErrorCode::interrupted, "enough");
    return record_.trial_started(number, phase, params);
  }
  Result<void> trial_finished(const Trial& trial) override { return record_.trial_finished(trial); }
  Result<void> search_stopped(const std::string& reason) override {
    return record_.search_stopped(reason);
  }

 private:
  StudyRecord& record_;
  int limit_;
};

StudyRow interrupted_study(Store& store, int limit, const StudyToKeep& wanted = parabola()) {
  std::vector<Parameter> parameters;
  for (const auto& text : wanted.parameters) parameters.push_back(parse_parameter(text).value());
  const StudyDefinition definition{.space = Space::make(std::move(parameters)).value(),
                                   .objective = parse_objective("wall").value(),
                                   .trials = wanted.trials,
                                   .working_directory = "/"};
  const auto open =
      start_study(store, {definition, {"job"}, wanted.name, {.name = "work"}, {}}).value();
  StudyRecord record(store, open.study, topology_of(store, open.study).value(), false);
  Limited observer(record, limit);
  FunctionRunner runner(wanted.function);
  EXPECT_FALSE(run_study(study_options(definition), {}, runner, observer, {}));
  EXPECT_TRUE(record.stop(false));
  return store.study(wanted.name).value();
}

TEST(InterimStudy, RecommendsTheBestSoFarAndSaysHowToConfirmIt) {
  const auto store = open_store_in_memory();
  const auto interim = interim_study(*store, interrupted_study(*store, 6));
  ASSERT_TRUE(interim) << interim.error().message;
  EXPECT_EQ(interim->searched, 6);
  EXPECT_TRUE(has_recommendation(*interim));
  EXPECT_EQ(going_on_command(*interim, " --store s.db"),
            "hocket tune --resume --study parabola --trials 6 --store s.db");
}

TEST(InterimStudy, OfTheDefaultAloneRecommendsNothing) {
  const auto store = open_store_in_memory();
  const auto interim = interim_study(*store, interrupted_study(*store, 1));
  ASSERT_TRUE(interim) << interim.error().message;
  EXPECT_FALSE(has_recommendation(*interim));
  EXPECT_EQ(going_on_command(*interim, ""), "hocket tune --resume --study parabola");
}

TEST(InterimStudy, WithoutATrialIsNotFound) {
  const auto store = open_store_in_memory();
  const auto interim = interim_study(*store, interrupted_study(*store, 0));
  ASSERT_FALSE(interim);
  EXPECT_EQ(interim.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace hocket
