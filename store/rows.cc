#include "store/rows.h"

#include <algorithm>
#include <array>

namespace hocket {
namespace {

constexpr std::array<std::string_view, 3> kStudyStates = {"running", "finished", "interrupted"};
constexpr std::array<std::string_view, 3> kStudyOrigins = {"tune", "http", "live"};
constexpr std::array<std::string_view, 6> kOrigins = {"study",    "live", "push",
                                                      "rollback", "pin",  "imported"};
constexpr std::array<std::string_view, 4> kStages = {"staged", "released", "withdrawn", "held"};
constexpr std::array<std::string_view, 4> kImportActions = {"imported", "same", "kept", "refused"};

/// Returns the enumerator at the index of `text` in `words`, which are in the order of Enum.
template <class Enum, std::size_t N>
Result<Enum> parse(std::string_view text, const std::array<std::string_view, N>& words,
                   const std::string& what) {
  std::string expected;
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == text) return static_cast<Enum>(i);
    expected += (i == 0 ? "" : ", ") + std::string(words[i]);
  }
  return failure(ErrorCode::invalid_argument, what + ": expected one of " + expected);
}

}  // namespace

std::string_view to_string(StudyState state) {
  return kStudyStates.at(static_cast<std::size_t>(state));
}

std::string_view to_string(StudyOrigin origin) {
  return kStudyOrigins.at(static_cast<std::size_t>(origin));
}

std::string_view to_string(PromotionOrigin origin) {
  return kOrigins.at(static_cast<std::size_t>(origin));
}

std::string_view to_string(PromotionStage stage) {
  return kStages.at(static_cast<std::size_t>(stage));
}

std::string_view to_string(ImportAction action) {
  return kImportActions.at(static_cast<std::size_t>(action));
}

Result<PromotionOrigin> parse_promotion_origin(std::string_view text) {
  return parse<PromotionOrigin>(text, kOrigins, "origin of a promotion");
}

Result<PromotionStage> parse_promotion_stage(std::string_view text) {
  return parse<PromotionStage>(text, kStages, "stage of a promotion");
}

bool is_for(const PromotionRow& version, std::string_view owner) {
  if (version.stage == PromotionStage::released) return true;
  return version.stage == PromotionStage::staged && !owner.empty() &&
         std::ranges::find(version.kept_by, owner) != version.kept_by.end();
}

const PromotionRow* newest_for(const std::vector<PromotionRow>& versions, std::string_view owner) {
  for (auto row = versions.rbegin(); row != versions.rend(); ++row) {
    if (is_for(*row, owner)) return &*row;
  }
  return nullptr;
}

}  // namespace hocket
