#include "cli/checks/check.h"

namespace hocket {

std::string_view to_string(CheckState state) {
  switch (state) {
    case CheckState::ok:
      return "ok";
    case CheckState::note:
      return "note";
    case CheckState::missing:
      return "missing";
    case CheckState::wrong:
      return "wrong";
  }
  return "";
}

}  // namespace hocket
