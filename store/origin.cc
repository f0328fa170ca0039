#include "store/origin.h"

#include <utility>

#include "core/base/text.h"

namespace hocket {
Result<std::string> study_name(Store& store, const PromotionRow& promotion) {
  if (!promotion.study_id) return promotion.removed_study;
  auto study = store.study(std::to_string(*promotion.study_id));
  if (study) return std::move(study->name);
  // It may have been removed since the version was read, or be damaged. That must keep no job from
  // its version.
  const ErrorCode code = study.error().code;
  if (code == ErrorCode::not_found || code == ErrorCode::unavailable) return std::string();
  return failure(study.error());
}

std::string removal_text(const PromotionRow& promotion) {
  return promotion.removed_study.empty() ? "" : " (removed)";
}

Result<std::string> origin_of(Store& store, const PromotionRow& promotion) {
  const std::string date = ", " + date_text(promotion.promoted_at_ns);
  if (promotion.origin == PromotionOrigin::live) return "live tuning" + date;
  if (promotion.origin == PromotionOrigin::imported) {
    return "imported" + (promotion.note.empty() ? "" : " from " + promotion.note) + date;
  }
  std::string origin(to_string(promotion.origin));
  if (promotion.config.empty()) origin += " to the default";
  if (promotion.origin != PromotionOrigin::study) {
    return promotion.actor.empty() ? origin + date : origin + " by " + promotion.actor + date;
  }
  const auto study = study_name(store, promotion);
  HOCKET_TRY(study);
  if (study->empty()) return origin + date;
  return origin + " " + *study + removal_text(promotion) + date;
}

}  // namespace hocket
