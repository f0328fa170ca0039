#pragma once

// A runner of trials that calls a function in this process, always to its end. One thread.

#include <functional>
#include <span>
#include <utility>

#include "core/base/result.h"
#include "tuner/trial/trial_runner.h"

namespace hocket {

class FunctionRunner final : public TrialRunner {
 public:
  using Function = std::function<Result<TrialOutcome>(const Params&)>;

  explicit FunctionRunner(Function function) : function_(std::move(function)) {}

  Result<TrialOutcome> run(const Params& params, std::span<const double>, std::int64_t) override {
    return function_(params);
  }

 private:
  Function function_;
};

}  // namespace hocket
