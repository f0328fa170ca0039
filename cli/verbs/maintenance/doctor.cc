// hocket doctor: says what of hocket is there and what is missing, lists every file and folder that
// hocket writes, and says what is wrong with them.

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "cli/checks/gpu_libraries.h"
#include "cli/checks/installation.h"
#include "cli/checks/service.h"
#include "cli/files/own_files.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "core/base/text.h"
#include "store/open.h"
#include "store/store_uri.h"

namespace hocket {
namespace {

constexpr std::size_t kDoctorTextLimitBytes = 400;

struct DoctorOptions {
  std::string store;
  bool json = false;
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

std::vector<DoctorCheck> all_checks() {
  std::error_code error;
  const Installation installation{
      .program = std::filesystem::read_symlink("/proc/self/exe", error),
      .version = HOCKET_VERSION,
      .client_library = process_environment("HOCKET_CLIENT_LIBRARY").value_or("")};
  std::vector<DoctorCheck> checks = check_installation(installation, probe_library);
  const auto add = [&](const std::vector<DoctorCheck>& more) {
    checks.insert(checks.end(), more.begin(), more.end());
  };
  add(check_gpu_libraries(gpu_surroundings(), probe_library));
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

Result<int> examine(const DoctorOptions& options, VerbContext& context) {
  const auto store = store_path(options.store);
  HOCKET_TRY(store);
  const auto files = find_own_files(own_places(shown_store(*store), process_environment),
                                    {::geteuid(), system_unix_ns()});
  const auto checks = all_checks();
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
  verb->footer(
      "Changes nothing: the last column says what to do. Exit status 1 when something is wrong;\n"
      "what is missing or left over does no harm.\n"
      "docs/FILES.md says who writes and who removes each.\n"
      "Example:\n  hocket doctor\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return examine(*options, c); }; });
}

}  // namespace hocket
