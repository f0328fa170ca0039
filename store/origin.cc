#include "store/origin.h"

#include <chrono>
#include <cstdio>

namespace hocket {
namespace {

/// Returns the date in UTC: "2026-11-21".
std::string date_text(std::int64_t unix_ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(unix_ns)};
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(time)};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

}  // namespace

Result<std::string> origin_of(Store& store, const PromotionRow& promotion) {
  const std::string date = ", " + date_text(promotion.promoted_at_ns);
  if (promotion.origin == PromotionOrigin::live) return "live tuning" + date;
  std::string origin(to_string(promotion.origin));
  if (promotion.config.empty()) origin += " to the default";
  if (promotion.origin != PromotionOrigin::study) {
    return promotion.actor.empty() ? origin + date : origin + " by " + promotion.actor + date;
  }
  const auto study = store.study(std::to_string(promotion.study_id.value_or(0)));
  HOCKET_TRY(study);
  return origin + " " + study->name + date;
}

}  // namespace hocket
