#pragma once

// The environment in which a PyTorch program is tuned without being changed: Python imports
// hocket.torch by itself when it starts. Looks for files; any thread.

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "client/link/environment.h"
#include "core/base/result.h"

namespace hocket {

/// Options of `hocket torch`. An absent one leaves its variable as the environment has it.
struct TorchSettings {
  std::string daemon = {}, store = {};  ///< empty: absent
  std::optional<double> explore = {};   ///< a share of the training time
  bool schedule = false;                ///< true: communicate across the end of the step
};

/// Returns the variables to set for a command. The package is in the folder that HOCKET_PYTHON
/// names in `environment`, which must be the user's own; where it names none, beside `program`, the
/// path of this one, in ../share/hocket/python, or around it, as pip installs both, or else in
/// `built`, where its build left it, if nobody else could have put it there; empty: nowhere. The
/// client library is beside the program, if it is, in ../lib. Returns not_found without the
/// package, naming the places, and invalid_argument if its path cannot be in PYTHONPATH.
Result<std::map<std::string, std::string>> torch_environment(const TorchSettings& settings,
                                                             const std::filesystem::path& program,
                                                             const Environment& environment,
                                                             const std::filesystem::path& built);
/// As above, with the folder of this program's build.
Result<std::map<std::string, std::string>> torch_environment(const TorchSettings& settings,
                                                             const std::filesystem::path& program,
                                                             const Environment& environment);

}  // namespace hocket
