#pragma once

// The scheduler's configuration: a plain value with one versioned JSON form
// (docs/formats/schedule_config.md). A member that is a knob has a row in core/step/knob_table.cc.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/base/result.h"

namespace hocket {

class JsonReader;
class JsonValue;

/// Order in which collectives start; the same on every rank.
enum class CollectiveOrder {
  /// In order of submission, which is that of the backward pass.
  fifo,
  /// Computed from a step description before the job; "static" in JSON.
  static_order,
  /// Most urgent ready part first, as decided by rank 0 and sent to the others (ByteScheduler, SOSP
  /// 2019, section 4). Also read from "priority".
  negotiated,
};

/// Ways of a sum of gradients.
enum class Communication {
  /// Collectives among the ranks.
  all_reduce,
  /// Parts are pushed to the job's parameter servers, which sum them, and pulled.
  parameter_server,
};

/// Collectives that replace an all-reduce (Centauri, ASPLOS 2024, section 4, primitive
/// partitioning).
enum class CollectivePrimitive {
  all_reduce,
  /// A reduce-scatter, then an all-gather.
  reduce_scatter_all_gather,
};

/// Start of the last stage of a collective.
enum class CollectiveLaunch {
  /// In its turn, as soon as its data are ready.
  ready,
  /// After all others of the step that are at least as urgent, in the order of the next step's
  /// need.
  deferred,
};

/// Order among ready compute tasks.
enum class ComputeOrder {
  /// By the priorities given.
  given,
  /// The task with the longest chain of dependent tasks within the step first.
  critical_path,
};

/// Form in which a device receives a repeating step.
enum class StepIssue {
  /// Task by task, so that steps overlap.
  tasks,
  /// As one graph: one host call, after the step before has ended.
  graph,
};

/// Words of a choice's values in JSON, in the order of its enumerators.
template <class Choice>
inline constexpr std::array<std::string_view, 0> kChoiceWords{};
template <>
inline constexpr std::array<std::string_view, 3> kChoiceWords<CollectiveOrder>{"fifo", "static",
                                                                               "negotiated"};
template <>
inline constexpr std::array<std::string_view, 2> kChoiceWords<Communication>{"all_reduce",
                                                                             "parameter_server"};
template <>
inline constexpr std::array<std::string_view, 2> kChoiceWords<CollectivePrimitive>{
    "all_reduce", "reduce_scatter_all_gather"};
template <>
inline constexpr std::array<std::string_view, 2> kChoiceWords<CollectiveLaunch>{"ready",
                                                                                "deferred"};
template <>
inline constexpr std::array<std::string_view, 2> kChoiceWords<ComputeOrder>{"given",
                                                                            "critical_path"};
template <>
inline constexpr std::array<std::string_view, 2> kChoiceWords<StepIssue>{"tasks", "graph"};

template <class Choice>
concept KnobChoice = std::is_enum_v<Choice> && !kChoiceWords<Choice>.empty();

template <KnobChoice Choice>
constexpr std::string_view to_string(Choice value) {
  return kChoiceWords<Choice>[static_cast<std::size_t>(value)];
}

/// Overrides for one region of a step; an absent field keeps the value of the configuration.
struct RegionOverrides {
  std::optional<std::int64_t> partition_bytes, bucket_bytes;
  /// Maximum compute tasks of the region that run at once.
  std::optional<int> streams;
  /// Priority of the region's tasks, replacing the job's; 0 is most urgent.
  std::optional<std::int64_t> priority;
  std::optional<CollectivePrimitive> primitive;
  std::optional<std::int64_t> group_ranks;
  std::optional<CollectiveLaunch> launch;
  std::optional<int> compute_parts;
  /// Name of the dimension that compute_parts divides.
  std::optional<std::string> dimension;

  bool operator==(const RegionOverrides&) const = default;
};

/// Value of a knob that the job declares itself (core/step/declared_knob.h): an integer, or the
/// word of a choice.
using JobValue = std::variant<std::int64_t, std::string>;
/// Largest absolute value of such an integer, which is exact in JSON.
inline constexpr std::int64_t kMaxJobInteger = std::int64_t{1} << 53;
inline constexpr std::size_t kMaxJobWordBytes = 64;

/// Largest value of ScheduleConfig::offload_k, which keeps every layer on the device.
inline constexpr std::int64_t kAllLayers = 100'000;

/// A member's initializer is the knob's default.
struct ScheduleConfig {
  /// Maximum bytes of a part.
  std::int64_t partition_bytes = 4 << 20;
  /// Maximum bytes of parts in flight; one larger part may be in flight alone.
  std::int64_t credit_bytes = 16 << 20;
  /// Streams that run independent compute tasks concurrently.
  int streams = 1;
  /// Parts within the credit window that are on the wire at once; they share its bandwidth.
  int comm_channels = 1;
  CollectiveOrder order = CollectiveOrder::fifo;
  Communication communication = Communication::all_reduce;
  /// Maximum bytes of parts that are being pulled, where `credit_bytes` holds for those that are
  /// being pushed; 0: the same.
  std::int64_t pull_credit_bytes = 0;

