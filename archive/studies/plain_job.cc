#include "archive/studies/plain_job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include "core/base/fingerprint.h"
#include "core/base/text.h"
#include "tuner/command/command_program.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using ProgramKind = CommandProgram::Kind;

constexpr std::size_t kPlainNameLimitBytes = 200, kProgramLimitBytes = 2000;

/// Returns `path` without symbolic links as far as it exists.
std::string resolved(const fs::path& path) {
  std::error_code error;
  const auto real = fs::weakly_canonical(path, error);
  return (error ? path.lexically_normal() : real).string();
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// Returns the file that a shell would start for `name`, looked up through PATH.
std::optional<fs::path> search_path(const std::string& name) {
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t length = std::min(rest.find(':'), rest.size());
    const fs::path path = fs::path(rest.substr(0, length)) / name;
    if (length > 0 && is_file(path) && access(path.c_str(), X_OK) == 0) return path;
    rest.remove_prefix(std::min(length + 1, rest.size()));
  }
  return std::nullopt;
}

/// Returns the file of a module of Python in `folder`.
std::optional<fs::path> module_file(const fs::path& folder, const std::string& module) {
  std::string relative = module;
  std::ranges::replace(relative, '.', '/');
  for (const char* end : {".py", "/__main__.py"}) {
    const fs::path path = folder / (relative + end);
    if (is_file(path)) return path;
  }
  return std::nullopt;
}

/// Returns the path of a program, and of the first file among its arguments: a program that is not
/// known to run others may be one that does.
std::string program_text(const CommandProgram& program, const fs::path& folder) {
  std::string text = program.text;
  const bool has_folder = text.find('/') != std::string::npos;
  const auto path = has_folder ? std::nullopt : search_path(text);
  // A name that PATH does not have is a file of the folder for programs that start it (`uv run
  // train.py`).
  text = resolved(path ? *path : folder / text);
  const auto argument = std::ranges::find_if(program.arguments, [&](const std::string& word) {
    return !word.empty() && is_file(folder / word);
  });
  if (argument != program.arguments.end()) text += " " + resolved(folder / *argument);
  return text;
}

/// Returns valid UTF-8 of bounded length that differs where `text` does.
std::string bounded(const std::string& text) {
  std::string shown = printable(text, kProgramLimitBytes);
  if (shown == text) return shown;
  const auto bytes = nlohmann::json::binary({text.begin(), text.end()});
  return shown + " " + fingerprint_of(bytes);
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// Returns the name under which earlier versions stored a command.
std::string early_name(std::span<const std::string> command) {
  const std::string name = base_name(command.front());
  if (name != "hocket") return name;
  const auto mark = std::ranges::find(command, "--");
  return mark == command.end() || mark + 1 == command.end() ? name : base_name(mark[1]);
}

std::string kind_of(const Parameter& parameter) {
  constexpr const char* kNames[] = {"int", "float", "choice", "levels"};
  static_assert(std::variant_size_v<Domain> == std::size(kNames));
  return kNames[parameter.domain.index()];
}

std::vector<WorkloadParameter> parameters_of(const Space& space) {
  std::vector<WorkloadParameter> parameters;
  for (const auto& parameter : space.parameters())
    parameters.push_back({parameter.name, kind_of(parameter)});
  std::ranges::sort(parameters);
  return parameters;
}

}  // namespace

std::string program_of(std::span<const std::string> command, const std::string& working_directory) {
  const CommandProgram program = read_command(command);
  const fs::path folder = fs::path(working_directory) / program.folder;
  switch (program.kind) {
    case ProgramKind::program:
      return bounded(program_text(program, folder));
    case ProgramKind::script:
      return bounded(resolved(folder / program.text));
    case ProgramKind::module:
      if (const auto file = module_file(folder, program.text)) return bounded(resolved(*file));
      return bounded(resolved(folder) + " -m " + program.text);
    case ProgramKind::code:
      return bounded(resolved(folder) + " " + program.reader + " " + shell_quoted(program.text));
    case ProgramKind::unknown:
      break;
  }
  return bounded(resolved(folder) + " " + shell_text(command));
}

Workload plain_workload(std::span<const std::string> command, const std::string& working_directory,
                        const Space& space, const std::string& name) {
  Workload workload{.name = name, .parameters = parameters_of(space)};
  if (!name.empty()) return workload;
  workload.name = printable(short_name(read_command(command)), kPlainNameLimitBytes);
  workload.program = program_of(command, working_directory);
  return workload;
}

Workload known_workload(Workload stored, const StudyRow& study, const StudyDefinition& definition) {
  const bool has_name_alone =
      stored.tensors.empty() && stored.program.empty() && stored.parameters.empty();
  if (!has_name_alone || study.command.empty() || stored.name != early_name(study.command))
    return stored;
  return plain_workload(study.command, definition.working_directory, definition.space);
}

}  // namespace hocket
