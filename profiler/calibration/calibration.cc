#include "profiler/calibration/calibration.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "core/base/intervals.h"
#include "core/base/statistics.h"
#include "core/base/text.h"
#include "core/sim/collective_cost.h"
#include "profiler/calibration/contention.h"
#include "profiler/calibration/link_shares.h"
#include "profiler/calibration/step_profile.h"
#include "profiler/metrics/metrics.h"

namespace hocket {
namespace {

/// Thresholds below which compute times count as exact and ranks as equally fast.
constexpr double kLeastScatter = 0.005, kLeastRankScale = 0.01;

/// Returns the index of the lowest rank's trace.
std::size_t reference_of(std::span<const RankTrace> traces) {
  const auto lowest = std::ranges::min_element(traces, {}, &RankTrace::rank);
  return static_cast<std::size_t>(lowest - traces.begin());
}

/// Transfer times of one rank's collectives, by the name of their group and their sequence.
using Transfers = std::map<std::pair<std::string, std::int64_t>, double>;

/// Returns the collectives of all ranks; none where ranks cannot be compared.
std::vector<CollectiveMetrics> collectives_of(std::span<const RankTrace> traces,
                                              std::span<const ClockFit> fits) {
  if (traces.size() < 2) return {};
  return measure_job(traces, fits).collectives;
}

Transfers transfers_of(const std::vector<CollectiveMetrics>& collectives, std::int64_t rank) {
  Transfers transfers;
  for (const CollectiveMetrics& collective : collectives) {
    const bool takes_part =
        std::ranges::any_of(collective.arrivals,
                            [&](const CollectiveArrival& arrival) { return arrival.rank == rank; });
    if (takes_part && collective.transfer_ns > 0)
      transfers[{collective.group, collective.sequence}] = collective.transfer_ns;
  }
  return transfers;
}

/// Returns the name of a record's group, as CollectiveMetrics has it.
std::string group_name(const RankTrace& trace, const TraceRecord& record) {
  return record.group == kAllRanks ? ""
                                   : trace.groups.at(static_cast<std::size_t>(record.group)).name;
}

/// Collects the whole steps of one rank in the form that describe_step() reads.
class WholeSteps {
 public:
  WholeSteps(const StepStructure& structure, const RankTrace& trace, const Transfers& transfers)
      : structure_(structure),
        trace_(trace),
        transfers_(transfers),
        shares_(shares_of_links(trace, structure.servers)) {
    if (structure.placed_from)
      placed_from_ = std::make_shared<const StepDescription>(*structure.placed_from);
    std::size_t number = 0;
    for (const StructureTask& task : structure.tasks) {
      number_of_.push_back(number);
      is_copied_.push_back(placed_from_ && is_copy(task.lane));
      if (!is_copied_.back()) ++number;
    }
    std::vector<Interval> parts;
    for (const TraceRecord& record : trace.records) {
      if (record.kind == TraceKind::communication)
        parts.push_back({record.begin_ns, record.end_ns});
    }
    communication_ = union_of(std::move(parts));
  }

  Result<std::vector<ProfiledStep>> find() const {
    std::map<std::int64_t, Step> steps;
    // Skips the first step: work of it may have run before the trace began.
    for (std::size_t i = 1; i + 1 < trace_.step_starts.size(); ++i)
      steps.emplace(trace_.step_starts[i].step, empty_step());
    for (const TraceRecord& record : trace_.records) {
      const auto step = steps.find(record.step);
      if (record.task == kNoTask || step == steps.end()) continue;
      if (record.task >= std::ssize(structure_.tasks)) {
        return failure(ErrorCode::invalid_argument,
                       "profile: a record is of task " + std::to_string(record.task) +
                           ", but the structure has " + std::to_string(structure_.tasks.size()) +
                           " tasks");
      }
      add(record, step->second);
    }
    std::vector<ProfiledStep> whole;
    for (auto& [number, step] : steps) {
      if (is_whole(step)) whole.push_back(std::move(step.profiled));
    }
    return whole;
  }

