#include "job/model/summary.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/statistics.h"

namespace hocket {
namespace {

void print_json(const ModelJobOptions& options, const RunReport& report,
                const TrainedSummary& trained, double wall_ns) {
  auto document = to_json(report);
  document["losses"] = trained.losses;
  document["optimizer_bytes"] = trained.optimizer_bytes;
  document["parameters_hash"] = trained.parameters_hash;
  if (options.run.watch) document["explored"] = trained.explored;
  if (!trained.layers.empty()) {
    document["bound_ns"] = overlap_bound_ns(trained.layers);
    document["overlap_efficiency"] =
        overlap_efficiency(trained.layers, static_cast<std::int64_t>(wall_ns));
    for (const LayerCost& layer : trained.layers) {
      document["layers"].push_back({{"name", layer.name},
                                    {"forward_ns", layer.forward_ns},
                                    {"backward_ns", layer.backward_ns},
                                    {"communication_ns", layer.communication_ns}});
    }
  }
  std::printf("%s\n", document.dump().c_str());
}

/// Returns the link and, for a device of limited memory, the device.
std::string where_it_ran(const ModelJobOptions& options, const Topology& topology) {
  const std::string link = topology.link.starts_with("emulated")
                               ? "emulated link " + topology.link.substr(9)
                               : topology.link;
  return is_placed(options.device) ? link + ", on device " + topology.accelerator : link;
}

}  // namespace

void print_summary(const ModelJobOptions& options, const RunReport& report,
                   const TrainedSummary& trained) {
  std::vector<double> wall_ns, exposed_ns;
  for (const Iteration& iteration : report.iterations) {
    wall_ns.push_back(static_cast<double>(iteration.wall_ns));
    if (!iteration.is_whole) exposed_ns.push_back(static_cast<double>(iteration.exposed_ns));
  }
  if (options.json) return print_json(options, report, trained, median(wall_ns));
  std::printf("iteration %.2f ms ± %.2f (%zu measured), ", median(wall_ns) / 1e6,
              spread(wall_ns) / 1e6, wall_ns.size());
  // Unknown for steps that ran as a whole.
  if (!exposed_ns.empty()) std::printf("exposed communication %.2f ms, ", median(exposed_ns) / 1e6);
  std::printf("%s\n", where_it_ran(options, report.topology).c_str());
  if (options.shard_optimizer) {
    std::printf("sharded optimiser: %lld bytes on this rank\n",
                static_cast<long long>(trained.optimizer_bytes));
  }
}

}  // namespace hocket
