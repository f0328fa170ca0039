#include "cli/process/nccl_environment.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "core/base/text.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugin = "hocket";

bool has_plugin(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / kNcclTunerLibrary, error) &&
         fs::exists(folder / kNcclProfilerLibrary, error);
}

/// Returns the name that a line of a configuration file sets; "" if it sets none.
std::string name_in(const std::string& line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string::npos || line.starts_with('#')) return "";
  return std::string(trimmed(line.substr(0, equals)));
}

}  // namespace

Result<fs::path> nccl_plugin_folder(const fs::path& program) {
  const fs::path installation = program.parent_path().parent_path();
  for (const char* folder : {HOCKET_INSTALL_LIBDIR, "lib"}) {
    if (has_plugin(installation / folder)) return installation / folder;
  }
  return failure(ErrorCode::not_found,
                 "the plugin for NCCL was not found: there are no " +
                     std::string(kNcclTunerLibrary) + " and " + kNcclProfilerLibrary + " in " +
                     (installation / HOCKET_INSTALL_LIBDIR).string() + " or " +
                     (installation / "lib").string() +
                     "; pip install hocket, or the package libnccl-plugin-hocket, brings them");
}

std::map<std::string, std::string> variables_of(const NcclSettings& settings) {
  std::map<std::string, std::string> variables;
  if (!settings.daemon.empty()) variables["HOCKET_DAEMON"] = settings.daemon;
  if (settings.explore) variables["HOCKET_NCCL_EXPLORE"] = nlohmann::json(*settings.explore).dump();
  return variables;
}

Result<std::map<std::string, std::string>> nccl_environment(const NcclSettings& settings,
                                                            const fs::path& program,
                                                            const Environment& environment) {
  const auto folder = nccl_plugin_folder(program);
  HOCKET_TRY(folder);
  auto variables = variables_of(settings);
  variables["LD_LIBRARY_PATH"] = folder->string();
  const auto value_of = [&](const char* name) { return environment(name).value_or(""); };
  // An empty entry would be the working directory.
  if (const std::string old = value_of("LD_LIBRARY_PATH"); !old.empty())
    variables["LD_LIBRARY_PATH"] += ":" + old;
  for (const auto& [name, chain] : {std::pair{"NCCL_TUNER_PLUGIN", "HOCKET_NCCL_TUNER_CHAIN"},
                                    {"NCCL_PROFILER_PLUGIN", "HOCKET_NCCL_PROFILER_CHAIN"}}) {
    variables[name] = kPlugin;
    const std::string old = value_of(name);
    if (!old.empty() && old != kPlugin && value_of(chain).empty()) variables[chain] = old;
  }
  return variables;
}

Result<std::string> with_variables(const std::string& text,
                                   const std::map<std::string, std::string>& variables) {
  auto missing = variables;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto known = variables.find(name_in(line));
    if (known == variables.end()) continue;
    const std::string value(trimmed(line.substr(line.find('=') + 1)));
    if (value != known->second) {
      return invalid("it has the line \"" + printable(line, 200) + "\" already, where " +
                     known->first + "=" + known->second + " is needed; change or remove the line");
    }
    missing.erase(known->first);
  }
  std::string result = text;
  if (!result.empty() && result.back() != '\n') result += '\n';
  for (const auto& [name, value] : missing) result += name + "=" + value + "\n";
  return result;
}

}  // namespace hocket
