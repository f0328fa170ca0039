#pragma once

// The fields of a step description, listed once for checking, reading and writing. A visitor has
// text(), integer(), time(), number(), flag() and choice(), each called with a field's name, value
// and allowed values, and with the value of an absent field unless it must be present. JsonReader
// is a visitor. Pure.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/json_reader.h"
#include "core/description/step_description.h"
#include "core/step/schedule_config.h"

namespace hocket::step {

inline constexpr std::array<Word<CollectiveAlgorithm>, 3> kAlgorithms{
    {{"automatic", CollectiveAlgorithm::automatic},
     {"ring", CollectiveAlgorithm::ring},
     {"tree", CollectiveAlgorithm::tree}}};
inline constexpr std::array<Word<JitterKind>, 5> kJitterKinds{
    {{"none", JitterKind::none},
     {"uniform", JitterKind::uniform},
     {"normal", JitterKind::normal},
     {"lognormal", JitterKind::lognormal},
     {"exponential", JitterKind::exponential}}};

inline constexpr std::array<Word<DimensionKind>, 3> kDimensionKinds{
    {{"outer", DimensionKind::outer},
     {"contraction", DimensionKind::contraction},
     {"normalized", DimensionKind::normalized}}};

inline constexpr const char* kStepFormat = "hocket-step";
inline constexpr int kStepVersion = 1;
inline constexpr const char* kCompute = "compute";
/// Kinds of tasks; none for a compute task.
inline constexpr auto kTaskKinds = [] {
  std::array<Word<std::optional<CollectiveKind>>, 3 + kCollectiveKinds.size()> kinds{
      {{kCompute, std::nullopt}}};
  std::size_t count = 1;
  for (const CollectiveKind kind : kCollectiveKinds) kinds[count++] = {to_string(kind), kind};
  for (const CollectiveKind kind : {CollectiveKind::send, CollectiveKind::receive})
    kinds[count++] = {to_string(kind), kind};
  return kinds;
}();

struct AccessField {
  const char* name;
  AccessMode mode;
};
inline constexpr std::array<AccessField, 3> kAccessFields{
    {{"reads", AccessMode::read}, {"writes", AccessMode::write}, {"updates", AccessMode::update}}};

/// Largest integer that every JSON reader represents exactly.
inline constexpr std::int64_t kMaxSeed = std::int64_t{1} << 53;
inline constexpr double kMaxOverheadBytes = 1e12;
inline constexpr std::int64_t kMaxLatencyNs = 10'000'000'000;

inline constexpr double kMaxRankComputeScale = 1000;

inline constexpr std::int64_t kMaxMicroBatch = 65'535;
inline constexpr std::int64_t kMaxDimensionExtent = std::int64_t{1} << 40;
/// Above it, no ScheduleConfig::offload_k could keep the layer on the device.
inline constexpr std::int64_t kMaxLayer = kAllLayers - 1;

// `T` is the visited type or its const form.

template <class Visitor, class T>
void visit_layer(Visitor& visitor, T& layer) {
  visitor.text("name", layer.name, "");
  visitor.integer("parameter_bytes", layer.parameter_bytes, 0, kMaxStepTaskBytes, 0);
  visitor.time("forward_ns", layer.forward_ns, kMaxStepTaskNs, 0);
  visitor.time("backward_ns", layer.backward_ns, kMaxStepTaskNs, 0);
}

template <class Visitor, class T>
void visit_axis(Visitor& visitor, T& axis) {
  visitor.text("name", axis.name, "");
  visitor.integer("size", axis.size, 1, kMaxStepRanks);
}

/// Visits all fields except the kind, the group, the accesses and the dimensions.
template <class Visitor, class T>
void visit_task(Visitor& visitor, T& task) {
  visitor.text("name", task.name, "");
  if (task.collective) {
    visitor.integer("bytes", task.bytes, 1, kMaxStepTaskBytes);
  } else {
    visitor.time("duration_ns", task.duration_ns, kMaxStepTaskNs, 0);
    visitor.integer("updates_layer", task.place.updates_layer, 0, kMaxLayer, kNoLayer);
    visitor.time("host_duration_ns", task.host_duration_ns, kMaxStepTaskNs, 0);
  }
  visitor.integer("priority", task.priority, 0, kPriorityLevels - 1, 0);
  visitor.text("region", task.place.region, "");
  visitor.integer("micro_batch", task.place.micro_batch, 0, kMaxMicroBatch, kNoMicroBatch);
}

/// Visits all fields except the slices.
template <class Visitor, class T>
void visit_dimension(Visitor& visitor, T& dimension) {
  visitor.text("name", dimension.name, "");
  visitor.choice("kind", dimension.kind, kDimensionKinds, DimensionKind::outer);
  visitor.integer("extent", dimension.extent, 1, kMaxDimensionExtent, 1);
  visitor.time("piece_ns", dimension.piece_ns, kMaxStepTaskNs, 0);
}

/// Visits all fields except the data.
template <class Visitor, class T>
void visit_slice(Visitor& visitor, T& slice) {
  visitor.integer("begin_bytes", slice.begin_bytes, 0, kMaxStepTaskBytes, 0);
  visitor.integer("bytes_per_unit", slice.bytes_per_unit, 0, kMaxStepTaskBytes, 0);
  visitor.integer("tail_bytes", slice.tail_bytes, 0, kMaxStepTaskBytes, 0);
  visitor.flag("of_block", slice.of_block, false);
}

/// Visits all fields except the range.
template <class Visitor, class T>
void visit_data(Visitor& visitor, T& place) {
  visitor.integer("bytes", place.bytes, 0, kMaxStepTaskBytes, 0);
  visitor.integer("layer", place.layer, 0, kMaxLayer, kNoLayer);
  visitor.flag("transient", place.is_transient, false);
}

template <class Visitor, class T>
void visit_collective(Visitor& visitor, T& cost) {
  constexpr double max_ns = kMaxLatencyNs;
  visitor.number("alpha_ns", cost.alpha_ns, 0, max_ns, 0);
  visitor.number("beta_ns_per_byte", cost.beta_ns_per_byte, 0, 1e9 / kMinLinkBytesPerSecond, 0);
  visitor.number("latency_ns", cost.latency_ns, 0, max_ns, 0);
}

/// Calls `visit(name, cost)` for each known cost of a part.
template <class T, class Visit>
void for_each_cost(T& step, const Visit& visit) {
  visit("collective", step.collective);
  if (step.collective_inside) visit("collective_inside", *step.collective_inside);
  if (step.collective_between) visit("collective_between", *step.collective_between);
  if (step.message) visit("message", *step.message);
}

/// Calls `visit(name, cost)` for the costs of copies.
template <class T, class Visit>
void for_each_copy_cost(T& step, const Visit& visit) {
  visit("to_device", step.to_device);
  visit("to_host", step.to_host);
}

template <class Visitor, class T>
void visit_link(Visitor& visitor, T& link) {
  visitor.number("bandwidth_bytes_per_second", link.bytes_per_second, kMinLinkBytesPerSecond,
                 kMaxLinkBytesPerSecond);
  visitor.time("latency_ns", link.latency_ns, kMaxLatencyNs, 0);
}

/// Visits all fields except the links.
template <class Visitor, class T>
void visit_servers(Visitor& visitor, T& servers) {
  visitor.integer("servers", servers.servers, 1, kMaxStepServers);
  visitor.flag("colocated", servers.colocated, false);
  visitor.number("alpha_ns", servers.alpha_ns, 0, kMaxLatencyNs, 0);
  visitor.number("overhead_bytes", servers.overhead_bytes, 0, kMaxOverheadBytes, 0);
}

template <class Visitor, class T>
void visit_jitter(Visitor& visitor, T& jitter) {
  visitor.choice("distribution", jitter.kind, kJitterKinds, JitterKind::none);
  visitor.number("scale", jitter.scale, 0, 10, 0);
  visitor.integer("seed", jitter.seed, 0, kMaxSeed, 1);
}

template <class Visitor, class T>
void visit_quality(Visitor& visitor, T& quality) {
  visitor.number("uncertainty", quality.uncertainty, 1, 100, 1);
  visitor.text("reason", quality.reason, "");
}

/// Visits the top-level fields that hold a single value.
template <class Visitor, class T>
void visit_step(Visitor& visitor, T& step) {
  visitor.text("name", step.name, "");
  visitor.text("source", step.source, "");
  visitor.integer("ranks", step.ranks, 1, kMaxStepRanks, 1);
  visitor.integer("ranks_per_host", step.ranks_per_host, 1, kMaxStepRanks, 1);
  visitor.integer("micro_batch_bytes", step.micro_batch_bytes, 0, kMaxStepBytes, 0);
  visitor.integer("memory_limit_bytes", step.memory_limit_bytes, 0, kMaxStepBytes, 0);
  visitor.integer("device_memory_bytes", step.device_memory_bytes, 0, kMaxStepBytes, 0);
  visitor.number("channel_split", step.channel_split, 0, 1, 1);
  visitor.number("compute_slowdown", step.compute_slowdown, 0, 100, 0);
  visitor.number("compute_slowdown_per_channel", step.compute_slowdown_per_channel, 0, 10, 0);
  visitor.number("compute_slowdown_per_byte", step.compute_slowdown_per_byte, 0, 1e-3, 0);
  visitor.text("prediction_withheld", step.prediction_withheld, "");
}

}  // namespace hocket::step
