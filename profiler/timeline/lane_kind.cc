#include "profiler/timeline/lane_kind.h"

#include <string>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::array<std::string_view, kLaneKinds> kWords{
    "iteration", "exposed", "compute", "communication", "copy", "range", "call"};

constexpr std::size_t kShownBytes = 40;

}  // namespace

std::string_view to_string(LaneKind kind) {
  return kWords[static_cast<std::size_t>(kind)];
}

Result<std::optional<LaneKind>> lane_kind_from(std::string_view word) {
  if (word.empty()) return std::nullopt;
  std::string allowed;
  for (std::size_t i = 0; i < kLaneKinds; ++i) {
    if (word == kWords[i]) return static_cast<LaneKind>(i);
    allowed += (i == 0 ? "" : ", ") + std::string(kWords[i]);
  }
  return invalid("no lanes are of kind \"" + printable(word, kShownBytes) + "\"; kinds are " +
                 allowed);
}

}  // namespace hocket
