#pragma once

// The knobs: the members of a ScheduleConfig (core/step/schedule_config.h) by name. Each is
// declared once, as a row of core/step/knob_table.cc: its values, the range worth searching, where
// it has an effect, and the member. What reads, writes, checks, searches or predicts knobs follows
// the rows. Constant; thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace hocket {

struct RegionOverrides;
struct ScheduleConfig;

/// Access to a knob's member of `Owner` as a number, which of a choice is the index of the word.
/// Null where `Owner` has no such member.
template <class Owner>
struct KnobMember {
  /// Returns nothing for an override that is absent.
  std::optional<std::int64_t> (*get)(const Owner& owner) = nullptr;
  /// Requires an allowed value.
  void (*set)(Owner& owner, std::int64_t value) = nullptr;
};

/// The part of hocket that obeys a knob. docs/formats/schedule_config.md has a section for each.
enum class KnobEffect {
  scheduling,    ///< in every job
  servers,       ///< on sums over parameter servers
  partitioning,  ///< on how steps are partitioned
  placement,     ///< in jobs on a device of limited memory
  issue,         ///< on how a device gets a step
};

/// Studies that search a knob without being asked to.
enum class KnobSearch { every_study, with_servers, none };

/// Allowed values of one knob, and the range worth searching.
struct Knob {
  std::string_view name;
  /// A few words on what it decides, for lists.
  std::string_view meaning;
  /// "B" for bytes; empty for a count or a choice.
  std::string_view unit = {};
  /// Allowed range of an integer knob, both ends included. Unused for a choice.
  std::int64_t low = 0, high = 0;
  /// Range of an integer knob that is searched where no other is given. If `log` is set the search
  /// is logarithmic, and the powers of two from `tune_low` on suffice.
  std::int64_t tune_low = 0, tune_high = 0;
  bool log = false;
  /// Names of the values of a choice; empty for an integer knob.
  std::vector<std::string_view> choices = {};
  /// Alternative words that are read as one of the choices.
  struct Spelling {
    std::string_view word, choice;
  };
  std::vector<Spelling> other_spellings = {};
  KnobSearch search = KnobSearch::every_study;
  KnobEffect effect = KnobEffect::scheduling;
  /// A schedule of a framework's tensors obeys it (capi/hocket_schedule.h).
  bool is_for_tensors = false;
  /// A search's model of the step predicts its effect, where it has one
  /// (tuner/surrogate/step_model.h).
  bool is_modelled = false;
  /// It is written even if it has its default, as all knobs of the first format are.
  bool is_always_written = false;

  /// The member that the knob is; null for a knob that only regions have and for the job's own.
  KnobMember<ScheduleConfig> member = {};
  /// The override of a region; null for a knob that regions do not have.
  KnobMember<RegionOverrides> region_member = {};
  /// The value in ScheduleConfig{}, as `member` gives it.
  std::int64_t default_value = 0;

  bool is_choice() const { return !choices.empty(); }
  bool is_size() const { return unit == "B"; }
  /// Returns whether studies search the knob without being asked to.
  bool is_searched(bool has_servers = false) const {
    return search == KnobSearch::every_study || (has_servers && search == KnobSearch::with_servers);
  }
  /// Returns the index of a word of a choice, which may be another spelling.
  std::optional<std::int64_t> index_of(std::string_view word) const;
  /// Returns the value that `config` has. Requires a knob of the whole step.
  std::int64_t value_in(const ScheduleConfig& config) const { return *member.get(config); }
  bool has_default(const ScheduleConfig& config) const { return value_in(config) == default_value; }
};

/// Returns the knobs of the whole step, in the order of the table.
std::span<const Knob> schedule_knobs();
/// Returns the knobs that a region may override, except `dimension`, in the order of the table.
std::span<const Knob> region_knobs();
/// Returns the knob of the whole step called `name`; null when there is none.
const Knob* find_schedule_knob(std::string_view name);
/// Returns the knob called `name`, which may be a region's, "regions.NAME.KNOB"; null when there is
/// none.
const Knob* find_knob(std::string_view name);
/// Returns the error for an unknown knob, which may be a region's. A name that a framework has for
/// a knob (core/step/framework_knob.h) is answered with that knob, any other with the nearest and
/// with all knobs and what they mean.
Error unknown_knob(std::string_view name);

/// Returns the names of the knobs with that effect: "offload_k, prefetch_layers".
std::string names_text(KnobEffect effect);
/// Returns the names of the knobs that a study searches without being asked to.
std::vector<std::string> searched_knobs(bool has_servers);
/// Returns whether all knobs with that effect have their defaults.
bool has_defaults(const ScheduleConfig& config, KnobEffect effect);
/// Sets the knobs with that effect to their defaults.
void set_defaults(ScheduleConfig& config, KnobEffect effect);

/// Names of regions' knobs are "regions.NAME.KNOB"; NAME may contain dots.
inline constexpr std::string_view kRegionKnobPrefix = "regions.";
/// Returns NAME and KNOB, whatever KNOB is; nothing for names that are not a region's knob.
std::optional<std::pair<std::string, std::string>> split_region_knob(std::string_view name);

/// Names of knobs that a job declares itself are "job.NAME" (core/step/declared_knob.h).
inline constexpr std::string_view kJobKnobPrefix = "job.";
/// Returns whether `name` has the form of such a name, with 1 to 64 of a-z, 0-9 and "_" after the
/// prefix.
bool is_job_knob(std::string_view name);
/// Returns "job.NAME".
std::string knob_name_of(std::string_view declared_name);

}  // namespace hocket
