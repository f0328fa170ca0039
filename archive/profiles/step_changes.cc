#include "archive/profiles/step_changes.h"

#include <cmath>
#include <string_view>

#include "core/step/link.h"
#include "core/step/rank_grid.h"

namespace hocket {
namespace {

/// The links of the changes.
struct Links {
  std::optional<LinkSpec> host, network;
};

Result<Links> parse_links(const std::vector<std::string>& texts) {
  Links links;
  for (const std::string& text : texts) {
    const std::string_view view(text);
    const auto equals = view.find('=');
    const auto tier = view.substr(0, equals);
    if (equals == std::string_view::npos || (tier != "host" && tier != "network")) {
      return invalid(
          "--link: expected host=RATE,LATENCY (between ranks of one host) or network=RATE,LATENCY "
          "(between hosts), found \"" +
          text + "\"");
    }
    const auto link = parse_link(view.substr(equals + 1));
    if (!link) return failure(link.error().in("--link " + std::string(tier)));
    (tier == "host" ? links.host : links.network) = *link;
  }
  return links;
}

/// Adds a cluster to `step`, which has none yet. A tier that no rank uses takes the other tier's
/// link.
Result<void> make_cluster(StepDescription& step, const Links& links) {
  if (!links.host && step.ranks > 1 && step.ranks_per_host > 1) {
    return invalid("--link: ranks of one host need host=RATE,LATENCY, too");
  }
  if (!links.network && step.ranks > step.ranks_per_host) {
    return invalid("--link: ranks on several hosts need network=RATE,LATENCY, too");
  }
  step.cluster = Cluster{.host_link = links.host ? *links.host : *links.network,
                         .network_link = links.network ? *links.network : *links.host,
                         .algorithm = CollectiveAlgorithm::automatic};
  return {};
}

Result<void> change_seed(StepDescription& step, std::optional<std::int64_t> seed) {
  if (!seed) return {};
  if (*seed < 0) {
    return invalid("--seed: expected a number of at least 0, found " + std::to_string(*seed));
  }
  step.jitter.seed = static_cast<std::uint64_t>(*seed);
  return {};
}

Result<void> change_links(StepDescription& step, const StepChanges& changes) {
  const auto links = parse_links(changes.links);
  HOCKET_TRY(links);
  if (!step.cluster && !changes.links.empty()) {
    if (auto ok = make_cluster(step, *links); !ok) return ok;
  }
  // The known cost of a message does not apply to other links.
  if (!changes.links.empty()) step.message = std::nullopt;
  if (step.cluster && links->host) step.cluster->host_link = *links->host;
  if (step.cluster && links->network) step.cluster->network_link = *links->network;
  if (!changes.algorithm) return {};
  if (!step.cluster) {
    return invalid("--algorithm needs links to cost: --link network=RATE,LATENCY");
  }
  step.cluster->algorithm = *changes.algorithm;
  return {};
}

Result<void> scale_computation(StepDescription& step, std::optional<double> factor) {
  if (!factor) return {};
  if (!(*factor >= kLeastComputeScale && *factor <= kMostComputeScale)) {
    return invalid(
        "--compute-scale: expected a factor on the times of computations from 0.001 to 1000 (0.5 "
        "for devices that compute twice as fast)");
  }
  const auto scale = [&](std::int64_t& ns) {
    ns = std::llround(static_cast<double>(ns) * *factor);
  };
  for (StepLayer& layer : step.layers) {
    scale(layer.forward_ns);
    scale(layer.backward_ns);
  }
  const auto scale_tasks = [&](std::vector<StepTask>& tasks) {
    for (StepTask& task : tasks) {
      scale(task.duration_ns);
      for (Dimension& dimension : task.place.dimensions) scale(dimension.piece_ns);
    }
  };
  scale_tasks(step.tasks);
  for (RankProgram& program : step.programs) scale_tasks(program.tasks);
  if (const auto ok = validate(step); !ok) return failure(ok.error().in("--compute-scale"));
  return {};
}

Result<void> scale_bandwidth(StepDescription& step, std::optional<double> factor) {
  if (!factor) return {};
  if (!(*factor >= kLeastComputeScale && *factor <= kMostComputeScale)) {
    return invalid(
        "--bandwidth-scale: expected a factor on the bandwidth of all links from 0.001 to 1000 (2 "
        "for links that are twice as fast)");
  }
  const auto scale_cost = [&](PartCost& cost) { cost.beta_ns_per_byte /= *factor; };
  const auto scale_link = [&](LinkSpec& link) { link.bytes_per_second *= *factor; };
  scale_cost(step.collective);
  if (step.collective_inside) scale_cost(*step.collective_inside);
  if (step.collective_between) scale_cost(*step.collective_between);
  if (step.message) scale_cost(*step.message);
  if (step.cluster) {
    scale_link(step.cluster->host_link);
    scale_link(step.cluster->network_link);
  }
  if (step.servers) {
    scale_link(step.servers->rank_link);
    scale_link(step.servers->server_link);
  }
  if (const auto ok = validate(step); !ok) return failure(ok.error().in("--bandwidth-scale"));
  return {};
}

}  // namespace

Result<StepDescription> change_measured_step(const Calibration& calibration,
                                             const StepChanges& changes) {
  const auto links = parse_links(changes.links);
  HOCKET_TRY(links);
  OtherRanks other{.ranks = changes.ranks,
                   .ranks_per_host = changes.ranks_per_host,
                   .host_link = links->host,
                   .network_link = links->network};
  // An algorithm is a property of links, so setting the number of ranks makes step_with require
  // them.
  if (changes.algorithm && !other.ranks) other.ranks = calibration.step.ranks;
  auto step = step_with(calibration, other);
  if (!step) return step;
  if (changes.algorithm) step->cluster->algorithm = *changes.algorithm;
  HOCKET_TRY(change_seed(*step, changes.seed));
  HOCKET_TRY(scale_computation(*step, changes.compute_scale));
  HOCKET_TRY(scale_bandwidth(*step, changes.bandwidth_scale));
  return step;
}

Result<void> change_step(StepDescription& step, const StepChanges& changes) {
  const RankGrid measured_on{step.ranks, step.ranks_per_host};
  if (changes.ranks) step.ranks = *changes.ranks;
  if (changes.ranks_per_host) step.ranks_per_host = *changes.ranks_per_host;
  // The known costs do not apply to other groups.
  if (measured_on != RankGrid{step.ranks, step.ranks_per_host})
    step.collective_inside = step.collective_between = std::nullopt;
  if (auto ok = change_seed(step, changes.seed); !ok) return ok;
  if (auto ok = change_links(step, changes); !ok) return ok;
  if (auto ok = validate(step); !ok) return ok;
  HOCKET_TRY(scale_computation(step, changes.compute_scale));
  return scale_bandwidth(step, changes.bandwidth_scale);
}

}  // namespace hocket
