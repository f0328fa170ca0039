#pragma once

// The fixture of tests of a store, wherever it is: the store, its clock, and rows to begin with.
// One thread.

#include <gtest/gtest.h>

#include <memory>

#include "store/open.h"
#include "tests/store/fixtures.h"
#include "tests/store/test_place.h"

namespace hocket {

class StoreFixture : public testing::Test {
 protected:
  StudyRow new_study() { return must(store_->create_study(sample_study())); }
  TrialRow new_trial(std::int64_t study_id) {
    return must(store_->start_trial({study_id, {}, nlohmann::json::object()}));
  }

  TrialRow trial(const TrialRow& row) {
    for (auto& found : must(store_->trials(row.study_id, TrialDetail::with_measurements))) {
      if (found.id == row.id) return found;
    }
    ADD_FAILURE() << "no trial " << row.id;
    return {};
  }

  std::int64_t now_ns_ = 1'000;
  const TestPlace place_;
  const std::unique_ptr<Store> store_ =
      must(open_store(place_.store(), {.now_unix_ns = [this] { return now_ns_; }}));
};

}  // namespace hocket
