#pragma once

// Names that training frameworks have for what the knobs decide, so that people can ask in the
// words of the framework that they know. Constant; thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hocket {

struct FrameworkKnob {
  std::string_view name;       ///< as the framework spells it, such as "bucket_cap_mb"
  std::string_view framework;  ///< such as "DDP"
  /// The knob that decides the same (core/step/knob.h); empty when no knob does.
  std::string_view knob;
  /// A value of the framework's times this is the knob's; 0 when it cannot be converted alone.
  std::int64_t unit = 0;
  /// Unit of the framework's values, or why there is no such knob or no conversion.
  std::string_view remark;
};

std::span<const FrameworkKnob> framework_knobs();

/// Returns the entry called `name`, also in lower case and as a command-line option
/// ("--fusion-threshold-mb"); null when there is none.
const FrameworkKnob* find_framework_knob(std::string_view name);

/// Returns for example "hocket's knob is bucket_bytes, DDP calls it bucket_cap_mb and counts MiB".
std::string in_own_words(const FrameworkKnob& other);

}  // namespace hocket
