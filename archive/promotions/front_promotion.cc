#include "archive/promotions/front_promotion.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "archive/studies/study_record.h"

namespace hocket {

Result<FrontPoint> front_point(const StudyResult& result, std::int64_t number) {
  if (result.front.empty()) {
    return invalid(
        "it has no front: a study with one objective promotes its winner by itself, if that is "
        "confirmed");
  }
  std::string numbers;
  for (const FrontPoint& point : result.front) {
    const bool is_default = point.measured.params == result.default_params.params;
    if (point.number + 1 == number && is_default)
      return invalid("trial " + std::to_string(number) + " is the default, which jobs have anyway");
    if (point.number + 1 == number) return point;
    if (!is_default) numbers += (numbers.empty() ? "" : ", ") + std::to_string(point.number + 1);
  }
  return invalid("trial " + std::to_string(number) + " is not on the front; the trials on it are " +
                 numbers);
}

Result<PromotionRow> promote_front_point(Store& store, const StudyRow& study,
                                         const FrontPoint& point, const std::string& actor) {
  if (!study.topology_id || !study.workload_id)
    return invalid("study " + study.name + " has no " +
                   (study.topology_id ? "workload" : "topology") +
                   ", so it is not known which jobs its settings are for; `hocket push` gives one "
                   "to the jobs that you name");
  const auto config = promoted_config(point.measured.params);
  HOCKET_TRY(config);
  // There is no gain: the front's points trade one objective for another.
  return store.promote({.topology_id = *study.topology_id,
                        .workload_id = *study.workload_id,
                        .study_id = study.id,
                        .config = *config,
                        .actor = actor,
                        .note = "trial " + std::to_string(point.number + 1) +
                                " of the front, chosen by its number"});
}

}  // namespace hocket
