#include "daemon/live/ended_search.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace hocket {
namespace {

bool is_contradicted(const EndedSearch& search, const PresentIterations& present) {
  if (!(search.recorded_ns > 0) || !(present.level_ns > 0)) return false;
  const double change = std::abs(std::log(present.level_ns / search.recorded_ns));
  return change > std::log1p(present.needed_share) + kRecordedErrors * search.recorded_error_share;
}

}  // namespace

std::optional<std::string> why_search_again(const EndedSearch& search,
                                            const PresentIterations& present,
                                            std::int64_t now_unix_ns) {
  if (now_unix_ns - search.ended_at_ns > kOldSearchNs) return "it is more than 30 days old";
  if (search.weak_in_a_row > 0 && search.weak_in_a_row < kMostWeakSearches)
    return "what it tried may be faster, but was within the noise";
  if (is_contradicted(search, present))
    return "iterations take another time than it recorded for this setting";
  return std::nullopt;
}

nlohmann::json to_json(const EndedSearch& search) {
  return {{"study", search.study},
          {"tried", search.tried},
          {"kept", search.kept},
          {"ended_at_ns", search.ended_at_ns}};
}

}  // namespace hocket
