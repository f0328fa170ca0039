#pragma once

// Shows the progress of a study that another process runs, as that process shows it: what `hocket
// studies --follow` does. Reads the store alone. One thread.

#include <functional>
#include <string>

#include "archive/studies/owner.h"
#include "cli/base/context.h"
#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

struct FollowOptions {
  std::string study;  ///< name or number; empty: the newest that runs
  bool json = false;  ///< one object a line for each finished trial, then one for the study's end
  HostView host;      ///< tells whether the study's process is alive
  /// Waits a moment until the next look; returns false once the user has asked to stop.
  std::function<bool()> wait;
};

/// Says whether a study counts as running although its process on this host is gone.
bool is_orphan(const StudyRow& study, const HostView& host);

/// Counts the trials that have finished and shows each that finishes from now on, until the study
/// ends. Returns kDone once it has finished, kInterrupted when the user asked to stop. Returns
/// not_found if the study is unknown or none runs, unavailable if nobody runs it any more.
Result<int> follow_study(Store& store, const FollowOptions& following, VerbContext& context);

}  // namespace hocket
