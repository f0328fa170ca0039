#pragma once

// A study of workers in a store in memory, whose clock the tests set.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "archive/studies/open_study.h"
#include "store/open.h"
#include "tests/tuner/study/study_fixture.h"

namespace hocket {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

class SharedStudy {
 public:
  StudyRow row() { return store->study("shared").value(); }
  std::int64_t id() const { return open.study.id; }

  std::vector<TrialRow> trials() {
    return store->trials(id(), TrialDetail::with_measurements).value();
  }

  TrialRow offer(const Params& params, TrialPhase phase = TrialPhase::search) {
    return store
        ->start_trial(
            {.study_id = id(), .phase = phase, .params = to_json(params), .is_offered = true})
        .value();
  }

  void end(StudyState state = StudyState::finished) {
    ASSERT_TRUE(store->update_study(id(), {.state = state}));
  }

  /// Every look at it is later than the one before, so that nothing happens at the same time.
  std::shared_ptr<std::atomic<std::int64_t>> now_ns =
      std::make_shared<std::atomic<std::int64_t>>(1'700'000'000 * kSecondNs);
  std::unique_ptr<Store> store = open_store_in_memory([now = now_ns] { return ++*now; });
  StudyDefinition definition{.space = small_study_space(),
                             .objective = *parse_objective("wall"),
                             .trials = 12,
                             .confirm_pairs = 3,
                             .working_directory = "/",
                             .workers = 0};
  OpenStudy open = start_study(*store, {.definition = definition,
                                        .command = {"job"},
                                        .name = "shared",
                                        .workload = {.name = "work"},
                                        .topology = {}})
                       .value();
};

}  // namespace hocket
