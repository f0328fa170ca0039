#include "core/step/knob.h"

#include <algorithm>
#include <array>

#include "core/base/nearest_name.h"
#include "core/step/framework_knob.h"
#include "core/step/schedule_config.h"
#include "core/step/task.h"

namespace hocket {
namespace {

constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20;

// The words of choices are in the order of their enumerators.
Knob primitive_knob() {
  return {"primitive", "an all-reduce as one collective or as two", 0,  0,    0, 0,
          false,       {"all_reduce", "reduce_scatter_all_gather"}, {}, false};
}
Knob launch_knob() {
  return {"launch", "when the last stage of a collective starts",
          0,        0,
          0,        0,
          false,    {"ready", "deferred"},
          {},       false};
}
Knob partition_knob() {
  return {"partition_bytes",
          "most bytes of a part of a collective",
          4 * KiB,
          1024 * MiB,
          64 * KiB,
          64 * MiB,
          true,
          {}};
}
Knob streams_knob() {
  return {"streams", "computations at once", 1, 64, 1, 4, false, {}};
}
Knob bucket_knob() {
  return {"bucket_bytes",
          "most bytes of all-reduces fused into one",
          0,
          1024 * MiB,
          1 * MiB,
          64 * MiB,
          true,
          {},
          {},
          false};
}
Knob group_knob() {
  return {"group_ranks",
          "ranks of a host, to communicate inside hosts first",
          1,
          1 << 20,
          1,
          16,
          true,
          {},
          {},
          false};
}
Knob compute_parts_knob() {
  return {"compute_parts", "most pieces of a computation", 1, 64, 1, 8, true, {}, {}, false};
}

}  // namespace

// Never destroyed: an abandoned call may still read a configuration at exit.
std::span<const Knob> schedule_knobs() {
  static const auto& knobs = *new std::array<Knob, 17>{{
      partition_knob(),
      {"credit_bytes",
       "most bytes of parts in flight",
       4 * KiB,
       16384 * MiB,
       64 * KiB,
       256 * MiB,
       true,
       {}},
      streams_knob(),
      {"comm_channels", "parts on the wire at once", 1, 16, 1, 8, true, {}},
      {"order",
       "which collective starts first",
       0,
       0,
       0,
       0,
       false,
       {"fifo", "static", "negotiated"},
       {{"priority", "negotiated"}}},
      {"communication",
       "a sum of gradients among ranks or over parameter servers",
       0,
       0,
       0,
       0,
       false,
       {"all_reduce", "parameter_server"},
       {},
       false},
      {"pull_credit_bytes",
       "most bytes of parts being pulled from servers, 0: credit_bytes",
       0,
       16384 * MiB,
       64 * KiB,
       256 * MiB,
       true,
       {},
       {},
       false},
      bucket_knob(),
      primitive_knob(),
      group_knob(),
      launch_knob(),
      compute_parts_knob(),
      {"compute_order",
       "which ready computation runs first",
       0,
       0,
       0,
       0,
       false,
       {"given", "critical_path"},
       {},
       false},
      {"micro_batches_kept",
       "micro-batches that go backward together",
       1,
       1024,
       1,
       16,
       true,
       {},
       {},
       false},
      {"offload_k",
       "layers that a device of limited memory keeps and updates",
       0,
       kAllLayers,
       0,
       64,
       false,
       {},
       {},
       false},
      {"prefetch_layers",
       "layers by which copies to such a device run ahead",
       0,
       64,
       0,
       4,
       false,
       {},
       {},
       false},
      {"step_issue", "how a device gets a step", 0, 0, 0, 0, false, {"tasks", "graph"}, {}, false},
  }};
  return knobs;
}

std::span<const Knob> region_knobs() {
  static const auto& knobs = *new std::array<Knob, 8>{{
      partition_knob(),
      bucket_knob(),
      streams_knob(),
      {"priority",
       "how urgent the region is, 0 most",
       0,
       kPriorityLevels - 1,
       0,
       64,
       false,
       {},
       {},
       false},
      primitive_knob(),
      group_knob(),
      launch_knob(),
      compute_parts_knob(),
  }};
  return knobs;
}

const Knob* find_knob(std::string_view name) {
  const auto field = split_region_knob(name);
  const auto knobs = field ? region_knobs() : schedule_knobs();
  const auto found =
      std::ranges::find(knobs, field ? std::string_view(field->second) : name, &Knob::name);
  return found == knobs.end() ? nullptr : &*found;
}

Error unknown_knob(std::string_view name) {
  const auto field = split_region_knob(name);
  const std::string looked_for = field ? field->second : std::string(name);
  const std::string problem =
      (field ? "regions have no knob named \"" : "no knob is named \"") + looked_for + "\"; ";
  if (const FrameworkKnob* const other = find_framework_knob(looked_for); other != nullptr)
    return {ErrorCode::invalid_argument, problem + in_own_words(*other)};
  std::vector<KnownName> known;
  for (const Knob& knob : field ? region_knobs() : schedule_knobs())
    known.push_back({knob.name, knob.meaning});
  std::vector<std::string> meanings;
  for (const FrameworkKnob& other : framework_knobs()) meanings.push_back(in_own_words(other));
  std::vector<KnownName> elsewhere;
  for (std::size_t i = 0; i < meanings.size(); ++i)
    elsewhere.push_back({framework_knobs()[i].name, meanings[i]});
  return {ErrorCode::invalid_argument, problem + nearest_and_all(looked_for, known, elsewhere)};
}

bool is_job_knob(std::string_view name) {
  constexpr std::size_t kMaxNameBytes = 64;
  if (!name.starts_with(kJobKnobPrefix)) return false;
  name.remove_prefix(kJobKnobPrefix.size());
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string knob_name_of(std::string_view declared_name) {
  return std::string(kJobKnobPrefix) + std::string(declared_name);
}

std::optional<std::pair<std::string, std::string>> split_region_knob(std::string_view name) {
  if (!name.starts_with(kRegionKnobPrefix)) return std::nullopt;
  name.remove_prefix(kRegionKnobPrefix.size());
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  return std::pair(std::string(name.substr(0, dot)), std::string(name.substr(dot + 1)));
}

}  // namespace hocket
