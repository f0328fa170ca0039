#include "store/rules/import_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/json_members.h"
#include "core/base/text.h"
#include "store/rules/row_rules.h"

namespace hocket::rules {
namespace {

constexpr std::size_t kReasonBytes = 200;

std::string imported_digest(const PromotionRow& version) {
  return text_member(version.provenance, "digest");
}

std::string imported_version_text(const PromotionRow& version) {
  return "version " + std::to_string(version.id);
}

ImportOutcome refused_import(std::string why) {
  return {ImportAction::refused, std::move(why)};
}

/// Says why a key's own version stays.
std::string why_own(const PromotionRow& version) {
  if (version.stage == PromotionStage::staged)
    return imported_version_text(version) + " is being tried";
  if (version.config.empty())
    return imported_version_text(version) + " says that its jobs keep their own default";
  return imported_version_text(version) + " is its own (" + std::string(to_string(version.origin)) +
         ", " + date_text(version.promoted_at_ns) + ")";
}

}  // namespace

Result<void> check(const NewImport& import) {
  HOCKET_TRY(object_text(import.config, "the imported configuration"));
  HOCKET_TRY(object_text(import.declared, "what the imported configuration declares"));
  HOCKET_TRY(object_text(import.provenance, "what is known of the imported configuration"));
  HOCKET_TRY(check_text(import.digest, "the digest of the imported configuration"));
  const MeasuredGain measured = import.measured.value_or(MeasuredGain());
  HOCKET_TRY(check_finite(measured.value, "the imported value"));
  HOCKET_TRY(check_finite(measured.default_value, "the imported default's value"));
  HOCKET_TRY(check_finite(measured.gain, "the imported gain"));
  return check_actor("", import.note);
}

nlohmann::json provenance_of(const NewImport& import) {
  nlohmann::json provenance = import.provenance;
  provenance["digest"] = import.digest;
  provenance["at_ns"] = import.at_ns;
  return provenance;
}

ImportOutcome import_decision(const NewImport& import, const std::vector<PromotionRow>& versions,
                              const KeyState& state,
                              const std::vector<QuarantineRow>& quarantined) {
  const auto newest = [&](PromotionStage stage) -> const PromotionRow* {
    const auto found = std::find_if(versions.rbegin(), versions.rend(),
                                    [&](const auto& version) { return version.stage == stage; });
    return found == versions.rend() ? nullptr : &*found;
  };
  const PromotionRow* const current = newest(PromotionStage::released);
  const PromotionRow* const staged = newest(PromotionStage::staged);
  const auto kept = [&](std::string why) {
    return ImportOutcome{ImportAction::kept, std::move(why), current == nullptr ? 0 : current->id};
  };
  if (current != nullptr && current->origin != PromotionOrigin::imported)
    return kept(why_own(*current));
  if (current != nullptr && imported_digest(*current) == import.digest)
    return {ImportAction::same, "", current->id};
  if (staged != nullptr && (current == nullptr || staged->id > current->id))
    return kept(why_own(*staged));
  if (current != nullptr && integer_member(current->provenance, "at_ns") > import.at_ns)
    return kept(imported_version_text(*current) + " was imported, too, and is the newer default");
  if (state.pinned) return refused_import("its key is pinned to what its jobs have");
  // It was released here before, and is not current any more.
  for (const PromotionRow& version : versions) {
    if (version.stage != PromotionStage::withdrawn || version.config != import.config) continue;
    return refused_import("it was tried as " + imported_version_text(version) +
                          ", which was withdrawn");
  }
  for (const QuarantineRow& row : quarantined) {
    if (row.config == import.config)
      return refused_import("it is in quarantine: " + printable(row.reason, kReasonBytes));
  }
  return {ImportAction::imported};
}

}  // namespace hocket::rules
