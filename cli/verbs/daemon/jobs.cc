// hocket jobs: lists the jobs that a daemon knows: those that run, or those that have ended.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cli/inputs/access/daemon_access.h"
#include "cli/inputs/access/key_name.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "core/base/json_members.h"
#include "core/base/text.h"
#include "core/protocol/reported_values.h"

namespace hocket {
namespace {

struct JobsOptions {
  DaemonChoice daemon;
  bool ended = false;
  bool json = false;
};

constexpr std::size_t kJobsTextLimitBytes = 60;

std::string iteration_text(const nlohmann::json& job) {
  const double iteration_ns = number_member(job, "iteration_ns");
  if (iteration_ns <= 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms", iteration_ns / 1e6);
  return text;
}

std::string version_text(const nlohmann::json& job) {
  const auto version = integer_member(job, "version");
  return version == 0 ? "own" : std::to_string(version);
}

/// Returns where the job's version comes from: a study, a push, live tuning or an import.
std::string origin_cell(const nlohmann::json& job) {
  const std::string origin = text_member(job, "version_from");
  return origin.empty() ? "-" : printable(origin, kJobsTextLimitBytes);
}

/// Returns the state of the tuning, for the job that tries the candidates of its key.
std::string tuning_text(const nlohmann::json& job) {
  if (!text_member(job, "tuning_stopped").empty()) return "stopped";
  const std::string state = text_member(job, "tuning");
  if (state.empty()) return "-";
  const auto search = job.find("search");
  if (search == job.end() || !search->is_object()) return printable(state, kJobsTextLimitBytes);
  return printable(state, kJobsTextLimitBytes) + ": tried " +
         std::to_string(integer_member(*search, "tried")) + ", kept " +
         std::to_string(integer_member(*search, "kept")) + ", " +
         date_text(integer_member(*search, "ended_at_ns"));
}

/// Returns what tells the job's key from others of its model and hardware, where it says so.
std::string traits_cell(const nlohmann::json& job) {
  const std::string traits = text_member(job, "traits");
  return traits.empty() ? "-" : traits;
}

/// Returns the share of the time that trying has cost, of the share that it may.
std::string explored_text(const nlohmann::json& job) {
  if (number_member(job, "explore") <= 0) return "-";
  return percent_text(number_member(job, "explored")) + " of " +
         percent_text(number_member(job, "explore"));
}

/// Returns what being tuned costs the job, as it measures it; "-" where it does not say.
std::string own_cost_text(const nlohmann::json& job) {
  const auto values = job.find("values");
  if (values == job.end() || !values->is_object()) return "-";
  const auto found = values->find(kOwnCostName);
  if (found == values->end() || !found->is_number()) return "-";
  const double percent = found->get<double>();
  if (percent < 0.005) return "<0.01 %";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", std::min(percent, kMostOwnCostPercent));
  return text;
}

/// Few programs say what being tuned costs them.
bool any_has_own_cost(const std::vector<nlohmann::json>& jobs) {
  return std::ranges::any_of(jobs, [](const auto& job) { return own_cost_text(job) != "-"; });
}

void print_running(const nlohmann::json& answer, std::ostream& out) {
  const auto jobs = list_member(answer, "jobs");
  const bool has_cost = any_has_own_cost(jobs);
  std::vector<std::string> columns = {"job",       "name",    "host",         "key",     "step",
                                      "iteration", "version", "version from", "explored"};
  if (has_cost) columns.emplace_back("own cost");
  for (const char* column : {"tuning", "state", "last change", "traits"})
    columns.emplace_back(column);
  TextTable table(columns);
  for (const auto& job : jobs) {
    std::vector<std::string> cells = {printable(text_member(job, "job"), kJobsTextLimitBytes),
                                      printable(text_member(job, "name"), kJobsTextLimitBytes),
                                      printable(text_member(job, "host"), kJobsTextLimitBytes),
                                      short_key(text_member(job, "key")),
                                      std::to_string(integer_member(job, "step")),
                                      iteration_text(job),
                                      version_text(job),
                                      origin_cell(job),
                                      explored_text(job)};
    if (has_cost) cells.push_back(own_cost_text(job));
    cells.push_back(tuning_text(job));
    cells.emplace_back(flag_member(job, "connected") ? "connected" : "away");
    cells.push_back(printable(text_member(job, "last_change"), kJobsTextLimitBytes));
    cells.push_back(printable(traits_cell(job), kJobsTextLimitBytes));
    table.add(cells);
  }
  table.print(out);
}

void print_ended(const nlohmann::json& answer, std::ostream& out) {
  const auto jobs = list_member(answer, "jobs");
  const bool has_cost = any_has_own_cost(jobs);
  std::vector<std::string> columns = {"job",  "name",      "host",    "key",     "ended",
                                      "step", "iteration", "version", "explored"};
  if (has_cost) columns.emplace_back("own cost");
  for (const char* column : {"tried", "kept", "last change"}) columns.emplace_back(column);
  TextTable table(columns);
  for (const auto& job : jobs) {
    const std::int64_t minutes = integer_member(job, "ago_ns") / 60'000'000'000;
    std::vector<std::string> cells = {
        printable(text_member(job, "job"), kJobsTextLimitBytes),
        printable(text_member(job, "name"), kJobsTextLimitBytes),
        printable(text_member(job, "host"), kJobsTextLimitBytes),
        short_key(text_member(job, "key")),
        std::to_string(minutes) + " min ago" + (flag_member(job, "was_silent") ? ", silent" : ""),
        std::to_string(integer_member(job, "step")),
        iteration_text(job),
        version_text(job),
        explored_text(job)};
    if (has_cost) cells.push_back(own_cost_text(job));
    cells.push_back(std::to_string(integer_member(job, "tried")));
    cells.push_back(std::to_string(integer_member(job, "kept")));
    cells.push_back(printable(text_member(job, "last_change"), kJobsTextLimitBytes));
    table.add(cells);
  }
  table.print(out);
}

Result<int> show_jobs(const JobsOptions& options, VerbContext& context) {
  auto access = daemon_access(options.daemon);
  HOCKET_TRY(access);
  HttpClient client(std::move(*access));
  const auto answer = ask_daemon(client, "GET", options.ended ? "/v1/jobs/ended" : "/v1/jobs");
  HOCKET_TRY(answer);
  if (options.json) {
    context.out << json_text(*answer) << '\n';
    return kDone;
  }
  if (options.ended) {
    print_ended(*answer, context.out);
    return kDone;
  }
  print_running(*answer, context.out);
  return kDone;
}

}  // namespace

void add_jobs(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<JobsOptions>();
  auto* verb = program.add_subcommand("jobs", "list the jobs that a daemon knows");
  add_daemon_option(*verb, options->daemon);
  verb->add_flag("--ended", options->ended,
                 "list the last 100 jobs that have ended since the daemon started");
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer("Examples:\n  hocket jobs\n  hocket jobs --ended\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return show_jobs(*options, c); };
  });
}

}  // namespace hocket
