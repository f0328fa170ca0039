#pragma once

// The setting that an unfinished study recommends for a job for which nothing is promoted. One
// thread.

#include <string>

#include "archive/promotions/promotion_choice.h"
#include "cli/inputs/promotion/found_setting.h"
#include "store/store.h"

namespace hocket {

/// Returns what the newest unfinished study of the program of `command` recommends, or of the
/// workload that `choice` names, if it names one, and how to confirm it; empty if there is none.
/// `option` is that of --store.
std::string unconfirmed_text(Store& store, const PromotionChoice& choice,
                             const StartedCommand& command, const std::string& option);

/// Returns `none`, with unconfirmed_text() where there is any and nothing was found.
Error with_unconfirmed(Store& store, Error none, const PromotionChoice& choice,
                       const StartedCommand& command, const std::string& option);

/// Returns what an unfinished study recommends, and how to confirm it; empty if it does not.
std::string unconfirmed_text(Store& store, const StudyRow& study, const std::string& option);

}  // namespace hocket
