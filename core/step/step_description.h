#pragma once

// A training step as the simulator reads it: what runs, in the order of submission, what it touches
// and how long it takes, and what communication costs. A plain value with one versioned JSON form
// (docs/formats/step.md), written by hand, by a profile (profiler/calibration/step_profile.h) or by
// a program.
//
// It has two forms. The simple form lists layers; the general form lists tasks with the data they
// access. expand() turns the first into the second, which is all that the simulator knows.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/collective_kind.h"
#include "core/step/link.h"
#include "core/step/task.h"

namespace hocket {

/// A layer of a data-parallel step, or any group of parameters that is communicated as one.
struct StepLayer {
  std::string name;
  std::int64_t parameter_bytes = 0;  ///< of its gradient; 0: nothing is communicated
  std::int64_t forward_ns = 0;       ///< with the update of its parameters
  std::int64_t backward_ns = 0;

  bool operator==(const StepLayer&) const = default;
};

/// One task of the general form.
struct StepTask {
  std::string name;
  /// Empty for a compute task.
  std::optional<CollectiveKind> collective;
  std::int64_t duration_ns = 0;  ///< of a compute task, on an undisturbed stream
  std::int64_t bytes = 0;        ///< of a collective, as NCCL's tests count them
  std::uint32_t priority = 0;    ///< 0 is most urgent
  /// Indices into StepDescription::data.
  std::vector<Access> accesses;
  /// Where it belongs; the dimensions of a collective are empty.
  TaskPlace place = {};
  /// Of a collective.
  CollectiveGroup group = CollectiveGroup::world;

  bool operator==(const StepTask&) const;
};

/// What a part costs, as measured: it holds a channel for alpha + beta · bytes and is done
/// `latency_ns` later.
struct PartCost {
  double alpha_ns = 0;
  double beta_ns_per_byte = 0;
  double latency_ns = 0;

  bool operator==(const PartCost&) const = default;
};

/// How an all-reduce moves. The others always go round the ring, as in NCCL.
enum class CollectiveAlgorithm { automatic, ring, tree };

/// Ranks and the links between them; collectives are then costed by core/sim/collective_cost.h.
struct Cluster {
  LinkSpec host_link;     ///< between ranks of one host
  LinkSpec network_link;  ///< between hosts
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;

  bool operator==(const Cluster&) const = default;
};

enum class JitterKind { none, uniform, normal, lognormal, exponential };

/// Each compute task takes its duration times 1 + a draw; never less than 0.
struct Jitter {
  JitterKind kind = JitterKind::none;
  /// uniform: half width; normal: standard deviation; lognormal: sigma, of median 1; exponential:
  /// mean of what is added.
  double scale = 0;
  std::uint64_t seed = 1;

  bool operator==(const Jitter&) const = default;
};

struct StepDescription {
  std::string name;    ///< optional, for people
  std::string source;  ///< optional: where its figures come from

  /// The simple form; empty in the general form.
  std::vector<StepLayer> layers;
  /// The general form: names of data, and tasks in the order of submission.
  std::vector<std::string> data;
  std::vector<StepTask> tasks;

  std::int64_t ranks = 1;
  std::int64_t ranks_per_host = 1;
  /// The activations of one micro-batch, and what of memory is there for them; 0: no limit is
  /// known.
  std::int64_t micro_batch_bytes = 0, memory_limit_bytes = 0;
  /// Cost of a part whatever the ranks; used unless there is a cluster.
  PartCost collective;
  /// The same of an all-reduce in a group, beside those of all other groups of that kind; without
  /// it a share of `collective`.
  std::optional<PartCost> collective_inside, collective_between;
  std::optional<Cluster> cluster;

  /// The share of the bandwidth that the channels divide among them for good, whether they are used
  /// or not; the parts under way share the rest.
  double channel_split = 1;

  /// The share by which computation on a rank slows while one of its parts is in flight, and what
  /// each further channel in use and each byte in flight adds to it.
  double compute_slowdown = 0;
  double compute_slowdown_per_channel = 0;
  double compute_slowdown_per_byte = 0;
  /// Factor on the compute times of each rank; empty: 1 for all.
  std::vector<double> rank_compute_scale;
  Jitter jitter;

  bool operator==(const StepDescription&) const = default;
};

/// Ranges that a description is checked against; a step of the largest sizes still adds up without
/// overflow.
inline constexpr std::int64_t kMaxStepLayers = 100'000;
inline constexpr std::int64_t kMaxStepTasks = 1'000'000;
inline constexpr std::int64_t kMaxStepRanks = 16'777'216;
inline constexpr std::int64_t kMaxStepTaskNs = 3'600'000'000'000;         ///< an hour
inline constexpr std::int64_t kMaxStepTaskBytes = std::int64_t{1} << 42;  ///< 4 TiB
inline constexpr std::int64_t kMaxStepBytes = std::int64_t{1} << 50;      ///< all collectives
/// All compute tasks on the slowest rank; and all bytes at `beta_ns_per_byte` or over the slowest
/// link.
inline constexpr std::int64_t kMaxStepNs = 1'000'000'000'000'000;

/// Reads the JSON form. invalid_argument names the field ("layers[3].forward_ns"), what was found
/// and what is allowed.
Result<StepDescription> parse_step_description(std::string_view text);

/// The JSON form; what has its default is left out.
nlohmann::json to_json(const StepDescription& step);

/// Checks what the type allows and the format does not. invalid_argument names the field.
Result<void> validate(const StepDescription& step);

/// The general form of `step`. Layer i of the simple form becomes "forward i NAME", which reads the
/// layer's parameters, "backward i NAME", which writes them (their gradient), and, when it has
/// bytes, the all-reduce "all_reduce i NAME", which updates them; all of priority i and of the
/// region NAME. Activations chain the compute tasks. So forward of the next step waits for the
/// layer's parts alone.
StepDescription expand(const StepDescription& step);

}  // namespace hocket
