#include "cli/checks/load_checks.h"

#include <algorithm>
#include <optional>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kMostRows = 64;
constexpr std::size_t kTextBytes = 300;

/// The oldest version of either interface that the plugin has (plugins/nccl/plugin.map), and the
/// first NCCL with both.
constexpr std::int64_t kOldestInterface = 4;
constexpr const char* kOldestNccl = "2.27";

constexpr const char* kInstall = "pip install hocket";
constexpr const char* kUpgrade = "pip install --upgrade hocket";
constexpr const char* kConfigure =
    "`hocket nccl --install` on each host, or eval \"$(hocket nccl --env)\" in what the launcher "
    "starts";
constexpr const char* kNewerNccl =
    "pip install --upgrade nvidia-nccl-cu13 (or -cu12, as PyTorch's CUDA is)";

std::string shown(const std::string& text) {
  return printable(text, kTextBytes);
}

std::string file_text(const std::string& file) {
  return file.empty() ? "file not known" : shown(file);
}

/// Returns "0.1.0, /usr/lib/libhocket_client.so.1".
std::string version_and_file(const std::string& version, const std::string& file) {
  return (version.empty() ? "version not known" : shown(version)) + ", " + file_text(file);
}

std::string duration_text(std::int64_t ns) {
  return ns % 1'000'000'000 == 0 ? std::to_string(ns / 1'000'000'000) + " s"
                                 : std::to_string(ns / 1'000'000) + " ms";
}

std::string list_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

/// Returns the newest version that both have.
std::optional<std::int64_t> newest_common(const std::vector<std::int64_t>& asked,
                                          const std::vector<std::int64_t>& offered) {
  std::optional<std::int64_t> newest;
  for (const std::int64_t version : asked) {
    if (std::ranges::count(offered, version) > 0 && version > newest.value_or(0)) newest = version;
  }
  return newest;
}

DoctorCheck check_client(const LoadReport& said, const LoadExpectation& expected) {
  DoctorCheck check{.what = "client library, loaded", .found = {}};
  if (!said.client_problem.empty()) {
    check.state = CheckState::wrong;
    check.found = shown(said.client_problem);
    check.remedy = kInstall;
    return check;
  }
  check.found = version_and_file(said.client_version, said.client_library);
  if (said.client_version != expected.version) {
    check.state = CheckState::note;
    check.found += "; the program is " + expected.version;
    check.remedy = kUpgrade;
  }
  return check;
}

DoctorCheck check_torch(const LoadReport& said) {
  DoctorCheck check{.what = "PyTorch, loaded", .found = {}};
  if (!said.torch_problem.empty()) {
    check.state = CheckState::wrong;
    check.found = "it cannot be imported: " + shown(said.torch_problem);
    check.remedy = "pip install --force-reinstall torch";
  } else if (said.torch.empty()) {
    check.state = CheckState::missing;
    check.found = "none in " + (said.python.empty() ? "this Python" : shown(said.python));
    check.remedy = "for `hocket torch`: pip install torch, or activate the environment that has it";
  } else {
    check.found =
        shown(said.torch) +
        (said.torch_cuda.empty() ? ", for processors" : ", CUDA " + shown(said.torch_cuda));
  }
  return check;
}

DoctorCheck check_reducer(const LoadReport& said) {
  DoctorCheck check{.what = "hocket.torch", .found = {}};
  if (said.reducer_problem.empty()) {
    check.found = "knows the Reducer of PyTorch " + shown(said.torch);
    return check;
  }
  check.state = CheckState::note;
  check.found = "DistributedDataParallel is left alone: " + shown(said.reducer_problem);
  check.remedy = kUpgrade;
  return check;
}

/// Returns "NCCL 2.28.9 has opened it: tuner 5, profiler 5".
std::string opened_text(const LoadedProcess& process) {
  std::string text =
      "NCCL " + (process.said.nccl.empty() ? "of unknown version" : shown(process.said.nccl));
  text += " has opened it:";
  if (process.tuner) text += " tuner " + std::to_string(*process.tuner);
  if (process.tuner && process.profiler) text += ",";
  if (process.profiler) text += " profiler " + std::to_string(*process.profiler);
  return text;
}

