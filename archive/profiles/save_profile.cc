#include "archive/profiles/save_profile.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "archive/profiles/calibrate_profile.h"
#include "archive/profiles/rank_ranges.h"
#include "archive/profiles/transfer/http_trace_transfer.h"
#include "core/sim/simulator.h"
#include "core/step/schedule_config.h"
#include "profiler/calibration/calibration.h"
#include "profiler/metrics/idle_lanes.h"
#include "profiler/metrics/metrics.h"
#include "profiler/metrics/profile_quality.h"
#include "store/trace_file.h"

namespace hocket {
namespace {

/// Iterations whose idle times are kept one by one.
constexpr std::size_t kMostIdleIterations = 100;

Result<void> write_trace(const RankTrace& trace, const std::string& path) {
  auto file = create_trace_file(path, trace);
  HOCKET_TRY(file);
  auto written = (*file)->append(trace);
  if (written) written = (*file)->finish();
  return written;
}

std::string name_of(std::int64_t rank) {
  return "rank " + std::to_string(rank);
}

/// Turns a ProfileToSave into rows.
class Saving {
 public:
  explicit Saving(ProfileToSave profile) : profile_(std::move(profile)) {
    std::ranges::sort(profile_.ranks, {}, [](const RankToSave& rank) { return rank.trace.rank; });
  }

  Result<ProfileRow> save(Store& store, const std::string& store_path) {
    write_traces();
    const auto daemon = trace_target(store_path);
    if (TraceTarget* const target = profile_.target ? profile_.target : daemon.get())
      send_traces(*target);
    const NewProfile rows = make_rows();
    auto row = store.add_profile(rows);
    std::error_code error;
    for (const std::string& path : row ? sent_ : written_) std::filesystem::remove(path, error);
    // Does nothing while there are files in it.
    std::filesystem::remove(profile_.folder.path, error);
    return row;
  }

 private:
  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// Adds one note for each reason, however many ranks it has.
  void note_missing() {
    std::map<std::string, std::vector<std::int64_t>> ranks_by_reason;
    for (const MissingRank& missing : profile_.missing) {
      ranks_by_reason[missing.reason].push_back(missing.rank);
    }
    for (const auto& [reason, ranks] : ranks_by_reason) {
      note(ranks_text(ranks) + (ranks.size() == 1 ? " has" : " have") + " no trace: " + reason);
    }
  }

  void write_traces() {
    for (RankToSave& rank : profile_.ranks) {
      if (!rank.trace_path.empty()) continue;
      const std::string path = trace_file_path(profile_.folder.path, rank.trace.rank);
      if (const auto ok = write_trace(rank.trace, path); !ok) {
        note(name_of(rank.trace.rank) + " has metrics and no trace: " + ok.error().message);
        std::error_code error;
        std::filesystem::remove(path, error);
        continue;
      }
      rank.trace_path = path;
      written_.push_back(path);
    }
  }

  void send_traces(TraceTarget& target) {
    if (written_.empty()) return;
    const auto stay = [&](const Error& error) {
      note("traces stay on the host that saved them, since they cannot be sent to the daemon: " +
           error.message);
    };
    const auto set = target.make_set();
    if (!set) return stay(set.error());
    if (!*set) return;
    for (RankToSave& rank : profile_.ranks) {
      if (std::ranges::find(written_, rank.trace_path) == written_.end()) continue;
      const TraceUrl url = (*set)->of_rank(rank.trace.rank);
      if (const auto sent = target.send(rank.trace_path, url); !sent) return stay(sent.error());
      sent_.push_back(std::exchange(rank.trace_path, url.text()));
    }
  }

  NewProfile make_rows() {
    std::vector<RankTrace> traces;
    std::vector<std::vector<ClockRound>> rounds;
    for (RankToSave& rank : profile_.ranks) {
      traces.push_back(std::move(rank.trace));
      rounds.push_back(std::move(rank.rounds));
    }
    const std::vector<ClockFit> fits = fit_clocks(traces, rounds);
    const JobMetrics job = measure_job(traces, fits);
    for (const std::string& reason : job.withheld) note(reason);

    NewProfile rows;
    rows.name = profile_.folder.name;
    rows.source = traces.empty() ? "" : traces.front().source;
    rows.topology_id = profile_.topology_id;
    rows.workload_id = profile_.workload_id;
    rows.config = profile_.config;
    if (!profile_.structure.tasks.empty()) rows.structure = to_json(profile_.structure);
    for (std::size_t i = 0; i < traces.size(); ++i) add_rank(rows, traces[i], i, fits[i]);
    note_lost(traces);
    for (const MissingRank& missing : profile_.missing) {
      ProfileRank rank;
      rank.rank = missing.rank;
      rows.ranks.push_back(rank);
    }
    note_missing();
    for (const RankMetrics& rank : job.ranks) {
      for (const IterationMetrics& it : rank.iterations) {
        rows.iterations.push_back({rank.rank, it.step, it.begin_ns, it.wall_ns, it.compute_ns,
                                   it.communication_ns, it.exposed_ns});
      }
    }
    if (std::ranges::none_of(traces, has_activity)) {
      note("no rank has computation, communication or copies, so nothing is measured");
    } else if (rows.iterations.empty()) {
      note("no iteration is whole, so nothing is measured");
    }
    add_metrics(rows, named_metrics(job, bound_ns(traces, fits)));
    const StepQuality quality = judge(traces, job);
    if (quality.uncertainty >= kPoorUncertainty)
      note("predictions from it may be far off: " + quality.reason);
    // Notes on withheld figures come before those on what the files lacked.
    notes_.insert(notes_.end(), profile_.notes.begin(), profile_.notes.end());
    rows.detail = {{"notes", notes_}, {"quality", to_json(quality)}};
    if (const auto& overhead = profile_.overhead) {
      rows.detail["overhead"] = {
          {"profiled_ns", overhead->profiled_ns}, {"plain_ns", overhead->plain_ns},
          {"profiled", overhead->profiled},       {"plain", overhead->plain},
          {"share", overhead->share()},           {"share_margin", overhead->share_margin()}};
    }
    if (profile_.structure.placed_from) add_idle_lanes(rows, traces);
    return rows;
  }