  // Partitioning of a step (core/partitioning/step_partition.h):

  /// Maximum bytes of a bucket of consecutive collectives of one kind; 0: no buckets.
  std::int64_t bucket_bytes = 0;
  CollectivePrimitive primitive = CollectivePrimitive::all_reduce;
  /// 1: collectives run over all ranks at once. Otherwise it must be the number of ranks per host,
  /// and collectives run inside the hosts first and then between them.
  std::int64_t group_ranks = 1;
  CollectiveLaunch launch = CollectiveLaunch::ready;
  /// Pieces of a computation that feeds a collective or is fed by one, if it may be divided.
  int compute_parts = 1;
  ComputeOrder compute_order = ComputeOrder::given;
  /// Micro-batches of a step that go backward together, layer by layer; their activations are kept
  /// at the same time.
  int micro_batches_kept = 1;
  /// Overrides by region name, as given by the tasks.
  std::map<std::string, RegionOverrides> regions = {};

  // Placement of a step on a device with limited memory (core/placement/step_placement.h). Without
  // effect where the job has no such device.

  /// Layers that the device keeps and updates; the host keeps and updates those from here on.
  std::int64_t offload_k = 0;
  /// Layers by which copies to the device may run ahead of the tasks that need them.
  std::int64_t prefetch_layers = 1;

  /// Ignored on hosts (core/scheduler/scheduler.h, Scheduler::launch()).
  StepIssue step_issue = StepIssue::tasks;

  /// Values of the job's own knobs by name. One that is absent has the default that the job
  /// declares.
  std::map<std::string, JobValue> job = {};

  bool operator==(const ScheduleConfig&) const = default;
};

/// Returns the value of each knob by name; regions' overrides are named "regions.NAME.FIELD", the
/// job's own knobs "job.NAME".
nlohmann::json knob_values(const ScheduleConfig& config);
/// Returns the names of the knobs that differ: those of the configuration in their order, then the
/// job's own and those of regions.
std::vector<std::string> changed_knobs(const ScheduleConfig& from, const ScheduleConfig& to);
/// Returns `config` with the knob called `name` set. invalid_argument for an unknown name (suggests
/// the nearest) or a value that the knob cannot hold.
Result<ScheduleConfig> with_knob(const ScheduleConfig& config, std::string_view name,
                                 const nlohmann::json& value);

/// Returns whether steps are partitioned under `config` (core/partitioning/step_partition.h). If
/// not, collectives are only divided into parts when they start.
bool is_partitioned(const ScheduleConfig& config);
/// Returns `config` with the defaults for all knobs that partition steps.
ScheduleConfig unpartitioned(const ScheduleConfig& config);

/// Checks every field against its knob's range, and checks the overrides of each region for
/// contradictions. invalid_argument names the region, the field and the range.
Result<void> validate(const ScheduleConfig& config);

/// Returns `{"format":"hocket-schedule","version":1,"partition_bytes":…,…}`. Omits knobs that have
/// their default, except those of the first format.
nlohmann::json to_json(const ScheduleConfig& config);

/// Reads the JSON form of a file or of a stored version. Absent knobs keep their defaults. Fields
/// that are no knobs, as of a newer version, are left out; when `warnings` is given, one line for
/// each is appended. invalid_argument names the field and the allowed range.
Result<ScheduleConfig> schedule_config_from_json(const nlohmann::json& document,
                                                 std::vector<std::string>* warnings = nullptr);
/// Reads the JSON form within a message. A field that is no knob is an error: nobody declared it,
/// and whoever reads the configuration later might take it for something to set.
void read_schedule_config(JsonReader& reader, ScheduleConfig& config);
/// Reads the JSON form as a job does what a daemon sends, which may be of another version: fields
/// that are no knobs are left out.
void read_known_knobs(JsonReader& reader, ScheduleConfig& config);
Result<ScheduleConfig> parse_schedule_config(std::string_view text,
                                             std::vector<std::string>* warnings = nullptr);

nlohmann::json to_json(const JobValue& value);
void read_job_value(const JsonValue& found, JobValue& value);
/// Returns the number or the word.
std::string job_value_text(const JobValue& value);

}  // namespace hocket