/// Says whether this NCCL is known to look for older versions alone.
bool is_too_old(const LoadReport& said) {
  const auto is_old = [](const std::vector<std::int64_t>& asked) {
    return !asked.empty() && std::ranges::max(asked) < kOldestInterface;
  };
  return is_old(said.tuners_asked) || is_old(said.profilers_asked);
}

/// NCCL has made a communicator without the plugin.
void refuse_plugin(const LoadReport& said, DoctorCheck& check) {
  check.state = CheckState::wrong;
  check.found = "NCCL " + shown(said.nccl) + " has made a communicator without it";
  if (is_too_old(said)) {
    check.found += ": it looks for the tuner's versions " + list_text(said.tuners_asked) +
                   " and the profiler's " + list_text(said.profilers_asked) +
                   ", and the plugin's begin with " + std::to_string(kOldestInterface);
    check.remedy = kNewerNccl;
  } else {
    if (!said.plugin_problem.empty()) check.found += ": " + shown(said.plugin_problem);
    check.remedy = said.plugin_problem.empty() ? kConfigure : kInstall;
  }
}

/// Judges what NCCL has done with the plugin; nothing if it has done nothing that shows.
bool check_opened(const LoadedProcess& process, DoctorCheck& check) {
  if (process.tuner && process.profiler) {
    check.found = opened_text(process) + ", " + file_text(process.said.plugin);
    return true;
  }
  if (process.tuner || process.profiler) {
    check.state = CheckState::wrong;
    check.found = opened_text(process) + " alone, and it needs both";
    check.remedy = process.tuner ? "export NCCL_PROFILER_PLUGIN=hocket, as `hocket nccl` does"
                                 : "export NCCL_TUNER_PLUGIN=hocket, as `hocket nccl` does";
    return true;
  }
  if (process.said.uses_nccl) {
    refuse_plugin(process.said, check);
    return true;
  }
  return false;
}

/// Judges a plugin that NCCL had no chance to open.
void check_unopened(const LoadReport& said, DoctorCheck& check) {
  const auto tuner = newest_common(said.tuners_asked, said.tuners);
  const auto profiler = newest_common(said.profilers_asked, said.profilers);
  check.state = CheckState::note;
  check.found = file_text(said.plugin) + " can be opened";
  if (said.nccl_library.empty()) {
    check.found += "; there is no NCCL to take it";
    return;
  }
  if (tuner && profiler) {
    check.found += "; NCCL " + shown(said.nccl) + " looks for it: tuner " + std::to_string(*tuner) +
                   ", profiler " + std::to_string(*profiler);
  } else if (is_too_old(said)) {
    check.found += "; NCCL " + shown(said.nccl) +
                   " looks for older plugins alone, and hocket's is "
                   "for " +
                   kOldestNccl + " or newer";
    check.remedy = kNewerNccl;
    return;
  } else {
    check.found += "; what NCCL " + shown(said.nccl) + " looks for is not known";
  }
  if (!said.nccl_problem.empty()) {
    check.found += "; it made no communicator: " + shown(said.nccl_problem) +
                   ", so whether it takes it is not known";
    check.remedy = "hocket doctor --job -- COMMAND";
  } else {
    check.found += "; no GPU here: NCCL makes no communicator, so whether it takes it is not known";
    check.remedy = "hocket doctor on a host with a GPU";
  }
}

DoctorCheck check_probed_plugin(const LoadedProcess& process, const LoadExpectation& expected) {
  DoctorCheck check{.what = "plugin for NCCL", .found = {}};
  if (!expected.has_plugin) {
    check.state = CheckState::missing;
    check.found = "it is not beside the program";
    check.remedy = kInstall;
  } else if (!check_opened(process, check)) {
    if (!process.said.plugin_problem.empty()) {
      check.state = CheckState::wrong;
      check.found = shown(process.said.plugin_problem);
      check.remedy = kInstall;
    } else {
      check_unopened(process.said, check);
    }
  }
  return check;
}

