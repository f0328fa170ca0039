#include "archive/profiles/prune.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "store/profile_folder.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDayNs = 24LL * 3600 * 1'000'000'000;

/// Returns the size of a regular file; 0 for anything else.
std::int64_t file_bytes(const std::string& path) {
  std::error_code error;
  if (path.empty() || !fs::is_regular_file(path, error)) return 0;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(bytes);
}

std::int64_t profile_bytes(const ProfileRow& row, const ServedTraceBytes& served_bytes) {
  std::int64_t bytes = 0;
  for (const ProfileRank& rank : row.ranks) {
    const auto url = parse_trace_url(rank.trace_path);
    if (!url) {
      bytes += file_bytes(rank.trace_path);
    } else if (served_bytes) {
      bytes += served_bytes(*url);
    }
  }
  return bytes;
}

std::string age_text(std::int64_t age_ns) {
  return "it is " + std::to_string(age_ns / kDayNs) + " days old";
}

/// Removes one profile's files, as prune_profiles() describes; returns why some are left, or "".
std::string remove_files(const std::string& store_path, const ProfileRow& row,
                         PruneResult& pruned) {
  const auto profiles = profiles_folder(store_path);
  if (!profiles) return profiles.error().message;
  std::set<std::string> folders;
  for (const ProfileRank& rank : row.ranks) {
    if (rank.trace_path.empty() || parse_trace_url(rank.trace_path)) continue;
    if (is_own_trace(store_path, rank.trace_path, row.name)) {
      folders.insert(fs::path(rank.trace_path).parent_path());
    } else {
      pruned.notes.push_back(rank.trace_path + " is left: it is not in the profile's folder");
    }
  }
  for (const std::string& folder : folders) {
    const auto freed_bytes = remove_trace_files(folder);
    if (!freed_bytes) return freed_bytes.error().message;
    pruned.freed_bytes += *freed_bytes;
  }
  // It may also have files that a killed writer left there. A row whose name is no profile's, which
  // an earlier version may have made, has no folder.
  const auto left_over = remove_profile_folder(store_path, row.name);
  if (!left_over && left_over.error().code != ErrorCode::invalid_argument)
    return left_over.error().message;
  pruned.freed_bytes += left_over.value_or(0);
  return {};
}

}  // namespace

std::vector<PruneDecision> decide_prune(std::span<const PruneCandidate> candidates,
                                        const PruneRule& rule, std::int64_t now_unix_ns) {
  std::vector<PruneCandidate> newest_first(candidates.begin(), candidates.end());
  std::ranges::sort(newest_first, [](const PruneCandidate& a, const PruneCandidate& b) {
    return std::pair(a.created_at_ns, a.id) > std::pair(b.created_at_ns, b.id);
  });
  std::int64_t bytes = 0, stay = 0;
  for (const PruneCandidate& profile : newest_first) {
    if (profile.kept) bytes += profile.bytes;
  }
  bool is_full = false;
  std::vector<PruneDecision> decisions;
  for (PruneCandidate& profile : newest_first) {
    if (profile.kept) continue;
    const std::int64_t age_ns = now_unix_ns - profile.created_at_ns;
    std::string reason;
    if (rule.newest && stay >= *rule.newest) {
      reason = std::to_string(stay) + " newer ones stay";
    } else if (rule.older_than_ns && age_ns > *rule.older_than_ns) {
      reason = age_text(age_ns);
    } else if (rule.total_bytes && (is_full || bytes + profile.bytes > *rule.total_bytes)) {
      reason = "the newer ones have " + std::to_string(bytes) + " bytes";
      is_full = true;
    }
    if (reason.empty()) {
      ++stay;
      bytes += profile.bytes;
    } else {
      decisions.push_back({std::move(profile), std::move(reason)});
    }
  }
  std::ranges::reverse(decisions);
  return decisions;
}

Result<std::vector<PruneCandidate>> prune_candidates(Store& store,
                                                     const ServedTraceBytes& served_bytes,
                                                     UnreadRows* unread) {
  const auto rows = store.profiles(unread);
  HOCKET_TRY(rows);
  std::vector<PruneCandidate> candidates;
  for (const ProfileRow& row : *rows) {
    candidates.push_back(
        {row.id, row.name, row.created_at_ns, profile_bytes(row, served_bytes), row.kept});
  }
  return candidates;
}

nlohmann::json to_json(const PruneResult& pruned) {
  auto removed = nlohmann::json::array();
  for (const PruneDecision& decision : pruned.removed) {
    removed.push_back({{"profile", decision.profile.name},
                       {"bytes", decision.profile.bytes},
                       {"reason", decision.reason}});
  }
  return {{"removed", std::move(removed)},
          {"freed_bytes", pruned.freed_bytes},
          {"notes", pruned.notes}};
}

Result<PruneResult> prune_profiles(Store& store, const std::string& store_path,
                                   std::span<const PruneDecision> decisions) {
  PruneResult pruned;
  for (const PruneDecision& decision : decisions) {
    const auto row = store.profile(std::to_string(decision.profile.id));
    // Another process removed it first.
    if (!row && row.error().code == ErrorCode::not_found) continue;
    HOCKET_TRY(row);
    // Another process may have marked it as kept since.
    if (row->kept && !decision.even_if_kept) continue;
    const std::string problem = remove_files(store_path, *row, pruned);
    if (!problem.empty()) {
      pruned.notes.push_back("profile " + row->name + " stays: " + problem);
      continue;
    }
    const auto removed = store.remove_profile(row->id);
    // Another process removed it in the meantime, and counts it.
    if (!removed && removed.error().code == ErrorCode::not_found) continue;
    HOCKET_TRY(removed);
    pruned.removed.push_back(decision);
  }
  return pruned;
}

}  // namespace hocket
