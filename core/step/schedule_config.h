#pragma once

// The knobs of the scheduler: one plain value, one versioned JSON form
// (docs/formats/schedule_config.md).

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// The order in which collectives start; the same on every rank.
enum class CollectiveOrder {
  fifo,          ///< in the order of submission, which is that of the backward pass
  static_order,  ///< as computed before the job from a step description; "static" in JSON
  negotiated,    ///< most urgent ready part first, as rank 0 sees it and tells the others
                 ///< (ByteScheduler, SOSP 2019, section 4); "priority" is read as this, too
};

/// What an all-reduce is made of (Centauri, ASPLOS 2024, section 4, primitive partitioning).
enum class CollectivePrimitive {
  all_reduce,
  reduce_scatter_all_gather,  ///< the one, then the other
};

/// When the last collective of those that one is made of starts.
enum class CollectiveLaunch {
  ready,     ///< in its turn, once its data are there
  deferred,  ///< after all others of the step that are not less urgent, as the next step needs them
};

/// Which of the ready compute tasks goes first.
enum class ComputeOrder {
  given,          ///< as their priorities say
  critical_path,  ///< the one with the longest chain of tasks behind it within the step
};

/// How a device gets a step that repeats.
enum class StepIssue {
  tasks,  ///< task by task, so that steps overlap
  graph,  ///< all of it as one graph: one call of the host, after the step before has ended
};

/// What one region of a step does otherwise than the rest; absent: the same.
struct RegionOverrides {
  std::optional<std::int64_t> partition_bytes, bucket_bytes;
  /// So many of the region's compute tasks run at once, at most.
  std::optional<int> streams;
  /// Of its tasks, in place of what the job says: 0 is most urgent.
  std::optional<std::int64_t> priority;
  std::optional<CollectivePrimitive> primitive;
  std::optional<std::int64_t> group_ranks;
  std::optional<CollectiveLaunch> launch;
  std::optional<int> compute_parts;
  /// The name of the dimension along which compute_parts divides.
  std::optional<std::string> dimension;

  /// As in ScheduleConfig.
  nlohmann::json unknown_fields = nlohmann::json::object();

  bool operator==(const RegionOverrides&) const = default;
};

struct ScheduleConfig {
  /// A collective is cut into parts of at most this many bytes.
  std::int64_t partition_bytes = 4 << 20;
  /// At most this many bytes of parts are in flight; one larger part may go alone.
  std::int64_t credit_bytes = 16 << 20;
  /// Independent compute tasks run at once on this many streams.
  int streams = 1;
  /// Parts within the window that are on the wire at once; they share its bandwidth.
  int comm_channels = 1;
  CollectiveOrder order = CollectiveOrder::fifo;

  // How a step is partitioned (core/partitioning/step_partition.h).

  /// Consecutive collectives of one kind are joined up to this size; 0: each is alone.
  std::int64_t bucket_bytes = 0;
  CollectivePrimitive primitive = CollectivePrimitive::all_reduce;
  /// 1: collectives run over all ranks at once. Otherwise, which must be the number of ranks of a
  /// host, inside the hosts first and then between them.
  std::int64_t group_ranks = 1;
  CollectiveLaunch launch = CollectiveLaunch::ready;
  /// A computation that feeds a collective, or is fed by one, is done in so many pieces, where it
  /// may be divided.
  int compute_parts = 1;
  ComputeOrder compute_order = ComputeOrder::given;
  /// Of the micro-batches of a step, so many go backward together, layer by layer; their
  /// activations are kept at once.
  int micro_batches_kept = 1;
  /// By the name that tasks give.
  std::map<std::string, RegionOverrides> regions = {};

  /// Means nothing to hosts (core/scheduler/scheduler.h, Scheduler::replay()).
  StepIssue step_issue = StepIssue::tasks;

  /// Fields of a newer version: kept and written back, without effect here.
  nlohmann::json unknown_fields = nlohmann::json::object();

  bool operator==(const ScheduleConfig&) const = default;
};

/// What one field of ScheduleConfig may hold, and the part of it worth searching.
struct Knob {
  std::string_view name;
  /// Integer knobs: allowed range, both ends included. Unused for a choice.
  std::int64_t low = 0, high = 0;
  /// Integer knobs: the range that a sweep searches by default; where `log`, it is logarithmic, and
  /// its powers of two, which begin with `tune_low`, are enough.
  std::int64_t tune_low = 0, tune_high = 0;
  bool log = false;
  /// Non-empty for a knob with named values.
  std::vector<std::string_view> choices;
  /// What is read as one of them, too.
  struct Spelling {
    std::string_view word, choice;
  };
  std::vector<Spelling> other_spellings = {};
  /// A sweep searches it without being asked.
  bool searched = true;
};

/// Every knob, in the order of the struct.
std::span<const Knob> schedule_knobs();
/// What a region may override, but for `dimension`, in the order of RegionOverrides.
std::span<const Knob> region_knobs();
/// The knob called `name`, which may be one of a region, "regions.NAME.KNOB"; null when there is
/// none.
const Knob* find_knob(std::string_view name);
/// That `name` is none, with the nearest one and all there are.
Error unknown_knob(std::string_view name);

/// The value of each knob by its name, and what regions override as "regions.NAME.FIELD".
nlohmann::json knob_values(const ScheduleConfig& config);
/// The names of what differs between the two, knobs in their order first.
std::vector<std::string> changed_knobs(const ScheduleConfig& from, const ScheduleConfig& to);
/// `config` with the knob called `name` set. invalid_argument for an unknown name (with the nearest
/// one) or a value that it cannot hold.
Result<ScheduleConfig> with_knob(const ScheduleConfig& config, std::string_view name,
                                 const nlohmann::json& value);

/// Checks every field against its knob's range, and what regions override against each other.
/// invalid_argument names the region, the field and the range.
Result<void> validate(const ScheduleConfig& config);

/// `{"format":"hocket-schedule","version":1,"partition_bytes":…,…}`. What says how steps are
/// partitioned, and issued, is left out where it has its default.
nlohmann::json to_json(const ScheduleConfig& config);

/// Reads the JSON form. Absent knobs keep their defaults. Unknown fields are kept; when `warnings`
/// is given, one line for each is appended. invalid_argument names the field and the allowed range.
Result<ScheduleConfig> schedule_config_from_json(const nlohmann::json& document,
                                                 std::vector<std::string>* warnings = nullptr);
Result<ScheduleConfig> parse_schedule_config(std::string_view text,
                                             std::vector<std::string>* warnings = nullptr);

std::string_view to_string(CollectiveOrder order);
std::string_view to_string(CollectivePrimitive primitive);
std::string_view to_string(CollectiveLaunch launch);
std::string_view to_string(ComputeOrder order);
std::string_view to_string(StepIssue issue);

}  // namespace hocket
