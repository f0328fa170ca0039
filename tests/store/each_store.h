#pragma once

// The fixture of tests that run against each implementation of Store. One thread.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/open.h"
#include "tests/store/fixtures.h"

namespace hocket {

enum class StoreKind { sqlite, memory };

/// A test of the behaviour of every Store.
class EachStore : public testing::TestWithParam<StoreKind> {
 protected:
  EachStore() {
    const WallClock clock = [this] { return now_ns_; };
    store_ = GetParam() == StoreKind::memory
                 ? make_memory_store(clock)
                 : must(open_store(folder_.file("store.db"), {.now_unix_ns = clock}));
  }

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
  TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
};

inline const auto kStoreKinds = testing::Values(StoreKind::sqlite, StoreKind::memory);

inline std::string store_kind_name(const testing::TestParamInfo<StoreKind>& info) {
  return info.param == StoreKind::sqlite ? "Sqlite" : "Memory";
}

}  // namespace hocket
