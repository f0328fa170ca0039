#include "cli/process/torch_environment.h"

#include <nlohmann/json.hpp>
#include <system_error>

#include "core/files/owned_path.h"
#include "store/store_uri.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

const fs::path kAutorun = fs::path("hocket") / "torch" / "autorun" / "sitecustomize.py";

bool has_package(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / kAutorun, error);
}

/// Says whether nobody but the user and root could have put the package there: nothing but its path
/// connects it with this program, and the machine may be another one than that of the build.
bool is_trusted(const fs::path& folder) {
  std::error_code error;
  const fs::path file = fs::canonical(folder / kAutorun, error);
  return !error && check_private_folder(file.parent_path().string()) &&
         check_not_everybodys(file.string());
}

/// Returns the folder that holds the package.
Result<fs::path> found_package(const fs::path& installation, const fs::path& built,
                               const Environment& environment) {
  const std::string given = environment("HOCKET_PYTHON").value_or("");
  if (!given.empty()) {
    std::error_code error;
    const fs::path folder = fs::absolute(given, error);
    if (!error && has_package(folder)) return folder;
    return failure(ErrorCode::not_found,
                   "the package for Python is not where HOCKET_PYTHON says: there is no " +
                       (fs::path(given) / kAutorun).string() +
                       "; set it to the folder that holds the package hocket, or unset it");
  }
  const fs::path installed = installation / "share" / "hocket" / "python";
  if (has_package(installed)) return installed;
  // pip installs this program into the package.
  if (installation.filename() == "hocket" && has_package(installation.parent_path()))
    return installation.parent_path();
  std::string places = (installed / kAutorun).string() + ", where it is installed";
  if (!built.empty()) {
    if (has_package(built) && is_trusted(built)) return built;
    places += ", and no " + (built / kAutorun).string() +
              " that only you can change, where this program was built";
  }
  return failure(ErrorCode::not_found,
                 "the package for Python was not found: there is no " + places +
                     "; pip install hocket brings it, or set HOCKET_PYTHON to the folder that "
                     "holds the package hocket");
}

/// Returns the folder of the package as PYTHONPATH takes it.
Result<std::string> package_folder(const fs::path& installation, const fs::path& built,
                                   const Environment& environment) {
  const auto folder = found_package(installation, built, environment);
  HOCKET_TRY(folder);
  if (folder->string().find(':') != std::string::npos) {
    return failure(ErrorCode::invalid_argument,
                   "the package for Python is in " + folder->string() +
                       ", and PYTHONPATH can have no folder with a colon in its name");
  }
  return folder->string();
}

}  // namespace

Result<std::map<std::string, std::string>> torch_environment(const TorchSettings& settings,
                                                             const fs::path& program,
                                                             const Environment& environment,
                                                             const fs::path& built) {
  const fs::path installation = program.parent_path().parent_path();
  const auto package = package_folder(installation, built, environment);
  HOCKET_TRY(package);
  // Python files of this folder find the package. Beside it may be others, which the job must not
  // see.
  std::string path = *package + "/hocket/torch/autorun";
  const auto old = environment("PYTHONPATH");
  // An empty entry would be the working directory.
  if (old && !old->empty()) path += ":" + *old;
  std::map<std::string, std::string> variables = {{"HOCKET_TORCH", "1"}, {"PYTHONPATH", path}};
  std::error_code error;
  // A build has it in lib.
  for (const char* folder : {HOCKET_INSTALL_LIBDIR, "lib"}) {
    const fs::path library = installation / folder / "libhocket_client.so.1";
    if (environment("HOCKET_CLIENT_LIBRARY").value_or("").empty() && fs::exists(library, error))
      variables.emplace("HOCKET_CLIENT_LIBRARY", library.string());
  }
  if (!settings.daemon.empty()) variables["HOCKET_DAEMON"] = settings.daemon;
  if (is_postgres_uri(settings.store)) {
    variables["HOCKET_STORE"] = settings.store;
  } else if (!settings.store.empty()) {
    // The command may change its folder.
    variables["HOCKET_STORE"] = fs::absolute(settings.store, error).string();
  }
  if (settings.explore)
    variables["HOCKET_TORCH_EXPLORE"] = nlohmann::json(*settings.explore).dump();
  if (settings.schedule) variables["HOCKET_TORCH_SCHEDULE"] = "1";
  return variables;
}

Result<std::map<std::string, std::string>> torch_environment(const TorchSettings& settings,
                                                             const fs::path& program,
                                                             const Environment& environment) {
  return torch_environment(settings, program, environment, HOCKET_BUILT_PYTHON);
}

}  // namespace hocket
