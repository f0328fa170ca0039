#include "core/step/tool_knob.h"

#include <cstddef>

#include "core/step/knob.h"

namespace hocket {

bool is_tool_knob(std::string_view name) {
  constexpr std::size_t kMaxNameBytes = 128;
  const bool is_other = name.starts_with(kJobKnobPrefix) || name.starts_with(kRegionKnobPrefix);
  if (is_other || name.size() > kMaxNameBytes || name.find('.') == std::string_view::npos)
    return false;
  bool begins = true;
  for (const char c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool is_inside = is_letter || (c >= '0' && c <= '9') || c == '.';
    if (begins ? !is_letter : !is_inside) return false;
    begins = c == '.';
  }
  return !begins;
}

}  // namespace hocket
