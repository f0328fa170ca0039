#pragma once

// The texts of formats/knobs/*.json, in a source that the build writes. Constant; any thread.

#include <span>
#include <string_view>

namespace hocket {

struct KnobText {
  std::string_view name;  ///< of the file: "nccl.json"
  std::string_view text;
};

std::span<const KnobText> knob_texts();

}  // namespace hocket
