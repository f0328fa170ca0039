#pragma once

// Which profiles go, so that they do not fill the disk, and their removal: trace files first, then
// the rows, so that what is interrupted can be repeated. The decision is pure.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// A profile goes when any of these says so. The newest count first.
struct PruneRule {
  std::optional<std::int64_t> newest = {};         ///< so many stay
  std::optional<std::int64_t> older_than_ns = {};  ///< what is older goes
  std::optional<std::int64_t> total_bytes = {};    ///< the traces of what stays are no larger
};

struct PruneCandidate {
  std::int64_t id = 0;
  std::string name = {};
  std::int64_t created_at_ns = 0;
  std::int64_t bytes = 0;  ///< of its trace files
  bool kept = false;       ///< stays, whatever the rule; its bytes count all the same
};

struct PruneDecision {
  PruneCandidate profile;
  std::string reason;  ///< "3 newer ones are kept", …
};

/// Those that go, the oldest first. `candidates` in any order. Once the bytes do not suffice for a
/// profile, what is older goes, too. Kept profiles do not count for `newest`.
std::vector<PruneDecision> decide_prune(std::span<const PruneCandidate> candidates,
                                        const PruneRule& rule, std::int64_t now_unix_ns);

/// What the store holds; a trace file that is not there has no bytes.
Result<std::vector<PruneCandidate>> prune_candidates(Store& store);

struct Pruned {
  std::vector<PruneDecision> removed;
  std::int64_t freed_bytes = 0;
  /// For people: files and rows that could not be removed; such a profile is not in `removed`.
  std::vector<std::string> notes = {};
};

nlohmann::json to_json(const Pruned& pruned);

/// Removes them. A file that is gone is fine, and so is a profile; a file that cannot be removed
/// keeps its profile. A trace that is not in the folder of its profile is left, with a note.
/// unavailable when the store fails.
Result<Pruned> prune_profiles(Store& store, const std::string& store_path,
                              std::span<const PruneDecision> decisions);

}  // namespace hocket