 private:
  struct Step {
    ProfiledStep profiled;
    std::vector<std::int64_t> traced_bytes;
    std::vector<bool> has_run;
  };

  Step empty_step() const {
    Step step;
    step.profiled.placed_from = placed_from_;
    for (std::size_t i = 0; i < structure_.tasks.size(); ++i) {
      const StructureTask& task = structure_.tasks[i];
      if (is_copied_[i]) continue;
      step.profiled.tasks.push_back({.name = task.name,
                                     .priority = task.priority,
                                     .accesses = task.accesses,
                                     .is_collective = task.collective.has_value(),
                                     .bytes = task.bytes,
                                     .lane = task.lane});
    }
    step.traced_bytes.resize(structure_.tasks.size());
    step.has_run.resize(structure_.tasks.size());
    return step;
  }

  void add(const TraceRecord& record, Step& step) const {
    const auto index = static_cast<std::size_t>(record.task);
    step.has_run[index] = true;
    if (is_copied_[index]) {
      step.profiled.copies.push_back(
          {.is_to_device = structure_.tasks[index].lane == TaskLane::to_device,
           .bytes = record.bytes,
           .duration_ns = record.end_ns - record.begin_ns});
      return;
    }
    ProfiledTask& task = step.profiled.tasks[number_of_[index]];
    if (!task.is_collective) {
      task.duration_ns += record.end_ns - record.begin_ns;
      task.beside_ns += shared_with_communication(record);
      return;
    }
    const CollectiveKind kind = record.collective.value_or(CollectiveKind::all_reduce);
    if (ends_part(kind)) step.traced_bytes[index] += record.bytes;
    const auto transfer = transfers_.find({group_name(trace_, record), record.sequence});
    const std::int64_t wall_ns = record.end_ns - record.begin_ns;
    const double ns =
        transfer == transfers_.end() ? static_cast<double>(wall_ns) : transfer->second;
    step.profiled.parts.push_back(
        {.bytes = record.bytes,
         .duration_ns = std::llround(ns),
         .kind = is_served(kind) ? kind : CollectiveKind::all_reduce,
         .share = shares_[static_cast<std::size_t>(&record - trace_.records.data())]});
  }

  std::int64_t shared_with_communication(const TraceRecord& record) const {
    auto part = std::ranges::upper_bound(communication_, record.begin_ns, {}, &Interval::end_ns);
    std::int64_t shared = 0;
    for (; part != communication_.end() && part->begin_ns < record.end_ns; ++part) {
      shared += std::min(part->end_ns, record.end_ns) - std::max(part->begin_ns, record.begin_ns);
    }
    return shared;
  }

  bool is_whole(const Step& step) const {
    for (std::size_t i = 0; i < structure_.tasks.size(); ++i) {
      if (!step.has_run[i]) return false;
      if (structure_.tasks[i].collective && step.traced_bytes[i] < structure_.tasks[i].bytes) {
        return false;
      }
    }
    return true;
  }

