// One definition and one history give the same trials and the same end, whoever runs them.

#include <gtest/gtest.h>

#include <cmath>

#include "archive/studies/told_trial.h"
#include "daemon/api/study_service.h"
#include "daemon/live/live_search.h"
#include "tests/store/fixtures.h"
#include "tests/tuner/study/function_runner.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/space/schedule_space.h"
#include "tuner/study/study.h"

namespace hocket {
namespace {

/// A search and how it ended.
struct Course {
  std::vector<Params> asked;
  std::string end;  ///< the rule that ended it; empty: none did

  bool operator==(const Course&) const = default;
};

struct Case {
  const char* objective = "report";
  const char* method = "model";
  std::int64_t trials = 9;
  bool has_knobs = true;
  bool stop_early = true;
};

StudyDefinition definition_of(const Case& given, std::int64_t seed) {
  const std::vector<std::string> knobs{"partition_bytes", "streams"};
  auto parameters = given.has_knobs ? must(schedule_parameters(knobs))
                                    : std::vector{must(parse_parameter("X=int:1..40")),
                                                  must(parse_parameter("Y=choice:a,b"))};
  StudyDefinition definition{.space = must(Space::make(std::move(parameters))),
                             .objective = must(parse_objective(given.objective))};
  definition.method = must(parse_search_method(given.method));
  definition.seed = seed;
  definition.trials = given.trials;
  definition.confirm_pairs = 0;
  definition.stop_early = given.stop_early;
  definition.working_directory = "/";
  return definition;
}

/// A function of the setting alone, with a failure here and there.
TrialOutcome measured(const Params& params) {
  double value = 1e7;
  for (const auto& [name, each] : params) {
    const auto* const number = std::get_if<std::int64_t>(&each);
    value += 1e6 * std::abs(std::log2(number ? static_cast<double>(*number) : 2) - 3);
  }
  if (std::fmod(value, 7) < 0.5) {
    TrialOutcome failed;
    failed.message = "unlucky";
    return failed;
  }
  return complete_trial({0.99 * value, value, 1.02 * value});
}

class NoObserver final : public StudyObserver {
 public:
  Result<void> trial_started(std::int64_t, TrialPhase, const Params&) override { return {}; }
  Result<void> trial_finished(const Trial&) override { return {}; }
  Result<void> search_stopped(const std::string&) override { return {}; }
};

Course by_study(const StudyDefinition& definition) {
  FunctionRunner runner([](const Params& params) { return measured(params); });
  NoObserver observer;
  const auto result = must(run_study(study_options(definition), {}, runner, observer, {}));
  Course course{.asked = {}, .end = result.stopped};
  for (const auto& trial : result.trials) course.asked.push_back(trial.params);
  return course;
}

class StudyAgreement : public testing::Test {
 protected:
  StudyRow keep(const StudyDefinition& definition, const char* owner) {
    NewStudy study;
    study.definition = to_json(definition);
    study.command = {"job"};
    study.owner = owner;
    return must(store_->create_study(study));
  }

  /// The service is started anew before every second ask.
  Course by_service(const StudyDefinition& definition) {
    const auto study = keep(definition, StudyService::kOwner);
    auto service = std::make_unique<StudyService>(*store_);
    Course course;
    for (;;) {
      if (course.asked.size() % 2 == 0) service = std::make_unique<StudyService>(*store_);
      const auto asked = must(service->ask(study.name, "w", kShortestLeaseNs));
      if (!asked.trial) {
        EXPECT_TRUE(asked.is_finished);
        if (std::ssize(course.asked) < definition.trials && definition.stop_early)
          course.end = asked.reason;
        return course;
      }
      course.asked.push_back(must(params_from_json(asked.trial->params)));
      must(service->tell(study.name, asked.trial->id, measured(course.asked.back())));
    }
  }

  /// The default is what the job had. The session is loaded anew before every ask.
  Course live(const StudyDefinition& definition) {
    const auto study = keep(definition, "daemon");
    Course course;
    Params params = definition.space.defaults();
    for (;;) {
      course.asked.push_back(params);
      const auto row = must(store_->start_trial({.study_id = study.id,
                                                 .params = to_json(params),
                                                 .worker = course.asked.size() > 1 ? "job" : ""}));
      must(store_->finish_trial(row.id, measured(params)));
      auto session = must(live_session(
          definition, must(store_->trials(study.id, TrialDetail::with_measurements)), {}));
      const SessionNext next = session.ask();
      if (!next.params) {
        if (session.end() == SessionEnd::rule) course.end = next.reason;
        return course;
      }
      params = *next.params;
    }
  }

  std::int64_t now_ns_ = 1'000;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return ++now_ns_; });
};

TEST_F(StudyAgreement, TuneWorkersAndLiveTuningRunTheSameTrials) {
  for (const Case& each :
       {Case{}, Case{.objective = "wall"}, Case{.objective = "regex:t=(.)"},
        Case{.objective = "memory"}, Case{.objective = "wall", .trials = 14, .has_knobs = false},
        Case{.objective = "wall", .trials = 24, .has_knobs = false},
        Case{.method = "tpe", .trials = 12, .has_knobs = false},
        Case{.method = "random", .trials = 30, .stop_early = false}}) {
    SCOPED_TRACE(std::string(each.objective) + " " + each.method + " " +
                 std::to_string(each.trials));
    const auto definition = definition_of(each, 3);
    const Course expected = by_study(definition);
    EXPECT_EQ(by_service(definition), expected);
    EXPECT_EQ(live(definition), expected);
  }
}

}  // namespace
}  // namespace hocket