DoctorCheck check_ranks_plugin(const LoadedProcess& process, const LoadExpectation& expected,
                               std::int64_t limit_ns) {
  const LoadReport& said = process.said;
  DoctorCheck check{.what = "plugin for NCCL", .found = {}};
  if (!expected.has_plugin) {
    check.found = "without the plugin for NCCL, which is not installed";
  } else if (check_opened(process, check)) {
    if (check.state != CheckState::ok) return check;
    if (process.is_called) {
      check.found += ", and asks it for collectives";
    } else {
      check.state = CheckState::note;
      check.found += ", and has not asked it for a collective";
      check.remedy = "give it more time: --timeout 10m";
    }
  } else if (process.has_group && said.backend.find("nccl") == std::string::npos) {
    check.found = "backend " + shown(said.backend) + ", so NCCL is not used";
  } else {
    check.state = CheckState::note;
    check.found = process.has_step ? "whether NCCL was used is not known: no model is wrapped"
                                   : "no step of an optimizer in " + duration_text(limit_ns) +
                                         ": whether NCCL takes the plugin is not known";
    if (!process.has_step) check.remedy = "give it more time: --timeout 10m";
  }
  return check;
}

int weight(CheckState state) {
  switch (state) {
    case CheckState::ok:
      return 0;
    case CheckState::note:
      return 1;
    case CheckState::missing:
      return 2;
    case CheckState::wrong:
      return 3;
  }
  return 0;
}

/// Returns the checks of one process as one: what is worst comes first, with its remedy.
DoctorCheck joined(const std::string& what, std::vector<DoctorCheck> checks) {
  std::ranges::stable_sort(checks, std::ranges::greater(),
                           [](const DoctorCheck& check) { return weight(check.state); });
  DoctorCheck all{
      .what = what, .state = checks.front().state, .found = {}, .remedy = checks.front().remedy};
  for (const DoctorCheck& check : checks)
    all.found += (all.found.empty() ? "" : "; ") + check.what + ": " + check.found;
  return all;
}

DoctorCheck check_rank(const LoadedProcess& process, const LoadExpectation& expected,
                       std::int64_t limit_ns) {
  const LoadReport& said = process.said;
  std::string what = said.rank ? "rank " + std::to_string(*said.rank) : "process";
  what += ", " + shown(process.host) + ", pid " + std::to_string(process.pid);
  std::vector<DoctorCheck> checks;
  if (!said.problem.empty()) {
    checks.push_back({.what = "report",
                      .state = CheckState::wrong,
                      .found = shown(said.problem),
                      .remedy = kUpgrade});
  } else if (process.has_python) {
    checks.push_back(check_client(said, expected));
    checks.push_back(check_torch(said));
    if (!said.torch.empty()) checks.push_back(check_reducer(said));
  }
  checks.push_back(check_ranks_plugin(process, expected, limit_ns));
  return joined(what, std::move(checks));
}

/// Returns "mpirun -x A -x B …".
std::string pass_on_text(const std::vector<std::string>& variables) {
  std::string text = "let the launcher pass the environment on: srun --export=ALL, mpirun";
  for (const std::string& name : variables) text += " -x " + name;
  return text;
}

/// Says how many ranks have reported of those that should. Without a shared folder these are the
/// ranks on this host. Where no rank knows
/// how many these are, the job's others may be on other hosts, which report to no file of this one.
void count_ranks(const LaunchedJob& job, const std::vector<LoadedProcess>& ranks,
                 const std::string& end, DoctorCheck& check) {
  std::int64_t here = 0, all = 0;
  for (const LoadedProcess& rank : ranks) {
    here = std::max(here, rank.said.ranks_on_host.value_or(0));
    all = std::max(all, rank.said.ranks.value_or(0));
  }
  const auto count = static_cast<std::int64_t>(ranks.size());
  check.found = std::to_string(count) + (count == 1 ? " rank has" : " ranks have") + " reported";
  if (!job.shared_folder.empty()) {
    if (count >= all) return;
    check.state = CheckState::wrong;
    check.found += " of " + std::to_string(all) + ", " + end;
    check.remedy = pass_on_text(job.variables) + "; all hosts must see " + shown(job.shared_folder);
  } else if (count < here) {
    check.state = CheckState::wrong;
    check.found += " of " + std::to_string(here) + " on this host, " + end;
    check.remedy = pass_on_text(job.variables);
  } else if (here == 0 && count < all) {
    check.state = CheckState::note;
    check.found += " of " + std::to_string(all) + ", " + end + "; those of other hosts do not";
    check.remedy =
        "hocket doctor --job --shared FOLDER, one that all hosts see; if all ranks are on "
        "this host, " +
        pass_on_text(job.variables);
  }
}

