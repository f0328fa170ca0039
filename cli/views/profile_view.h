#pragma once

// Profiles as people read them; profiles/ has the same as JSON. Thread-safe.

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "profiler/archive/diff_profiles.h"
#include "profiler/archive/profile_summary.h"
#include "profiler/archive/prune.h"

namespace hocket {

/// A line each.
void print_profiles(std::ostream& out, std::span<const ProfileSummary> profiles);

void print_profile(std::ostream& out, const ProfileSummary& profile);

/// A column for the job and each rank; of more than a few ranks the lowest, the median and the
/// largest value.
void print_figures(std::ostream& out, const ProfileFigures& figures);

/// `most_tasks` of those that changed.
void print_difference(std::ostream& out, const ProfileDifference& difference,
                      std::size_t most_tasks);

void print_pruned(std::ostream& out, std::span<const PruneDecision> decisions, bool is_done);

/// "note: …", a line each.
void print_notes(std::ostream& out, std::span<const std::string> notes);

/// A figure with the unit that its name ends in: "25.1 ms", "81.2 %", "1.2 GB/s".
std::string figure_text(std::string_view name, double value);

}  // namespace hocket
