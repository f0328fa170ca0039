#pragma once

// The promoted setting of a job, for verbs that use or print it. One thread.

#include <optional>
#include <string>
#include <vector>

#include "cli/inputs/daemon_access.h"
#include "core/base/result.h"
#include "tuner/archive/promoted_setting.h"
#include "tuner/archive/promotion_choice.h"

namespace hocket {

struct FoundSetting {
  PromotedSetting setting;
  std::vector<std::string> tuned_command;  ///< the one that the study ran; empty if not known
  std::string origin;                      ///< for people
};

/// Returns a promoted version as text: the study it comes from or who made it, its gain, its job.
std::string origin_text(const Promoted& promoted, const std::string& study);

Result<FoundSetting> found_setting(Store& store, const Promoted& promoted);

/// Asks the daemon for the setting that `choice` selects.
Result<FoundSetting> found_setting(const DaemonChoice& daemon, const PromotionChoice& choice);

/// Returns what a user writes for a workload with the path of a script made the whole one.
std::string workload_selector(const std::string& given);

/// Returns whether to ask a daemon. Command-line options take precedence over the environment.
bool asks_daemon(const DaemonChoice& daemon, const std::string& store_option);

/// Declares --topology, --world-size, --link, --store, --daemon and --allow-plain-token.
struct SettingSource {
  PromotionChoice choice;
  int world_size = 0;  ///< 0: any
  DaemonChoice daemon;
  std::string store;
};
void add_setting_source_options(CLI::App& verb, SettingSource& source);

}  // namespace hocket
