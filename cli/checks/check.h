#pragma once

// The result of a check by `hocket doctor` of a part of hocket or of its surroundings. Values;
// thread-safe.

#include <string>
#include <string_view>

namespace hocket {

enum class CheckState {
  ok,
  note,     ///< nothing is wrong, but it limits what hocket can do here
  missing,  ///< not there, which is no error: what needs it is not available
  wrong,    ///< configured or installed, and unusable
};

std::string_view to_string(CheckState state);

struct DoctorCheck {
  std::string what;
  CheckState state = CheckState::ok;
  std::string found;        ///< finding, or the places that were searched
  std::string remedy = {};  ///< action for the user; empty if none is needed

  friend bool operator==(const DoctorCheck&, const DoctorCheck&) = default;
};

}  // namespace hocket
