#include "cli/views/version_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/output/value_text.h"
#include "core/base/plain_text.h"
#include "core/base/text.h"
#include "store/origin.h"

namespace hocket {
namespace {

constexpr std::size_t kActorLimitBytes = 80, kImportNoteBytes = 250;

std::string by(const PromotionRow& version) {
  if (version.actor.empty()) return {};
  return " by " + printable(version.actor, kActorLimitBytes);
}

std::string how_text(const PromotionRow& version, const std::string& study) {
  switch (version.origin) {
    case PromotionOrigin::study:
      return "promoted by study " + study + removal_text(version);
    case PromotionOrigin::live:
      return "found by live tuning";
    case PromotionOrigin::push:
      return "pushed" + by(version);
    case PromotionOrigin::rollback:
      return (version.config.empty() ? "set back to the jobs' default" : "rolled back to") +
             by(version);
    case PromotionOrigin::pin:
      return "pinned" + by(version);
    case PromotionOrigin::imported:
      return "imported" + by(version) +
             (version.note.empty() ? "" : " from " + printable(version.note, kImportNoteBytes));
  }
  return {};
}

bool is_found_by_tuning(PromotionOrigin origin) {
  return origin == PromotionOrigin::study || origin == PromotionOrigin::live;
}

std::string what_became_of(const PromotionRow& version) {
  switch (version.stage) {
    case PromotionStage::staged:
      return "is tried on one job first";
    case PromotionStage::released:
      return "is released";
    case PromotionStage::withdrawn:
      return "was withdrawn";
    case PromotionStage::held:
      return is_found_by_tuning(version.origin) ? "is held, since its key was pinned"
                                                : "is held, since no job could run it";
  }
  return {};
}

}  // namespace

Result<std::optional<PromotionRow>> version_of(Store& store, const StudyRow& study) {
  UnreadRows unread;
  const auto versions = store.promotions({.study_id = study.id}, &unread);
  HOCKET_TRY(versions);
  const auto last = std::find_if(versions->rbegin(), versions->rend(), [](const auto& version) {
    return version.origin == PromotionOrigin::study;
  });
  return last == versions->rend() ? std::nullopt : std::optional(*last);
}

std::string made_text(const PromotionRow& version, const std::string& study) {
  return plain_line(how_text(version, study) + " on " + time_text(version.promoted_at_ns));
}

std::string standing_text(const PromotionRow& version, const std::string& study) {
  return "version " + std::to_string(version.id) + ", " + made_text(version, study) + ", " +
         what_became_of(version);
}

nlohmann::json to_json(const PromotionRow& version, const std::string& study) {
  return {{"version", version.id},
          {"stage", to_string(version.stage)},
          {"origin", to_string(version.origin)},
          {"study", study.empty() ? nlohmann::json() : nlohmann::json(study)},
          {"study_removed", !version.removed_study.empty()},
          {"actor", version.actor},
          {"note", version.note},
          {"promoted_at", time_text(version.promoted_at_ns)}};
}

}  // namespace hocket
