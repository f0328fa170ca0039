#pragma once

// The promotion of a point of a Pareto front, which a study does not choose by itself: somebody
// names its number. Thread-safe as far as the store is.

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "store/store.h"
#include "tuner/study/study.h"

namespace hocket {

/// Returns the point of the front that trial `number`, from 1, is. invalid_argument for a result
/// without a front, with the numbers that there are for another number, and for the default's.
Result<FrontPoint> front_point(const StudyResult& result, std::int64_t number);

/// Promotes the point of a finished study for its topology and workload.
Result<PromotionRow> promote_front_point(Store& store, const StudyRow& study,
                                         const FrontPoint& point, const std::string& actor);

}  // namespace hocket
