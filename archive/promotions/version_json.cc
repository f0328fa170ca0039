#include "archive/promotions/version_json.h"

#include <nlohmann/json.hpp>

#include "store/origin.h"

namespace hocket {

Result<nlohmann::json> version_json(Store& store, const PromotionRow& version) {
  const auto study = study_name(store, version);
  HOCKET_TRY(study);
  const auto measured = [&](double MeasuredGain::*member) {
    return version.measured ? nlohmann::json((*version.measured).*member) : nlohmann::json();
  };
  return nlohmann::json{{"version", version.id},
                        {"stage", to_string(version.stage)},
                        {"origin", to_string(version.origin)},
                        {"study", study->empty() ? nlohmann::json() : nlohmann::json(*study)},
                        {"study_removed", !version.removed_study.empty()},
                        {"actor", version.actor},
                        {"note", version.note},
                        {"kept_by", version.kept_by},
                        {"promoted_at_ns", version.promoted_at_ns},
                        {"config", version.config},
                        {"value", measured(&MeasuredGain::value)},
                        {"default_value", measured(&MeasuredGain::default_value)},
                        {"gain", measured(&MeasuredGain::gain)}};
}

nlohmann::json audit_json(const AuditRow& row) {
  return {{"id", row.id},         {"at_ns", row.at_ns},     {"actor", row.actor},
          {"action", row.action}, {"subject", row.subject}, {"detail", row.detail}};
}

}  // namespace hocket
