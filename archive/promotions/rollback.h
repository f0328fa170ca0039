#pragma once

// Going back to an earlier version of a key's configuration, or to none at all. Thread-safe as far
// as the store is.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "store/store.h"

namespace hocket {

/// The version before the current one.
struct PreviousVersion {};
/// No configuration: a job that starts takes its own default.
struct NoConfiguration {};
/// One of the key's versions by its number.
using NumberedVersion = std::int64_t;

using RollbackTarget = std::variant<PreviousVersion, NoConfiguration, NumberedVersion>;

/// Parses "", "default" or a number.
Result<RollbackTarget> parse_rollback_target(const std::string& text);

/// Returns whether a version says that its key has no configuration: it is empty.
bool is_default(const PromotionRow& version);

/// Returns the ids of a key's topology and workload; not_found for a key that no job has named.
Result<KeyRow> find_key_row(Store& store, const ConfigKey& key);

/// The changes that a rollback makes.
struct RollbackPlan {
  KeyRow key = {};
  std::vector<std::int64_t> withdrawn = {};  ///< versions that the rollback takes back
  nlohmann::json config = {};                ///< configuration of the version that it then releases
  std::string reason = {};
  /// The current version, if that is what the rollback is for; then none is released.
  std::optional<PromotionRow> is_there = {};
};

/// Returns what roll_back() would do, and changes nothing. Errors as of roll_back().
Result<RollbackPlan> plan_rollback(Store& store, const ConfigKey& key,
                                   const RollbackTarget& target);

/// Makes `target` the key's current version, as a new version, because numbers only rise. Going
/// back to the previous one withdraws the newest of the staged and released versions; where there
/// is no earlier one, the key has no configuration. Going to no configuration withdraws a staged
/// version. not_found if there is nothing to go back from or to.
Result<PromotionRow> roll_back(Store& store, const ConfigKey& key, const RollbackTarget& target,
                               const std::string& actor, const std::string& note);

}  // namespace hocket
