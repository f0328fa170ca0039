#include "store/starting_version.h"

#include <algorithm>
#include <utility>

#include "store/origin.h"
#include "store/promoted_schedule.h"

namespace hocket {
namespace {

/// Passed over at most; a job needs not read a long history.
constexpr std::size_t kMostLines = 8;

bool is_measured(const std::vector<PromotionRow>& rows, const nlohmann::json& config) {
  return std::ranges::any_of(rows, [&](const PromotionRow& row) {
    const bool is_found = row.origin == PromotionOrigin::study ||
                          row.origin == PromotionOrigin::live ||
                          (row.origin == PromotionOrigin::imported && row.measured.has_value());
    return is_found && row.config == config;
  });
}

}  // namespace

Result<std::optional<RunnableVersion>> runnable_version(Store& store, const ConfigKey& key,
                                                        const RunnableValues& can_run,
                                                        std::vector<std::string>& passed_over,
                                                        std::string_view owner) {
  const auto rows = store.promotions({.key = key});
  HOCKET_TRY(rows);
  for (auto row = rows->rbegin(); row != rows->rend(); ++row) {
    if (!is_for(*row, owner)) continue;
    auto config = promoted_schedule(*row);
    if (!config) {
      const auto origin = origin_of(store, *row);
      HOCKET_TRY(origin);
      return failure(config.error().in("version " + std::to_string(row->id) + ", " + *origin));
    }
    const auto can_start = check_start(can_run, *config);
    if (can_start || (!can_run.start && is_measured(*rows, row->config))) {
      return RunnableVersion{*row, std::move(*config)};
    }
    if (passed_over.size() < kMostLines) {
      passed_over.push_back("version " + std::to_string(row->id) +
                            " is not used: " + can_start.error().message);
    }
  }
  return std::nullopt;
}

}  // namespace hocket
