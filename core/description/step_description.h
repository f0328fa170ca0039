#pragma once

// A training step as data, input of the simulator: its tasks in order of submission, their accesses
// and times, and the cost of communication. A plain value with one versioned JSON form
// (docs/formats/step.md), written by hand, by a profile (profiler/calibration/step_profile.h) or by
// a program.
//
// It has three forms. The simple form lists layers; the general form lists tasks with the data they
// access. expand() converts the first into the second. Both are the step of every rank. Where ranks
// run different tasks, as the stages of a pipeline do, the third form lists programs and the ranks
// that run each (core/description/step_programs.h).

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/collective_group.h"
#include "core/step/collective_kind.h"
#include "core/step/link.h"
#include "core/step/mesh.h"
#include "core/step/task.h"

namespace hocket {

class JsonReader;

/// A layer of a data-parallel step, or any group of parameters that is communicated together.
struct StepLayer {
  std::string name;
  /// Bytes of the gradient; 0: nothing is communicated.
  std::int64_t parameter_bytes = 0;
  /// Includes the update of the layer's parameters.
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;

  bool operator==(const StepLayer&) const = default;
};

/// The other rank of a message, among the ranks of its group.
struct MessagePeer {
  /// Its index there, or the distance from the index of this rank, round the end to the beginning.
  std::int64_t index = 0;
  bool is_relative = false;

  bool operator==(const MessagePeer&) const = default;
};

/// One task of the general form.
struct StepTask {
  std::string name;
  /// Absent for a compute task.
  std::optional<CollectiveKind> collective;
  /// Time of a compute task on an undisturbed stream.
  std::int64_t duration_ns = 0;
  /// Size of a collective, as NCCL's tests count it.
  std::int64_t bytes = 0;
  /// 0 is most urgent.
  std::uint32_t priority = 0;
  /// Indices into StepDescription::data.
  std::vector<Access> accesses;
  /// Region, micro-batch and dimensions; a collective has no dimensions.
  TaskPlace place = {};
  /// Group of a collective or of a message.
  CollectiveGroup group = CollectiveGroup::world;
  /// Rank that a send goes to or that a receive comes from; absent for other tasks.
  std::optional<MessagePeer> peer = {};
  /// Time of an update (TaskPlace::updates_layer) where the host runs it; 0: duration_ns.
  std::int64_t host_duration_ns = 0;
  /// Set by placement (core/placement/described_placement.h); not part of the JSON form.
  TaskLane lane = TaskLane::stream;

  bool operator==(const StepTask&) const;
};

/// Ranks with some indices along an axis of the mesh.
struct ProgramPlace {
  std::string axis;
  std::vector<std::int64_t> indices;

  bool operator==(const ProgramPlace&) const = default;
};

/// The tasks of some of the ranks, in order of submission.
struct RankProgram {
  std::string name;
  /// Ranks that run it: those at all of these places; all ranks if there are none.
  std::vector<ProgramPlace> at;
  /// Names that the accesses of the tasks refer to. Programs share no data.
  std::vector<std::string> data;
  std::vector<StepTask> tasks;

  bool operator==(const RankProgram&) const = default;
};

/// Measured cost of a part: it holds a channel for alpha + beta · bytes and is done `latency_ns`
/// later.
struct PartCost {
  double alpha_ns = 0;
  double beta_ns_per_byte = 0;
  double latency_ns = 0;

  bool operator==(const PartCost&) const = default;
};

/// Algorithm of an all-reduce. The other collectives always use the ring, as in NCCL.
enum class CollectiveAlgorithm { automatic, ring, tree };

/// Ranks and the links between them; core/sim/collective_cost.h then computes the cost of
/// collectives.
struct Cluster {
  /// Link between ranks of one host.
  LinkSpec host_link;
  /// Link between hosts.
  LinkSpec network_link;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;

  bool operator==(const Cluster&) const = default;
};

/// Parameter servers and the links to them. A link carries both ways at once.
struct StepServers {
  std::int64_t servers = 1;
  /// Link of each rank and of each server.
  LinkSpec rank_link, server_link;
  /// Server s is on the host of rank s mod ranks: it shares that rank's link, and the two exchange
  /// parts without it. `server_link` then has no effect.
  bool colocated = false;
  /// Time for which a part holds its channel before it is on the links, each way.
  double alpha_ns = 0;
  /// Bytes that a part adds on the links, each way.
  double overhead_bytes = 0;

  bool operator==(const StepServers&) const = default;
};

enum class JitterKind { none, uniform, normal, lognormal, exponential };

/// Random variation of compute times: each is its duration times 1 + a draw, never less than 0.
struct Jitter {
  JitterKind kind = JitterKind::none;
  /// Half width (uniform), standard deviation (normal), sigma with median 1 (lognormal), or mean of
  /// the addition (exponential).
  double scale = 0;
  std::uint64_t seed = 1;

  bool operator==(const Jitter&) const = default;
};

/// Judgement of the measurement that a description comes from.
struct StepQuality {
  /// Factor on the error that figures of a good measurement have; 1: the measurement is good.
  double uncertainty = 1;
  std::string reason;  ///< why it is not good, for people; empty if it is

  bool operator==(const StepQuality&) const = default;
};

struct StepDescription {
  /// Name, for people; optional.
  std::string name;
  /// Source of the figures; optional.
  std::string source;

