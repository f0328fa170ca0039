#pragma once

// The version of a key that a job gets when it starts. Thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/runnable_values.h"
#include "store/store.h"

namespace hocket {

struct RunnableVersion {
  PromotionRow row;
  ScheduleConfig config;
};

/// Returns the newest released version of `key` that a job which says `can_run` can start with, if
/// any, or the newest that the jobs of its `owner` have kept (store/rows.h, is_for()). A job that
/// does not say what it can start with also gets what a study or a job of the key has measured.
/// `passed_over` receives one line for each newer version, with the reason.
Result<std::optional<RunnableVersion>> runnable_version(Store& store, const ConfigKey& key,
                                                        const RunnableValues& can_run,
                                                        std::vector<std::string>& passed_over,
                                                        std::string_view owner = {});

}  // namespace hocket
