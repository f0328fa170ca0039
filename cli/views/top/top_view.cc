#include "cli/views/top/top_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "cli/output/columns.h"
#include "cli/output/fitted_table.h"
#include "cli/output/value_text.h"

namespace hocket {
namespace {

constexpr std::size_t kWidestBusy = 24;

std::string iteration_text(double iteration_ns) {
  if (iteration_ns <= 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms", iteration_ns / 1e6);
  return text;
}

/// Returns a bar of one character per lane: streams, channels, copies, separated by "/".
std::string busy_text(const std::vector<LaneActivity>& lanes) {
  static constexpr std::array kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (i > 0 && lanes[i].kind != lanes[i - 1].kind) text += "/";
    const auto level = static_cast<std::size_t>(std::floor(lanes[i].busy * kBars.size()));
    text += kBars[std::min(level, kBars.size() - 1)];
  }
  return text.empty() ? "-" : text;
}

std::string memory_text(std::int64_t bytes) {
  return value_text(static_cast<double>(bytes), ObjectiveUnit::bytes);
}

const char* name_of_placed_lane(const LaneActivity& lane, std::int64_t streams) {
  if (lane.kind == TraceKind::compute) return lane.lane < streams ? "device" : "host";
  return lane.lane == 0 ? "copies to the device" : "copies to the host";
}

/// Returns how busy the lanes of a placed step are: "; busy: device 71.3 %, 65 %; host 1.2 %; …".
std::string placed_lanes_text(const std::vector<LaneActivity>& lanes, std::int64_t streams) {
  std::string text;
  std::string_view last;
  for (const LaneActivity& lane : lanes) {
    if (lane.kind != TraceKind::compute && lane.kind != TraceKind::copy) continue;
    const std::string_view name = name_of_placed_lane(lane, streams);
    text += name == last ? ", " : (text.empty() ? "; busy: " : "; ") + std::string(name) + " ";
    text += percent_text(lane.busy);
    last = name;
  }
  return text;
}

/// Returns the line of a placed job: its memory, the layers on the device, and what is busy.
std::string placement_text(const TopJob& job) {
  if (!job.placement) return "";
  const auto& [values, kept_layers, streams] = *job.placement;
  return memory_text(values.peak_bytes) + " of " + memory_text(values.limit_bytes) +
         " of device memory, " + std::to_string(kept_layers) + " of " +
         std::to_string(values.layers) + " layers on the device" +
         placed_lanes_text(job.lanes, streams);
}

/// Returns what stands below the line of a job.
std::vector<std::string> remarks_of(const TopJob& job) {
  std::vector<std::string> remarks;
  for (const std::string& remark : {placement_text(job), job.note})
    if (!remark.empty()) remarks.push_back("  " + remark);
  return remarks;
}

FittedTable table_of(const std::vector<const TopJob*>& jobs) {
  FittedTable table({{"job", 8, false, 15},
                     {"ranks", 4, true},
                     {"step", 5, true},
                     {"iteration", 7, true},
                     {"exposed", 6, true},
                     {"busy", 2, false, 0, kWidestBusy},
                     {"version", 3, true},
                     {"last change", 1, false, 10}});
  for (const TopJob* job : jobs) {
    table.add({job->connected ? job->name : job->name + " (away)",
               job->ranks > 0 ? std::to_string(job->ranks) : "-", std::to_string(job->step),
               iteration_text(job->iteration_ns),
               job->exposed_share ? percent_text(*job->exposed_share) : "-", busy_text(job->lanes),
               job->version > 0 ? std::to_string(job->version) : "own", job->last_change});
  }
  return table;
}

std::string heading_of(const TopShown& shown) {
  const auto& jobs = shown.data.jobs;
  const auto away = std::ranges::count(jobs, false, &TopJob::connected);
  std::string text = "hocket top  " + shown.daemon + "  " + time_text(shown.at_unix_ns) + "  " +
                     std::to_string(jobs.size()) + (jobs.size() == 1 ? " job" : " jobs");
  if (away > 0) text += ", " + std::to_string(away) + " away";
  return text;
}

std::string trouble_of(const TopShown& shown) {
  if (shown.trouble.empty()) return "";
  return "no answer for " + std::to_string(shown.trouble_since_ns / 1'000'000'000) +
         " s, asking again: " + shown.trouble;
}

std::string push_of(const TopData& data) {
  if (!data.push) return "last push: none";
  const TopPush& push = *data.push;
  std::string text = "last push: version " + std::to_string(push.version) + " for " + push.key +
                     " by " + push.who + ", " + push.stage + ", " + time_text(push.at_unix_ns) +
                     " (" + push.origin + ")";
  return push.note.empty() ? text : text + ": " + push.note;
}

/// Returns how many of the jobs, which take a line each and one for each remark, fit into `room`
/// lines, one of which says that there are more if not all do.
std::size_t fitting_jobs(const std::vector<const TopJob*>& jobs, std::size_t room) {
  std::size_t lines = 0, fitting = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    lines += 1 + remarks_of(*jobs[i]).size();
    if (lines + (i + 1 < jobs.size() ? 1 : 0) <= room) fitting = i + 1;
    if (lines > room) break;
  }
  return fitting;
}

}  // namespace

std::vector<std::string> top_lines(const TopShown& shown, const TopSize& size) {
  std::vector<std::string> lines = {heading_of(shown)};
  if (const auto trouble = trouble_of(shown); !trouble.empty()) lines.push_back(trouble);
  std::vector<const TopJob*> jobs;
  for (const TopJob& job : shown.data.jobs) jobs.push_back(&job);
  std::ranges::stable_partition(jobs, &TopJob::connected);
  // Reserves lines for the table's headings and the last push.
  const std::size_t others = lines.size() + 2;
  std::size_t room = 0;
  if (size.height > 0) room = size.height > others ? size.height - others : 0;
  std::size_t more = 0;
  const std::size_t fitting = size.height > 0 ? fitting_jobs(jobs, room) : jobs.size();
  if (jobs.size() > fitting) {
    more = jobs.size() - fitting;
    jobs.resize(fitting);
  }
  const std::vector<std::string> rows = table_of(jobs).lines(size.width);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    lines.push_back(rows[row]);
    if (row == 0) continue;
    for (std::string& remark : remarks_of(*jobs[row - 1])) lines.push_back(std::move(remark));
  }
  if (more > 0) lines.push_back("and " + std::to_string(more) + " more");
  lines.push_back(push_of(shown.data));
  if (size.height > 0 && lines.size() > size.height) lines.resize(size.height);
  for (std::string& line : lines) line = cut_to(line, size.width);
  return lines;
}

}  // namespace hocket
