#pragma once

// Retention: which entries of a store are kept, and for how long. An operator's policy for studies,
// the audit and profiles, which `hocket prune` applies once and a daemon every hour. The decision
// is pure; what reads and removes is for one thread.
//
// Several processes may remove at once. Each removal is a transaction, and what another process has
// removed first is left out.

#include <cstdint>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "archive/profiles/prune.h"
#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Absent fields keep everything.
struct RetentionPolicy {
  /// Age above which studies that have ended go, with their trials. A study's age counts from its
  /// last change.
  std::optional<std::int64_t> studies_ns = {};
  std::optional<std::int64_t> audit_ns = {};       ///< age above which audit entries go
  std::optional<std::int64_t> profiles = {};       ///< number of newest profiles that stay
  std::optional<std::int64_t> profile_bytes = {};  ///< limit on the bytes of the remaining traces

  bool keeps_everything() const { return *this == RetentionPolicy(); }
  bool operator==(const RetentionPolicy&) const = default;
};

/// The rows that a policy is applied to.
struct RetentionRows {
  std::vector<StudyRow> studies = {};
  /// Ids of studies whose versions are current or staged. These studies stay, so that it can be
  /// explained why jobs have their configuration.
  std::set<std::int64_t> used_studies = {};
  std::vector<PruneCandidate> profiles = {};
  /// Rows that cannot be read. They stay, and where they are versions every study does.
  UnreadRows unread = {};
};

struct ExpiredStudy {
  std::int64_t id = 0;
  std::string name = {};
  std::string reason = {};  ///< "it has not changed for 91 days"
};

struct RetentionDecision {
  std::vector<ExpiredStudy> studies = {};
  std::optional<std::int64_t> audit_before_ns = {};  ///< entries from before this time go
  std::vector<PruneDecision> profiles = {};
  UnreadRows unread = {};
};

/// Returns what goes, the oldest studies and profiles first. A running study and a kept profile
/// stay under any policy.
RetentionDecision what_to_remove(const RetentionPolicy& policy, const RetentionRows& rows,
                                 std::int64_t now_unix_ns);

/// Reads what `policy` needs. `served_bytes` is as in prune_candidates().
Result<RetentionRows> retention_rows(Store& store, const RetentionPolicy& policy,
                                     const ServedTraceBytes& served_bytes = {});

/// Returns the number of audit entries from before `before_ns`.
Result<std::int64_t> count_audit(Store& store, std::int64_t before_ns);

struct RetentionRemoval {
  std::vector<ExpiredStudy> studies = {};
  std::int64_t audit_entries = 0;
  PruneResult profiles = {};
  /// Messages for people: studies that could not be removed.
  std::vector<std::string> notes = {};
  UnreadRows unread = {};  ///< rows that stay because they cannot be read
  /// The error of the store that ended the removal early, if any. What was removed before is above.
  std::optional<Error> error = {};
};

/// Removes what was decided, unless it has changed since: a study that somebody has resumed or a
/// profile that somebody has marked as kept stays. Ends early once `stop` is requested. The audit
/// names `actor`. `store_path` is as in prune_profiles().
RetentionRemoval remove_expired(Store& store, const std::string& store_path,
                                const RetentionDecision& decision, std::string_view actor,
                                const std::stop_token& stop = {});

}  // namespace hocket
