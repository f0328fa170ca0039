#pragma once

// Formats profiles as text; profiles/ provides the same as JSON. Thread-safe.

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "archive/profiles/profile_summary.h"
#include "archive/profiles/prune.h"
#include "archive/profiles/report/diff_profiles.h"
#include "cli/output/notes.h"

namespace hocket {

/// Prints one line per profile.
void print_profiles(std::ostream& out, std::span<const ProfileSummary> profiles);

/// The detail in which the ranks and notes of a profile are shown.
enum class ShownDetail {
  summary,  ///< of more than a few ranks without a trace, and notes of one kind, their number
  all,
};

void print_profile(std::ostream& out, const ProfileSummary& profile, ShownDetail detail);

/// Prints a column for the job and each rank. Beyond a few ranks, prints the lowest, median and
/// highest values instead.
void print_figures(std::ostream& out, const ProfileFigures& figures);

/// Prints at most `most_tasks` of the layers, of the collectives and of the tasks.
void print_difference(std::ostream& out, const ProfileDifference& difference,
                      std::size_t most_tasks);

void print_pruned(std::ostream& out, std::span<const PruneDecision> decisions, bool is_done);

/// Prints the same; of several notes that differ in their numbers alone only the first ones, and
/// how many there are.
void print_kinds_of_notes(std::ostream& out, std::span<const std::string> notes);

/// Returns a profile's configuration as text: "comm_channels=1 credit_bytes=16777216 …"; "unknown"
/// if it has none.
std::string profile_config_text(const nlohmann::json& config);

/// Formats a figure with the unit that its name ends in: "25.1 ms", "81.2 %", "1.2 GB/s".
std::string figure_text(std::string_view name, double value);

}  // namespace hocket
