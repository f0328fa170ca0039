#include "archive/profiles/calibrate_profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "archive/profiles/predict.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

const Knob& knob(std::string_view name) {
  return *find_schedule_knob(name);
}

std::int64_t within(std::string_view name, std::int64_t value) {
  return std::clamp(value, knob(name).low, knob(name).high);
}

/// Returns the number of lanes that the records of a kind use, without the channels of pulls, of
/// which there are as many as of pushes.
std::int64_t lanes_of(const RankTrace& trace, TraceKind kind) {
  std::set<std::int32_t> lanes;
  for (const TraceRecord& record : trace.records) {
    if (record.kind == kind && record.collective != CollectiveKind::pull) lanes.insert(record.lane);
  }
  return std::ssize(lanes);
}

/// Repeats the measured scales cyclically if the number of ranks differs from the measured one.
void repeat_scales(StepDescription& step) {
  const auto measured = std::move(step.rank_compute_scale);
  step.rank_compute_scale.clear();
  if (measured.empty()) return;
  for (std::int64_t rank = 0; rank < step.ranks; ++rank) {
    step.rank_compute_scale.push_back(measured[static_cast<std::size_t>(rank) % measured.size()]);
  }
}

Error missing_link(const Calibration& calibration, const char* tier, const char* between,
                   const std::string& option) {
  // With several parts there are a line through their times and a link that it would follow from.
  const bool is_fitted =
      calibration.most_part_bytes > 0 && !calibration.host_link && !calibration.network_link;
  return {ErrorCode::invalid_argument,
          std::string("the link ") + between + " (" + tier + ") was not measured, since " +
              (is_fitted ? "larger parts did not take longer than smaller ones"
                         : "nothing went over it alone") +
              "; give it, such as --link " + option};
}

Result<Cluster> cluster_of(const Calibration& calibration, const OtherRanks& change,
                           const StepDescription& step) {
  const auto host = change.host_link ? change.host_link : calibration.host_link;
  const auto network = change.network_link ? change.network_link : calibration.network_link;
  const bool uses_host = step.ranks > 1 && step.ranks_per_host > 1;
  const bool uses_network = step.ranks > step.ranks_per_host;
  if (uses_host && !host) {
    return failure(
        missing_link(calibration, "host", "between ranks of one host", "host=300gbit,5us"));
  }
  if (uses_network && !network) {
    return failure(
        missing_link(calibration, "network", "between hosts",
                     "network=25gbit,20us, or put all ranks on one host with --ranks-per-host"));
  }
  // A tier that no rank uses takes the other tier's link; a single rank uses neither.
  const LinkSpec any = host ? *host : network.value_or(LinkSpec{1e9, 0});
  return Cluster{.host_link = host.value_or(any),
                 .network_link = network.value_or(any),
                 .algorithm = CollectiveAlgorithm::automatic};
}

}  // namespace

ScheduleConfig traced_config(const RankTrace& trace) {
  std::int64_t largest = 0;
  bool is_over_servers = false;
  for (const TraceRecord& record : trace.records) {
    if (record.kind != TraceKind::communication) continue;
    largest = std::max(largest, record.bytes);
    is_over_servers |= record.collective == CollectiveKind::push;
  }
  ScheduleConfig config;
  if (is_over_servers) config.communication = Communication::parameter_server;
  config.streams = static_cast<int>(within("streams", lanes_of(trace, TraceKind::compute)));
  config.comm_channels =
      static_cast<int>(within("comm_channels", lanes_of(trace, TraceKind::communication)));
  config.partition_bytes = within("partition_bytes", largest);
  config.credit_bytes = knob("credit_bytes").high;
  return config;
}

Result<CalibratedProfile> calibrate_profile(const LoadedProfile& profile) {
  const std::string name = "profile " + profile.row.name;
  if (!profile.structure) {
    return failure(ErrorCode::invalid_argument,
                   name +
                       " does not say what a step submits, so no other configuration can be "
                       "predicted from it; " +
                       (profile.row.structure.empty() || profile.notes.empty()
                            ? "`hocket profiles show` has the reason"
                            : profile.notes.back()));
  }
  auto calibration = calibrate(*profile.structure, profile.traces, profile.fits);
  if (!calibration) return failure(calibration.error().in(name));
  CalibratedProfile calibrated{.calibration = std::move(*calibration),
                               .config = traced_config(profile.traces.front()),
                               .notes = profile.notes};
  const auto quality = profile.row.detail.find("quality");
  if (quality != profile.row.detail.end())
    calibrated.calibration.step.quality = step_quality_from_json(*quality);
  calibrated.notes.insert(calibrated.notes.end(), calibrated.calibration.notes.begin(),
                          calibrated.calibration.notes.end());
  if (profile.row.config.empty()) {
    calibrated.notes.push_back(
        "the profile has no configuration: streams and channels are those of its trace");
  } else {
    auto config = schedule_config_from_json(profile.row.config, &calibrated.notes);
    if (!config) return failure(config.error().in(name));
    calibrated.config = std::move(*config);
  }
  calibrated.check = check_prediction(calibrated);
  if (calibrated.check) {
    calibrated.calibration.step.prediction_withheld =
        why_withheld(calibrated.calibration, *calibrated.check);
  }
  return calibrated;
}

Result<StepDescription> step_with(const Calibration& calibration, const OtherRanks& change) {
  StepDescription step = calibration.step;
  const bool is_changed =
      change.ranks || change.ranks_per_host || change.host_link || change.network_link;
  if (!is_changed) return step;
  const std::int64_t measured_per_host = step.ranks_per_host;
  step.ranks = change.ranks.value_or(step.ranks);
  step.ranks_per_host = change.ranks_per_host.value_or(measured_per_host);
  if (step.ranks < 1 || step.ranks > kMaxStepRanks || step.ranks_per_host < 1) {
    return failure(ErrorCode::invalid_argument,
                   "expected ranks from 1 to " + std::to_string(kMaxStepRanks) +
                       " and at least 1 of them on a host, found " + std::to_string(step.ranks) +
                       " and " + std::to_string(step.ranks_per_host));
  }
  repeat_scales(step);
  auto cluster = cluster_of(calibration, change, step);
  // Sums over servers go over the servers' links.
  if (!cluster && step.servers && !has_collective_cost(step)) return step;
  HOCKET_TRY(cluster);
  step.cluster = std::move(*cluster);
  HOCKET_TRY(validate(step));
  return step;
}

}  // namespace hocket
