// hocket doctor: says what of hocket is there and what is missing, what a job loads of it, lists
// every file and folder that hocket writes, and says what is wrong with them. With --job it asks a
// job that the user's own launcher starts.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "cli/base/command_line.h"
#include "cli/checks/gpu_libraries.h"
#include "cli/checks/installation.h"
#include "cli/checks/service.h"
#include "cli/checks/started_job.h"
#include "cli/files/own_files.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/process/interrupt.h"
#include "cli/process/own_program.h"
#include "cli/verbs/verb.h"
#include "core/base/clock.h"
#include "core/base/text.h"
#include "store/open.h"
#include "store/store_uri.h"

namespace hocket {
namespace {

constexpr std::size_t kDoctorTextLimitBytes = 400;

struct DoctorOptions {
  std::string store;
  std::string timeout = "60s", shared_folder;
  bool json = false, has_job = false, starts_nothing = false;
};

std::string size_of(const OwnFile& file) {
  if (file.state == OwnState::missing) return "-";
  return value_text(static_cast<double>(file.bytes), ObjectiveUnit::bytes);
}

void print_own_files(const std::vector<OwnFile>& files, std::ostream& out) {
  TextTable table({"what", "state", "size", "path", "to do"});
  for (const OwnFile& file : files) {
    table.add({std::string(to_string(file.kind)), std::string(to_string(file.state)), size_of(file),
               printable(file.path, kDoctorTextLimitBytes),
               printable(file.advice, kDoctorTextLimitBytes)});
  }
  table.print(out);
}

nlohmann::json own_files_json(const std::vector<OwnFile>& files) {
  auto list = nlohmann::json::array();
  for (const OwnFile& file : files) {
    list.push_back({{"what", to_string(file.kind)},
                    {"state", to_string(file.state)},
                    {"bytes", file.bytes},
                    {"path", file.path},
                    {"advice", file.advice}});
  }
  return list;
}

/// Says what is awaited, where somebody looks on.
void say_awaited(const std::string& what, VerbContext& context) {
  if (context.err_columns > 0) context.err << "hocket: " << what << '\n';
}

std::vector<DoctorCheck> all_checks(const DoctorOptions& options, VerbContext& context) {
  const Installation installation{
      .program = own_program().value_or(""),
      .version = HOCKET_VERSION,
      .client_library = process_environment("HOCKET_CLIENT_LIBRARY").value_or("")};
  std::vector<DoctorCheck> checks = check_installation(installation, probe_library);
  const auto add = [&](const std::vector<DoctorCheck>& more) {
    checks.insert(checks.end(), more.begin(), more.end());
  };
  add(check_gpu_libraries(gpu_surroundings(), probe_library));
  if (!options.starts_nothing) {
    say_awaited("starting python3 as a job would be started, to see what it loads", context);
    CancelToken cancel;
    const InterruptGuard guard(cancel);
    add(check_loads(installation.program, HOCKET_VERSION, SteadyClock(), cancel));
  }
  add(check_service());
  return checks;
}

void print_checks(const std::vector<DoctorCheck>& checks, std::ostream& out) {
  TextTable table({"what", "state", "found", "to do"});
  for (const DoctorCheck& check : checks) {
    table.add({check.what, std::string(to_string(check.state)),
               printable(check.found, kDoctorTextLimitBytes),
               printable(check.remedy, kDoctorTextLimitBytes)});
  }
  table.print(out);
}

nlohmann::json checks_json(const std::vector<DoctorCheck>& checks) {
  auto list = nlohmann::json::array();
  for (const DoctorCheck& check : checks) {
    list.push_back({{"what", check.what},
                    {"state", to_string(check.state)},
                    {"found", check.found},
                    {"remedy", check.remedy}});
  }
  return list;
}

/// Returns for example "1 needs attention, 2 are left over: `hocket prune` removes them".
std::string verdict_text(std::ptrdiff_t wrong, std::ptrdiff_t left_over, bool has_client) {
  if (wrong == 0 && left_over == 0) {
    return has_client ? "all is well"
                      : "nothing is wrong, but the client library is missing: `hocket torch` and "
                        "jobs that ask hocket for their configuration need it";
  }
  std::string text;
  if (wrong > 0) {
    text = std::to_string(wrong) + (wrong == 1 ? " needs attention" : " need attention");
  }
  if (left_over > 0) {
    text += (text.empty() ? "" : ", ") + std::to_string(left_over) +
            (left_over == 1 ? " is left over: `hocket prune` removes it"
                            : " are left over: `hocket prune` removes them");
  }
  return text;
}

/// Runs the user's own job for a while, and says what each rank has loaded.
Result<int> examine_job(const DoctorOptions& options, VerbContext& context) {
  const auto words = required_command(context.command, "doctor --job");
  HOCKET_TRY(words);
  const auto limit_ns = parse_duration(options.timeout);
  if (!limit_ns) return failure(limit_ns.error().in("--timeout"));
  say_awaited("running " + shell_text(*words) +
                  " until its ranks have said what they load, at most " + options.timeout,
              context);
  CancelToken cancel;
  const InterruptGuard guard(cancel);
  const auto checks = check_job({*words, *limit_ns, options.shared_folder},
                                own_program().value_or(""), HOCKET_VERSION, SteadyClock(), cancel);
  HOCKET_TRY(checks);
  const auto wrong = std::ranges::count(*checks, CheckState::wrong, &DoctorCheck::state);
  if (options.json) {
    context.out << json_text({{"checks", checks_json(*checks)}, {"wrong", wrong}}) << '\n';
  } else {
    print_checks(*checks, context.out);
  }
  return wrong == 0 ? kDone : kFailed;
}

Result<int> examine(const DoctorOptions& options, VerbContext& context) {
  if (options.has_job) return examine_job(options, context);
  const auto none = no_command(context.command, "doctor without --job");
  HOCKET_TRY(none);
  const auto store = store_path(options.store);
  HOCKET_TRY(store);
  const auto files = find_own_files(own_places(shown_store(*store), process_environment),
                                    {::geteuid(), system_unix_ns()});
  const auto checks = all_checks(options, context);
  const auto wrong = std::ranges::count_if(files, is_wrong, &OwnFile::state) +
                     std::ranges::count(checks, CheckState::wrong, &DoctorCheck::state);
  const auto left_over = std::ranges::count(files, OwnState::left_over, &OwnFile::state);
  const bool has_client = std::ranges::none_of(checks, [](const DoctorCheck& check) {
    return check.what == kClientLibraryCheck && check.state == CheckState::missing;
  });
  if (options.json) {
    context.out << json_text({{"checks", checks_json(checks)},
                              {"files", own_files_json(files)},
                              {"wrong", wrong},
                              {"left_over", left_over}})
                << '\n';
  } else {
    print_checks(checks, context.out);
    context.out << '\n';
    std::ostringstream text;
    print_own_files(files, text);
    text << '\n' << verdict_text(wrong, left_over, has_client) << '\n';
    context.out << context.placed(text.str());
  }
  return wrong == 0 ? kDone : kFailed;
}

}  // namespace

void add_doctor(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<DoctorOptions>();
  auto* verb = program.add_subcommand(
      "doctor", "say what of hocket is there, what is missing and what is wrong");
  add_store_option(*verb, options->store);
  verb->add_flag("--json", options->json, "print JSON");
  auto* starts_nothing =
      verb->add_flag("--no-start", options->starts_nothing,
                     "start no process to see what it loads: say only what lies where");
  auto* job = verb->add_flag("--job", options->has_job,
                             "run the command behind --, until its ranks have said what they load")
                  ->excludes(starts_nothing);
  verb->add_option("--timeout", options->timeout, "with --job, how long that may take: 90, 30s, 5m")
      ->capture_default_str()
      ->needs(job);
  verb->add_option("--shared", options->shared_folder,
                   "with --job on several hosts, a folder that all of them see")
      ->type_name("FOLDER")
      ->needs(job);
  verb->footer(
      "hocket doctor [--job [--timeout TIME] [--shared FOLDER] -- COMMAND…]\n"
      "Changes nothing: the last column says what to do. Exit status 1 when something is wrong;\n"
      "what is missing or left over does no harm. A python3 is started as jobs are, and says what\n"
      "it has loaded of hocket, of PyTorch and of NCCL. With --job COMMAND is started as\n"
      "`hocket torch` and `hocket nccl` start it, and ended as soon as each rank on this host has\n"
      "made a step, or when the time is over. Ranks on other hosts report with --shared, in a "
      "folder\n"
      "such as your home that all hosts mount.\n"
      "docs/FILES.md says who writes and who removes each file.\n"
      "Examples:\n  hocket doctor\n"
      "  hocket doctor --job -- torchrun --nproc-per-node 2 train.py\n"
      "  hocket doctor --job --shared ~ --timeout 5m -- srun -N 2 torchrun … train.py\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return examine(*options, c); }; });
}

}  // namespace hocket
