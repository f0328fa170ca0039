#include "job/run/job_start.h"

#include <nlohmann/json.hpp>

#include "client/link/environment.h"
#include "core/host/topology_probe.h"
#include "core/partitioning/step_partition.h"
#include "core/step/knob.h"
#include "job/step/step_recorder.h"
#include "job/training/offloading.h"
#include "store/config_source.h"
#include "store/open.h"

namespace hocket {

Result<Topology> probe_topology(const JobNetwork& network) {
  auto topology = probe_topology();
  if (!topology) return topology;
  topology->link = network.name();
  const RankGrid grid = network.collective().grid();
  topology->world_size = network.collective().world_size();
  if (grid.hosts() > 1 && grid.ranks_per_host > 1)
    topology->ranks_per_host = network.collective().ranks_per_host();
  return topology;
}

RunnableValues runnable_values(const JobKind& kind) {
  RunnableValues can_run;
  ValuesByKnob& start = can_run.start.emplace();
  for (const Knob& knob : schedule_knobs()) start[std::string(knob.name)] = {};
  for (const Knob& knob : region_knobs()) start[std::string(knob.name)] = {};
  start["group_ranks"].numbers = {1};
  if (kind.servers == 0) start["communication"].words = {"all_reduce"};
  if (kind.is_updated_by_servers) start["communication"].words = {"parameter_server"};
  if (kind.is_placed) {
    // All that partitions a step keeps its default.
    for (const Knob& knob : schedule_knobs()) {
      if (knob.effect != KnobEffect::partitioning) continue;
      KnobValues& values = start[std::string(knob.name)];
      if (knob.is_choice()) {
        values.words = {std::string(knob.choices[static_cast<std::size_t>(knob.default_value)])};
      } else {
        values.numbers = {knob.default_value};
      }
    }
  } else if (kind.ranks_per_host > 1) {
    start["group_ranks"].numbers.push_back(kind.ranks_per_host);
  }
  if (!kind.is_watched) return can_run;
  can_run.running = start;
  if (!kind.has_step) (*can_run.running)["order"].words = {"fifo", "negotiated"};
  return can_run;
}

Result<FetchedConfig> fetch_config(const Topology& topology, const Workload& workload,
                                   Collective& collective, const JobKind& kind) {
  const auto path = default_store_path();
  const RunnableValues can_run = runnable_values(kind);
  const auto source = path ? open_config_source(*path, can_run) : nullptr;
  return fetch_config(topology, workload, source.get(), collective, process_environment, can_run);
}

Result<void> check_config(const Training& training, const ScheduleConfig& config,
                          bool is_offload_measured) {
  if (training.memory) {
    // The number of layers that fit shows when it is decided.
    if (is_offload_measured && !is_partitioned(config)) return {};
    const auto placed = check_placement(training, config);
    return placed ? placed : failure(placed.error().in("configuration"));
  }
  if (!is_partitioned(config)) return {};
  const auto partitioned = partition_step(record_step(training.model), config);
  if (!partitioned) return failure(partitioned.error().in("configuration"));
  return {};
}

std::string describe_config(const ScheduleConfig& config, const std::string& offload) {
  std::string text = "partition " + std::to_string(config.partition_bytes) + " B, credit " +
                     std::to_string(config.credit_bytes) + " B, " + std::to_string(config.streams) +
                     (config.streams == 1 ? " stream, " : " streams, ") +
                     std::string(to_string(config.order));
  if (config.communication == Communication::parameter_server) text += ", parameter servers";
  // Lists the knobs that partition steps, if they have effect.
  const nlohmann::json values = knob_values(config);
  for (const std::string& name : changed_knobs(unpartitioned(config), config)) {
    const nlohmann::json& value = values.at(name);
    text += ", " + name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (config.step_issue == StepIssue::graph) text += ", steps as graphs";
  return offload.empty() ? text : text + ", " + offload;
}

std::string describe_offload(const ScheduleConfig& config, const OffloadK& offload_k,
                             std::int64_t layers) {
  std::string text = "offload_k ";
  if (offload_k.source == OffloadK::Source::measured) {
    text += "to be measured";
  } else if (config.offload_k >= layers) {
    text += "of all " + std::to_string(layers) + " layers";
  } else {
    text += std::to_string(config.offload_k) + " of " + std::to_string(layers) + " layers";
  }
  return text + ", prefetch_layers " + std::to_string(config.prefetch_layers);
}

}  // namespace hocket
