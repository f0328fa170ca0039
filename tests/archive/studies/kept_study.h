#pragma once

// A study whose trials are computed by a function, run to its end and kept in a store. One thread.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "archive/studies/open_study.h"
#include "archive/studies/study_job.h"
#include "archive/studies/study_record.h"
#include "store/store.h"
#include "tests/tuner/study/function_runner.h"
#include "tuner/space/parameter_syntax.h"

namespace hocket {

struct StudyToKeep {
  std::string name;
  int trials = 0;
  std::vector<std::string> parameters;
  FunctionRunner::Function function;
  SearchMethod method = SearchMethod::model;
  std::vector<std::string> objectives = {"wall"};
};

inline void keep_study(Store& store, const StudyToKeep& wanted) {
  const auto objectives = parse_objectives(wanted.objectives).value();
  std::vector<Parameter> parameters;
  for (const auto& text : wanted.parameters) parameters.push_back(parse_parameter(text).value());
  const StudyDefinition definition{.space = Space::make(std::move(parameters)).value(),
                                   .objective = objectives.front(),
                                   .other_objectives = {objectives.begin() + 1, objectives.end()},
                                   .method = wanted.method,
                                   .trials = wanted.trials,
                                   .working_directory = "/"};
  const auto open =
      start_study(store, {definition, {"job"}, wanted.name, {.name = "work"}, {}}).value();
  StudyRecord record(store, open.study, topology_of(store, open.study).value(), false);
  FunctionRunner runner(wanted.function);
  const auto result = run_study(study_options(definition), {}, runner, record, {});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(record.finish(*result));
}

/// A parabola in X; Y has no effect, and trials with a large X fail.
inline StudyToKeep parabola(int trials = 14, std::string name = "parabola") {
  const auto function = [](const Params& params) {
    const auto x = static_cast<double>(std::get<std::int64_t>(params.at("X")));
    if (x <= 35) return Result<TrialOutcome>(complete_trial({1e6 * (100 + std::pow(x - 12, 2))}));
    TrialOutcome failed;
    failed.message = "out of <memory>";
    return Result<TrialOutcome>(std::move(failed));
  };
  return {std::move(name), trials, {"X=int:1..40", "Y=choice:a,b"}, function};
}

}  // namespace hocket
