#pragma once

// Decides which profiles to remove to save disk space, and removes them: trace files first, then
// the rows, so that an interrupted removal can be repeated. The decision is pure; removal is for
// one thread.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "store/store.h"
#include "store/trace_url.h"

namespace hocket {

/// Conditions for removal, checked from the newest profile on; a profile is removed if any holds.
struct PruneRule {
  std::optional<std::int64_t> newest = {};         ///< number of newest profiles that stay
  std::optional<std::int64_t> older_than_ns = {};  ///< age above which profiles are removed
  std::optional<std::int64_t> total_bytes = {};    ///< limit on the bytes of the remaining traces
};

struct PruneCandidate {
  std::int64_t id = 0;
  std::string name = {};
  std::int64_t created_at_ns = 0;
  std::int64_t bytes = 0;  ///< bytes of its trace files
  bool kept = false;       ///< stays under any rule; its bytes count
};

struct PruneDecision {
  PruneCandidate profile;
  std::string reason;         ///< "3 newer ones stay", …
  bool even_if_kept = false;  ///< also if it is, or has meanwhile been, marked as kept
};

/// Returns the profiles to remove, the oldest first. `candidates` may be in any order. Once a
/// profile does not fit into the bytes, older ones are removed, too. Kept profiles do not count for
/// `newest`.
std::vector<PruneDecision> decide_prune(std::span<const PruneCandidate> candidates,
                                        const PruneRule& rule, std::int64_t now_unix_ns);

/// Returns the bytes of a trace that a daemon serves.
using ServedTraceBytes = std::function<std::int64_t(const TraceUrl&)>;

/// Returns the store's profiles. A missing trace file counts 0 bytes, and so does one that a daemon
/// serves unless `served_bytes` says how many it has.
Result<std::vector<PruneCandidate>> prune_candidates(Store& store,
                                                     const ServedTraceBytes& served_bytes = {},
                                                     UnreadRows* unread = nullptr);

struct PruneResult {
  std::vector<PruneDecision> removed;
  std::int64_t freed_bytes = 0;
  /// Messages for people: files and rows that could not be removed. Their profiles are not in
  /// `removed`.
  std::vector<std::string> notes = {};
};

nlohmann::json to_json(const PruneResult& pruned);

/// Removes the profiles. Missing files and profiles are no error. A profile stays if one of its
/// files cannot be removed. A trace outside its profile's folder is left, with a note; one that
/// a daemon serves is left to that daemon, which removes it within two hours. Returns unavailable
/// if the store fails.
Result<PruneResult> prune_profiles(Store& store, const std::string& store_path,
                                   std::span<const PruneDecision> decisions);

}  // namespace hocket