  void add_rank(NewProfile& rows, const RankTrace& trace, std::size_t index, const ClockFit& fit) {
    rows.ranks.push_back({.rank = trace.rank,
                          .host = trace.host,
                          .trace_path = profile_.ranks[index].trace_path,
                          .records = std::ssize(trace.records),
                          .dropped = trace.dropped,
                          .quarantined = trace.quarantined,
                          .clock_fit = to_json(fit)});
  }

  /// Adds one note of the records that ranks lost and one of those that cannot be true.
  void note_lost(const std::vector<RankTrace>& traces) {
    std::vector<std::int64_t> losing, wrong;
    std::int64_t dropped = 0, quarantined = 0;
    for (const RankTrace& trace : traces) {
      if (trace.dropped > 0) losing.push_back(trace.rank);
      if (trace.quarantined > 0) wrong.push_back(trace.rank);
      dropped += trace.dropped;
      quarantined += trace.quarantined;
    }
    if (dropped > 0) {
      note(ranks_text(losing) + " lost " + std::to_string(dropped) +
           " records to a full buffer; the iterations that miss some are left out");
    }
    if (quarantined > 0) {
      note(ranks_text(wrong) + (wrong.size() == 1 ? " has " : " have ") +
           std::to_string(quarantined) + " records that cannot be true, which are left out");
    }
  }

  /// Adds medians for each rank, and the iterations of the lowest one.
  void add_idle_lanes(NewProfile& rows, const std::vector<RankTrace>& traces) {
    std::vector<TaskLane> lane_of;
    for (const StructureTask& task : profile_.structure.tasks) lane_of.push_back(task.lane);
    for (const RankTrace& trace : traces) {
      const auto iterations = measure_idle_lanes(trace, lane_of);
      add_metrics(rows, named_metrics(trace.rank, iterations));
      if (&trace != &traces.front()) continue;
      auto& idle = rows.detail["idle"] = nlohmann::json::array();
      for (std::size_t i = 0; i < std::min(iterations.size(), kMostIdleIterations); ++i) {
        nlohmann::json one = {{"step", iterations[i].step}};
        for (std::size_t lane = 0; lane < kTaskLanes; ++lane)
          one[kIdleFigures[lane]] = iterations[i].share[lane];
        idle.push_back(std::move(one));
      }
    }
  }

  void add_metrics(NewProfile& rows, const std::vector<NamedMetric>& metrics) {
    for (const NamedMetric& metric : metrics) {
      if (std::isfinite(metric.value)) {
        rows.metrics.push_back({metric.rank, metric.name, metric.value});
      } else {
        note("metric " + metric.name + " is left out: it is no finite number");
      }
    }
  }

  StepQuality judge(const std::vector<RankTrace>& traces, const JobMetrics& job) const {
    std::vector<double> iterations;
    double lost_share = 0;
    if (!job.ranks.empty()) {
      const auto reference = reference_index(traces);
      for (const IterationMetrics& it : job.ranks[reference].iterations)
        iterations.push_back(static_cast<double>(it.wall_ns));
      lost_share = doubtful_share(traces[reference]);
    }
    ProfileConditions conditions = conditions_of(iterations);
    conditions.lost_share = lost_share;
    if (profile_.host) {
      conditions.waiting_share = profile_.host->waiting;
      conditions.others_share = profile_.host->others;
    }
    return judge_profile(conditions);
  }

  /// Returns T* if the step is known.
  std::optional<double> bound_ns(const std::vector<RankTrace>& traces,
                                 const std::vector<ClockFit>& fits) {
    if (profile_.structure.tasks.empty() || traces.empty()) return std::nullopt;
    const auto none = [&](const Error& error) -> std::optional<double> {
      note("the bound on the iteration is not known: " + error.message);
      return std::nullopt;
    };
    ScheduleConfig config = traced_config(traces.front());
    if (!profile_.config.empty()) {
      auto read = schedule_config_from_json(profile_.config);
      if (!read) return none(read.error());
      config = std::move(*read);
    }
    const auto calibration = calibrate(profile_.structure, traces, fits);
    if (!calibration) return none(calibration.error());
    const auto simulation = simulate(calibration->step, {.config = config});
    if (!simulation) return none(simulation.error());
    return static_cast<double>(simulation->bound_ns);
  }

  ProfileToSave profile_;
  std::vector<std::string> written_, sent_;  // paths of files
  std::vector<std::string> notes_;
};

}  // namespace

Result<ProfileRow> save_profile(Store& store, const std::string& store_path,
                                ProfileToSave profile) {
  return Saving(std::move(profile)).save(store, store_path);
}

}  // namespace hocket
