#include "cli/process/torch_environment.h"
#include "store/store_uri.h"

#include <nlohmann/json.hpp>
#include <system_error>

namespace hocket {
namespace {

namespace fs = std::filesystem;

/// Returns the folder of the package, which has no PYTHONPATH of its own to be found by.
Result<std::string> package_folder(const fs::path& installation) {
  const fs::path folder = installation / "share" / "hocket" / "python";
  const fs::path start = fs::path("hocket") / "torch" / "autorun" / "sitecustomize.py";
  std::error_code error;
  if (!fs::is_regular_file(folder / start, error)) {
    return failure(ErrorCode::not_found,
                   "the package for Python is not where it was installed: there is no " +
                       (folder / start).string());
  }
  if (folder.string().find(':') != std::string::npos) {
    return failure(ErrorCode::invalid_argument,
                   "the package for Python is in " + folder.string() +
                       ", and PYTHONPATH can have no folder with a colon in its name");
  }
  return folder.string();
}

}  // namespace

Result<std::map<std::string, std::string>> torch_environment(const TorchSettings& settings,
                                                             const fs::path& program,
                                                             const Environment& environment) {
  const fs::path installation = program.parent_path().parent_path();
  const auto package = package_folder(installation);
  HOCKET_TRY(package);
  std::string path = *package + "/hocket/torch/autorun:" + *package;
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

}  // namespace hocket