DoctorCheck check_launch(const LaunchedJob& job, std::size_t starts,
                         const std::vector<LoadedProcess>& ranks) {
  DoctorCheck check{.what = "launched job", .found = {}};
  const std::string end =
      job.end.was_stopped ? "in " + duration_text(job.limit_ns) : "before its end: " + job.end.text;
  if (!ranks.empty()) {
    count_ranks(job, ranks, end, check);
  } else if (starts == 0) {
    check.state = CheckState::wrong;
    const bool is_shared = !job.shared_folder.empty();
    check.found =
        "no process has reported " + end + ": the launcher does not pass the environment on, or " +
        (is_shared ? "its hosts do not see " + shown(job.shared_folder) : "starts no ranks here");
    check.remedy = pass_on_text(job.variables);
    if (!is_shared) check.remedy += "; for other hosts, --shared FOLDER";
  } else {
    check.state = job.end.was_stopped || !job.end.has_failed ? CheckState::note : CheckState::wrong;
    check.found = std::to_string(starts) + (starts == 1 ? " Python has" : " Pythons have") +
                  " started with hocket, and none has joined a process group " + end;
    check.remedy = job.end.was_stopped ? "give it more time: --timeout 10m"
                                       : "run the command without hocket first";
  }
  if (job.end.has_failed && !job.end.was_stopped) {
    check.state = CheckState::wrong;
    if (!ranks.empty()) check.found += "; the command has failed: " + job.end.text;
    if (check.remedy.empty()) check.remedy = "run the command without hocket first";
  }
  return check;
}

}  // namespace

std::vector<DoctorCheck> check_probe(const std::vector<LoadedProcess>& processes,
                                     const CommandEnd& end, const LoadExpectation& expected) {
  DoctorCheck start{.what = "Python, started", .found = {}};
  const auto probe = std::ranges::find_if(processes, &LoadedProcess::has_probe);
  if (probe == processes.end()) {
    start.state = CheckState::note;
    start.found = "what a job loads is not known: python3 " +
                  (end.was_stopped ? "did not end in time" : "ended with " + end.text);
    start.remedy = "hocket doctor --job -- COMMAND asks a program of yours";
    return {start};
  }
  const LoadReport& said = probe->said;
  if (!said.problem.empty()) {
    start.state = CheckState::wrong;
    start.found = shown(said.problem);
    start.remedy = kUpgrade;
    return {start};
  }
  start.found = shown(said.python);
  if (expected.has_package && !said.is_hooked) {
    start.state = CheckState::wrong;
    start.found += " has started without hocket: it does not read PYTHONPATH";
    start.remedy = "call hocket.torch.tune(model, optimizer) in the program";
  }
  std::vector<DoctorCheck> checks = {start, check_client(said, expected), check_torch(said)};
  if (!said.torch.empty()) checks.push_back(check_reducer(said));
  if (!said.nccl.empty() || !said.nccl_library.empty()) {
    checks.push_back(
        {.what = "NCCL, loaded", .found = version_and_file(said.nccl, said.nccl_library)});
  }
  checks.push_back(check_probed_plugin(*probe, expected));
  return checks;
}

std::vector<DoctorCheck> check_launched_job(const LaunchedJob& job,
                                            const LoadExpectation& expected) {
  std::vector<LoadedProcess> ranks = processes_of(job.reports.all);
  const std::size_t all = ranks.size();
  std::erase_if(ranks, [](const LoadedProcess& process) {
    return !process.has_group && !process.tuner && !process.profiler;
  });
  std::vector<DoctorCheck> checks = {check_launch(job, all, ranks)};
  for (const LoadedProcess& rank : ranks) {
    if (checks.size() > kMostRows) break;
    checks.push_back(check_rank(rank, expected, job.limit_ns));
  }
  if (ranks.size() > kMostRows) {
    checks.push_back({.what = "further ranks",
                      .state = CheckState::note,
                      .found = std::to_string(ranks.size() - kMostRows) + " are not shown"});
  }
  if (job.reports.unreadable > 0) {
    checks.push_back({.what = "reports",
                      .state = CheckState::note,
                      .found = std::to_string(job.reports.unreadable) +
                               " lines are none: " + shown(job.reports.problem),
                      .remedy = kUpgrade});
  }
  return checks;
}

}  // namespace hocket
