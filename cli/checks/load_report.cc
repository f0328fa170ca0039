#include "cli/checks/load_report.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "core/base/json.h"
#include "core/base/json_reader.h"

namespace hocket {
namespace {

constexpr std::size_t kMostTextBytes = 4096;
constexpr std::size_t kMostVersions = 64;
constexpr std::int64_t kMostRanks = 1 << 24;
constexpr std::int64_t kMostNumber = std::numeric_limits<std::int32_t>::max();

constexpr std::array<Word<LoadEvent>, 7> kEvents{{{"start", LoadEvent::start},
                                                  {"group", LoadEvent::group},
                                                  {"step", LoadEvent::step},
                                                  {"probe", LoadEvent::probe},
                                                  {"profiler", LoadEvent::profiler},
                                                  {"tuner", LoadEvent::tuner},
                                                  {"call", LoadEvent::call}}};

void read_text(JsonReader& fields, std::string_view name, std::string& target) {
  target.clear();
  fields.value(
      name, [&](const JsonValue& found) { target = found.text(kMostTextBytes); }, kOptional);
}

void read_versions(JsonReader& fields, std::string_view name, std::vector<std::int64_t>& target) {
  target.clear();
  fields.array(
      name, [&](const JsonValue& found) { target.push_back(found.integer(1, 99)); }, kOptional,
      kMostVersions);
}

bool is_from_plugin(LoadEvent event) {
  return event == LoadEvent::profiler || event == LoadEvent::tuner || event == LoadEvent::call;
}

void add_plugin_report(LoadedProcess& process, const LoadReport& report) {
  if (report.event == LoadEvent::tuner) process.tuner = report.interface;
  if (report.event == LoadEvent::profiler) process.profiler = report.interface;
  if (report.event == LoadEvent::call) process.is_called = true;
  LoadReport& said = process.said;
  if (!said.rank) said.rank = report.rank;
  if (!said.ranks) said.ranks = report.ranks;
  if (said.plugin.empty()) said.plugin = report.plugin;
  if (said.nccl.empty()) said.nccl = report.nccl;
  if (said.nccl_library.empty()) said.nccl_library = report.nccl_library;
}

/// A later line says what the earlier ones do, and more; only the plugin's lines come in between.
void add_python_report(LoadedProcess& process, const LoadReport& report) {
  process.has_python = true;
  process.has_group |= report.event == LoadEvent::group;
  process.has_step |= report.event == LoadEvent::step;
  process.has_probe |= report.event == LoadEvent::probe;
  const LoadReport before = process.said;
  process.said = report;
  LoadReport& said = process.said;
  said.is_hooked |= before.is_hooked;
  said.uses_nccl |= before.uses_nccl;
  if (!said.rank) said.rank = before.rank;
  if (!said.ranks) said.ranks = before.ranks;
  if (said.plugin.empty()) said.plugin = before.plugin;
  if (said.nccl.empty()) said.nccl = before.nccl;
  if (said.nccl_library.empty()) said.nccl_library = before.nccl_library;
}

/// Says whether nothing more is to come of a rank that matters. A program of Python has made a
/// step; another one has asked the plugin for a collective.
bool has_reported(const LoadedProcess& process) {
  return process.has_group ? process.has_step : process.is_called;
}

}  // namespace

void read_load_report(JsonReader& fields, LoadReport& report) {
  constexpr std::array<Word<int>, 2> kFrom{{{"python", 0}, {"plugin", 1}}};
  int from = 0;
  fields.refuse_others();
  fields.format("hocket-load", 1);
  fields.choice("from", from, kFrom);
  fields.choice("event", report.event, kEvents);
  read_text(fields, "host", report.host);
  fields.integer("pid", report.pid, 1, kMostNumber);
  read_text(fields, "problem", report.problem);
  read_text(fields, "python", report.python);
  fields.flag("hooked", report.is_hooked, false);
  read_text(fields, "client_library", report.client_library);
  read_text(fields, "client_version", report.client_version);
  read_text(fields, "client_problem", report.client_problem);
  read_text(fields, "torch", report.torch);
  read_text(fields, "torch_cuda", report.torch_cuda);
  read_text(fields, "torch_problem", report.torch_problem);
  read_text(fields, "reducer_problem", report.reducer_problem);
  fields.integer("rank", report.rank, 0, kMostRanks);
  fields.integer("ranks", report.ranks, 1, kMostRanks);
  fields.integer("ranks_on_host", report.ranks_on_host, 1, kMostRanks);
  read_text(fields, "backend", report.backend);
  read_text(fields, "nccl", report.nccl);
  read_text(fields, "nccl_library", report.nccl_library);
  read_text(fields, "nccl_problem", report.nccl_problem);
  read_versions(fields, "tuners_asked", report.tuners_asked);
  read_versions(fields, "profilers_asked", report.profilers_asked);
  read_versions(fields, "tuners", report.tuners);
  read_versions(fields, "profilers", report.profilers);
  read_text(fields, "plugin", report.plugin);
  read_text(fields, "plugin_problem", report.plugin_problem);
  fields.integer("taken", report.taken, 0, kMostNumber);
  fields.integer("interface", report.interface, 1, 99);
  fields.integer("gpus", report.gpus, 0, kMostNumber);
  fields.flag("uses_nccl", report.uses_nccl, false);
  if (fields.finish() && is_from_plugin(report.event) != (from == 1))
    fields.self().refuse("an event of whom it is from");
}

LoadReports parse_load_reports(std::string_view text) {
  LoadReports reports;
  const auto refuse = [&](const std::string& why) {
    if (++reports.unreadable == 1) reports.problem = why;
  };
  for (std::size_t end; reports.unreadable < kMostUnreadableLines &&
                        (end = text.find('\n')) != std::string_view::npos;
       text.remove_prefix(end + 1)) {
    const std::string_view line = text.substr(0, end);
    if (line.size() > kMostLoadReportLineBytes) {
      refuse("a line of " + std::to_string(line.size()) + " bytes");
      continue;
    }
    const auto document = parse_object(line, "report");
    if (!document) {
      refuse(document.error().message);
      continue;
    }
    auto report = read_json(*document, read_load_report, "report");
    if (report) {
      reports.all.push_back(std::move(*report));
    } else {
      refuse(report.error().message);
    }
  }
  return reports;
}

std::vector<LoadedProcess> processes_of(const std::vector<LoadReport>& reports) {
  std::vector<LoadedProcess> processes;
  for (const LoadReport& report : reports) {
    const auto is_its = [&](const LoadedProcess& process) {
      return process.pid == report.pid && process.host == report.host;
    };
    auto process = std::ranges::find_if(processes, is_its);
    if (process == processes.end()) {
      processes.push_back({.host = report.host, .pid = report.pid});
      process = processes.end() - 1;
    }
    if (is_from_plugin(report.event)) {
      add_plugin_report(*process, report);
    } else {
      add_python_report(*process, report);
    }
  }
  std::ranges::stable_sort(processes, {}, [](const LoadedProcess& process) {
    return process.said.rank.value_or(std::numeric_limits<std::int64_t>::max());
  });
  return processes;
}

bool have_all_reported(const std::vector<LoadedProcess>& processes,
                       std::optional<std::string_view> host) {
  std::int64_t ranks = 0, expected = 0;
  for (const LoadedProcess& process : processes) {
    // Ranks of other hosts may write to another file, or to none.
    if ((host && process.host != *host) || !process.said.rank) continue;
    if (!has_reported(process)) return false;
    ++ranks;
    const std::int64_t all = process.said.ranks.value_or(1);
    expected = std::max(expected, host ? process.said.ranks_on_host.value_or(all) : all);
  }
  return ranks > 0 && ranks >= expected;
}

}  // namespace hocket