  const StepStructure& structure_;
  const RankTrace& trace_;
  const Transfers& transfers_;
  const std::vector<double> shares_;  // share of each record
  std::vector<Interval> communication_;
  std::shared_ptr<const StepDescription> placed_from_;
  // By task of the structure: whether it is a copy, and the number of tasks before it that are not.
  std::vector<bool> is_copied_;
  std::vector<std::size_t> number_of_;
};

double numbers_median(std::vector<double> values, double otherwise) {
  return values.empty() ? otherwise : median(std::move(values));
}

/// Scales durations down to their values without communication beside them.
void take_slowdown_out(const std::vector<ProfiledStep>& steps, double slowdown,
                       StepDescription& description) {
  for (std::size_t i = 0; i < description.tasks.size(); ++i) {
    StepTask& task = description.tasks[i];
    // The two times of a placed step's update are not of the same steps.
    if (task.collective || task.duration_ns == 0 || task.host_duration_ns > 0) continue;
    std::vector<double> shares;
    for (const ProfiledStep& step : steps) {
      const ProfiledTask& measured = step.tasks[i];
      if (measured.duration_ns == 0) continue;
      shares.push_back(static_cast<double>(measured.beside_ns) /
                       static_cast<double>(measured.duration_ns));
    }
    const double share = numbers_median(std::move(shares), 0);
    // The share s of a duration d ran slower by the factor 1 + γ.
    const double kept = 1 - share + share / (1 + slowdown);
    task.duration_ns = std::llround(static_cast<double>(task.duration_ns) * kept);
  }
}

/// Returns the sigma of the logarithm of compute times around each task's median, estimated from
/// the median distance.
double scatter_of(const std::vector<ProfiledStep>& steps) {
  std::vector<double> distances;
  for (std::size_t i = 0; i < steps.front().tasks.size(); ++i) {
    std::vector<double> durations;
    for (const ProfiledStep& step : steps) {
      if (step.tasks[i].duration_ns > 0)
        durations.push_back(static_cast<double>(step.tasks[i].duration_ns));
    }
    if (durations.size() < 3) continue;
    const double middle = median(durations);
    for (const double duration : durations)
      distances.push_back(std::abs(std::log(duration / middle)));
  }
  constexpr double kNormalMedianDistance = 0.6745;
  return numbers_median(std::move(distances), 0) / kNormalMedianDistance;
}

/// Returns by how much a rank's tasks take longer than the reference's, as a ratio.
double rank_scale(const std::vector<ProfiledStep>& reference,
                  const std::vector<ProfiledStep>& other) {
  const auto compute_of = [](const std::vector<ProfiledStep>& steps) {
    std::vector<double> sums;
    for (const ProfiledStep& step : steps) {
      double sum = 0;
      for (const ProfiledTask& task : step.tasks) sum += static_cast<double>(task.duration_ns);
      sums.push_back(sum);
    }
    return numbers_median(std::move(sums), 0);
  };
  const double mine = compute_of(reference), theirs = compute_of(other);
  return mine > 0 && theirs > 0 ? theirs / mine : 1;
}

/// Returns the link over which a ring all-reduce costs as much as `step`'s parts. The ring sends
/// 2(n−1) messages of 1/n of the bytes, one after the other.
std::optional<LinkSpec> link_of(const StepDescription& step) {
  const PartCost& cost = step.collective;
  if (step.ranks < 2 || cost.beta_ns_per_byte <= 0) return std::nullopt;
  const double hops = 2 * static_cast<double>(step.ranks - 1);
  LinkSpec link{1e9 * hops / static_cast<double>(step.ranks) / cost.beta_ns_per_byte, 0};
  const PartCost without_latency =
      collective_cost(CollectiveKind::all_reduce, 1, step.ranks, step.ranks_per_host,
                      {link, link, CollectiveAlgorithm::ring});
  link.latency_ns = std::llround(std::max(cost.alpha_ns - without_latency.alpha_ns, 0.0) / hops);
  return link;
}

void fit_links(std::span<const RankTrace> traces, Calibration& calibration) {
  std::set<std::string> hosts;
  for (const RankTrace& trace : traces) hosts.insert(trace.host);
  StepDescription& step = calibration.step;
  if (std::ssize(traces) < step.ranks) {
    calibration.notes.push_back("traces of " + std::to_string(step.ranks - std::ssize(traces)) +
                                " ranks are missing: they are taken to be like the others");
  }
  step.ranks_per_host = std::max(step.ranks / std::ssize(hosts), std::int64_t{1});
  if (hosts.size() == 1) {
    calibration.host_link = link_of(step);
    return;
  }
  calibration.network_link = link_of(step);
  if (step.ranks_per_host > 1) {
    calibration.notes.push_back(
        "the parts went within and between hosts at once: the link between hosts is fitted, that "
        "within is not");
  }
}

void fit_servers(const StepStructure& structure, std::span<const ProfiledStep> steps,
                 Calibration& calibration) {
  StepDescription& step = calibration.step;
  step = with_servers(std::move(step), steps, std::max<std::int64_t>(structure.servers, 1));
  if (!step.servers) {
    if (structure.servers > 0) {
      calibration.notes.push_back(
          "nothing went over the job's parameter servers, so communication=parameter_server cannot "
          "be predicted; a profile of a step with it would tell");
    }
    return;
  }
  if (structure.servers == 0) {
    calibration.notes.push_back(
        "the profile does not say how many parameter servers the job had: it is taken to be one");
  }
  if (!has_collective_cost(step)) {
    calibration.notes.push_back(
        "all sums went over parameter servers, so communication=all_reduce cannot be predicted; a "
        "profile of a step with it would tell");
  }
}

void fit_ranks(const StepStructure& structure, std::span<const RankTrace> traces,
               const std::vector<ProfiledStep>& reference,
               const std::vector<CollectiveMetrics>& collectives, Calibration& calibration) {
  std::vector<double> scales(static_cast<std::size_t>(calibration.step.ranks), 1);
  double furthest = 0;
  for (const RankTrace& trace : traces) {
    const Transfers transfers = transfers_of(collectives, trace.rank);
    const auto steps = WholeSteps(structure, trace, transfers).find();
    if (!steps || steps->empty()) {
      calibration.notes.push_back("rank " + std::to_string(trace.rank) +
                                  " has no whole step: it is taken to be like the others");
      continue;
    }
    const double scale = rank_scale(reference, *steps);
    scales[static_cast<std::size_t>(trace.rank)] = scale;
    furthest = std::max(furthest, std::abs(scale - 1));
  }
  if (furthest >= kLeastRankScale) calibration.step.rank_compute_scale = std::move(scales);
}

/// Returns the share of the time of all parts that those of unknown size take.
double unknown_share(const std::vector<ProfiledStep>& steps) {
  double unknown_ns = 0, all_ns = 0;
  for (const ProfiledStep& step : steps) {
    for (const ProfiledPart& part : step.parts) {
      const auto ns = static_cast<double>(part.duration_ns);
      all_ns += ns;
      if (part.bytes == 0) unknown_ns += ns;
    }
  }
  return all_ns > 0 ? unknown_ns / all_ns : 0;
}

void find_part_sizes(const std::vector<ProfiledStep>& steps, Calibration& calibration) {
  std::vector<std::int64_t> sizes;
  for (const ProfiledStep& step : steps) {
    for (const ProfiledPart& part : step.parts) sizes.push_back(part.bytes);
  }
  if (sizes.empty()) return;
  const auto [least, most] = std::ranges::minmax(sizes);
  calibration.least_part_bytes = least;
  calibration.most_part_bytes = most;
}

Result<void> check(const StepStructure& structure, std::span<const RankTrace> traces,
                   std::span<const ClockFit> fits) {
  if (structure.placed_from && !can_be_placed_from(structure, *structure.placed_from)) {
    return failure(ErrorCode::invalid_argument,
                   "profile: its tasks are not those of the step that they were placed from");
  }
  if (traces.empty() || fits.size() != traces.size()) {
    return failure(ErrorCode::invalid_argument, "profile: it has no traces to calibrate from");
  }
  for (const RankTrace& trace : traces) {
    if (trace.rank >= 0 && trace.rank < trace.ranks && trace.ranks == traces.front().ranks &&
        trace.ranks <= kMaxStepRanks) {
      continue;
    }
    return failure(ErrorCode::invalid_argument,
                   "profile: a trace says it is of rank " + std::to_string(trace.rank) + " of " +
                       std::to_string(trace.ranks) + ", another of " +
                       std::to_string(traces.front().ranks) + " ranks");
  }
  return {};
}

void fit_compute(const std::vector<ProfiledStep>& steps, Calibration& calibration) {
  StepDescription& step = calibration.step;
  if (step.compute_slowdown == 0) {
    const auto contention = estimate_contention(steps);
    if (contention && contention->slowdown > 0) {
      step.compute_slowdown = contention->slowdown;
      take_slowdown_out(steps, contention->slowdown, step);
    }
    if (!contention) {
      calibration.notes.push_back(
          "no computation ran both beside communication and alone: the slow-down of computation "
          "beside communication is part of its times");
    } else if (contention->is_between_tasks) {
      calibration.notes.push_back(
          "the slow-down of computation beside communication, " + percent(contention->slowdown) +
          ", is from tasks of the same name, because no task ran both beside communication and "
          "alone");
    }
  }
  const double scatter = scatter_of(steps);
  if (scatter >= kLeastScatter) step.jitter = {JitterKind::lognormal, scatter, 1};
}

/// Notes what a placed step did not show, so that predictions of other placements miss it.
void note_unseen(const std::vector<ProfiledStep>& steps, std::vector<std::string>& notes) {
  bool has_to_device = false, has_to_host = false;
  for (const ProfiledStep& step : steps) {
    for (const ProfiledCopy& copy : step.copies)
      (copy.is_to_device ? has_to_device : has_to_host) = true;
  }
  const auto note_copies = [&](bool has_any, const std::string& where) {
    if (!has_any)
      notes.push_back("nothing was copied to the " + where +
                      ": predictions that copy there take copies to cost nothing; profile with a "
                      "smaller offload_k");
  };
  note_copies(has_to_device, "device");
  note_copies(has_to_host, "host");
  const StepDescription& source = *steps.front().placed_from;
  bool has_device = false, has_host = false;
  for (std::size_t i = 0; i < source.tasks.size(); ++i) {
    if (source.tasks[i].place.updates_layer == kNoLayer) continue;
    (steps.front().tasks[i].lane == TaskLane::host ? has_host : has_device) = true;
  }
  if (has_device == has_host) return;
  notes.push_back(std::string("all updates ran on the ") + (has_host ? "host" : "device") +
                  ": predictions take those of the " + (has_host ? "device" : "host") +
                  " to be as fast");
}

}  // namespace

Result<Calibration> calibrate(const StepStructure& structure, std::span<const RankTrace> traces,
                              std::span<const ClockFit> fits) {
  HOCKET_TRY(check(structure, traces, fits));
  const RankTrace& reference = traces[reference_of(traces)];
  const auto collectives = collectives_of(traces, fits);
  const Transfers transfers = transfers_of(collectives, reference.rank);
  const auto steps = WholeSteps(structure, reference, transfers).find();
  HOCKET_TRY(steps);
  auto description = describe_step(*steps);
  HOCKET_TRY(description);
  Calibration calibration{.step = std::move(*description)};
  calibration.steps = std::ssize(*steps);
  calibration.step.ranks = reference.ranks;
  calibration.step.channel_split = 0;
  fit_servers(structure, *steps, calibration);
  calibration.step.source = "profile of " + std::to_string(calibration.steps) + " steps";
  if (structure.placed_from) note_unseen(*steps, calibration.notes);
  std::int64_t& unknown = calibration.unknown_collectives;
  for (std::size_t i = 0; !structure.placed_from && i < structure.tasks.size(); ++i) {
    calibration.step.tasks[i].collective = structure.tasks[i].collective;
    unknown += structure.tasks[i].collective && structure.tasks[i].bytes == 0;
  }
  if (unknown > 0) {
    calibration.notes.push_back(
        "the traces do not say the bytes of " + std::to_string(unknown) +
        " collectives: they take the time that was measured, whatever divides or joins them; "
        "record shapes to have their bytes");
  }
  std::vector<double> walls;
  for (const auto& iteration : measure_rank(reference).iterations)
    walls.push_back(static_cast<double>(iteration.wall_ns));
  calibration.measured_iteration_ns = numbers_median(std::move(walls), 0);
  fit_compute(*steps, calibration);
  find_part_sizes(*steps, calibration);
  if (unknown > 0) calibration.unknown_share = unknown_share(*steps);
  fit_links(traces, calibration);
  fit_ranks(structure, traces, *steps, collectives, calibration);
  if (auto ok = validate(calibration.step); !ok) return failure(ok.error().in("profile"));
  return calibration;
}

}  // namespace hocket