  /// Layers of the simple form; empty in the general form.
  std::vector<StepLayer> layers;
  /// Data names and tasks of the general form; tasks are in order of submission.
  std::vector<std::string> data;
  std::vector<StepTask> tasks;
  /// By data item, or empty: what placement needs to know of them.
  std::vector<DataPlace> data_places;
  /// Programs of the third form, which has neither layers nor tasks.
  std::vector<RankProgram> programs;

  std::int64_t ranks = 1;
  std::int64_t ranks_per_host = 1;
  /// Axes in which the ranks form groups, the outermost first; empty: hosts and places alone.
  std::vector<MeshAxis> mesh;
  /// Activation bytes of one micro-batch, and the memory available for them; 0: no known limit.
  std::int64_t micro_batch_bytes = 0, memory_limit_bytes = 0;
  /// Memory of the device that the step is placed on; 0: all data have room where tasks run.
  std::int64_t device_memory_bytes = 0;
  /// Cost of a copy to the device and of one to the host.
  PartCost to_device, to_host;
  /// Cost of a part, independent of the ranks; used unless there is a cluster. All zero where there
  /// are servers: not known.
  PartCost collective;
  /// Cost of a part of an all-reduce in a group while all other groups of that kind run too; if
  /// absent it is a share of `collective`.
  std::optional<PartCost> collective_inside, collective_between;
  /// Cost of a part of a message between two ranks; if absent it follows from the cluster.
  std::optional<PartCost> message;
  std::optional<Cluster> cluster;
  /// Servers that sum gradients under communication=parameter_server, if there are any.
  std::optional<StepServers> servers;

  /// Share of the bandwidth that is statically divided among the channels, used or not; the parts
  /// in flight share the rest.
  double channel_split = 1;

  /// Share by which a rank's computation slows while one of its parts is in flight, and the
  /// additional slowdown for each further channel in use and for each byte in flight.
  double compute_slowdown = 0;
  double compute_slowdown_per_channel = 0;
  double compute_slowdown_per_byte = 0;
  /// Factor on the compute times of each rank; empty: 1 for all ranks.
  std::vector<double> rank_compute_scale;
  Jitter jitter;
  StepQuality quality;
  /// Reason why nothing but the measured configuration is predicted, and what to record, for
  /// people: bytes are not known, or the prediction of what was measured is wrong. Empty: other
  /// configurations are predicted, however uncertain.
  std::string prediction_withheld;

  bool operator==(const StepDescription&) const = default;
};

/// Limits of a description; sums over a step of the largest sizes do not overflow.
inline constexpr std::int64_t kMaxStepLayers = 100'000;
inline constexpr std::int64_t kMaxStepTasks = 1'000'000;
inline constexpr std::int64_t kMaxStepRanks = 16'777'216;
inline constexpr std::size_t kMaxStepPrograms = 4096;
/// Limit on the ranks of a step whose ranks may differ in what they run.
inline constexpr std::int64_t kMaxProgramRanks = 65'536;
inline constexpr std::int64_t kMaxStepServers = 65'536;
inline constexpr std::int64_t kMaxStepTaskNs = 3'600'000'000'000;         ///< an hour
inline constexpr std::int64_t kMaxStepTaskBytes = std::int64_t{1} << 42;  ///< 4 TiB
/// Limit on the bytes of all collectives together, and on those of all data.
inline constexpr std::int64_t kMaxStepBytes = std::int64_t{1} << 50;
/// Limit on the time of all compute tasks on the slowest rank, on that of all bytes at
/// `beta_ns_per_byte` or over the slowest link, and on that of a copy for each access to data.
inline constexpr std::int64_t kMaxStepNs = 1'000'000'000'000'000;

/// Returns the mesh of the ranks. Where ranks_per_host does not divide them, which only a step
/// without other groups than `world` may have, each rank counts as a host of its own.
Mesh mesh_of(const StepDescription& step);

/// Returns whether the description says what collectives cost. One with servers need not; then only
/// communication=parameter_server can be predicted.
bool has_collective_cost(const StepDescription& step);

/// Parses the JSON form. invalid_argument names the field ("layers[3].forward_ns"), the value found
/// and the allowed values.
Result<StepDescription> parse_step_description(std::string_view text);
/// Reads the same within a document; unknown fields of the step are refused.
void read_step_description(JsonReader& reader, StepDescription& step);

/// Returns the JSON form, without fields that have their default.
nlohmann::json to_json(const StepDescription& step);

nlohmann::json to_json(const StepQuality& quality);
/// Reads the form that to_json() writes; a good measurement if it is not of that form.
StepQuality step_quality_from_json(const nlohmann::json& document);

/// Refuses values that the type allows and the format does not. invalid_argument names the field;
/// data are numbered as in StepDescription::data.
Result<void> validate(const StepDescription& step);

/// Returns the general form of `step`. Layer i of the simple form becomes "forward i NAME", which
/// reads the layer's parameters, "backward i NAME", which writes them (their gradient), and, if it
/// has bytes, the all-reduce "all_reduce i NAME", which updates them; all have priority i and
/// region NAME. Activations chain the compute tasks. Forward of the next step therefore waits only
/// for the parts of its own layer. The data have no places, since layers do not say what memory
/// they take.
StepDescription expand(const StepDescription& step);

}  // namespace hocket
