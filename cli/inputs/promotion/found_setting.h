#pragma once

// The promoted setting of a job, for verbs that use or print it. One thread.

#include <optional>
#include <string>
#include <vector>

#include "archive/promotions/promoted_setting.h"
#include "archive/promotions/promotion_choice.h"
#include "archive/promotions/setting_rules.h"
#include "archive/promotions/stored_promotions.h"
#include "cli/inputs/access/daemon_access.h"
#include "core/base/result.h"
#include "tuner/space/knob_file.h"
#include "tuner/trial/call/knob_call.h"

namespace hocket {

struct FoundSetting {
  PromotedSetting setting;
  SettingWords words = SettingWords::foreign;
  std::vector<std::string> allowed_variables = {};  ///< as in SettingSource
  std::vector<std::string> tuned_command;  ///< the one that the study ran; empty if not known
  std::string origin;                      ///< for people
  /// The knobs of other tools in the setting, as declared here (cli/inputs/knobs/knob_catalog.h).
  std::vector<ToolKnob> knobs = {};
};

/// Returns a promoted version as text: the study it comes from or who made it, its gain, its job.
std::string origin_text(const PromotedVersions& promoted, const std::string& study);

/// Returns the released version that `choice` selects; not_found says whether there is one that is
/// staged or was withdrawn.
Result<PromotedVersions> released_promotion(Store& store, const PromotionChoice& choice);

Result<FoundSetting> found_setting(Store& store, const PromotedVersions& promoted);

/// Asks the daemon for the setting that `choice` selects.
Result<FoundSetting> found_setting(const DaemonChoice& daemon, const PromotionChoice& choice);

struct SettingSource {
  PromotionChoice choice;
  int world_size = 0;  ///< 0: any
  DaemonChoice daemon;
  std::string store;
  /// May be in a setting whatever check_setting() says (archive/promotions/setting_rules.h).
  std::vector<std::string> allowed_variables = {};
  std::vector<std::string> knob_files = {};  ///< of the user, beside those in the folder for them
};

/// A command and the folder it is started in.
struct StartedCommand {
  std::vector<std::string> words;
  std::string folder;
};

/// Returns `words` as started in the working directory.
Result<StartedCommand> started_here(std::vector<std::string> words);

/// Returns the setting of the workload of `source` or, if it names none, of the program that
/// `command` starts, the one with the command's placeholders if there are several. The setting has
/// passed check_setting().
Result<FoundSetting> setting_of_command(const SettingSource& source, const StartedCommand& command);

/// Returns the setting of `command`, or of `study` unless that is empty, for a start that waits for
/// nothing: the call ends within three seconds whatever the store or the daemon does. After
/// timed_out a thread may still be reading. The setting has passed check_setting().
Result<FoundSetting> setting_to_start(const SettingSource& source, const std::string& study,
                                      const StartedCommand& command);

/// A command with its setting, and what a user should know of it.
struct FilledCommand {
  CommandCall call;
  std::vector<std::string> notes;
};

/// Returns `words` with the setting in the environment, in place of each {NAME}, and where its
/// knobs of other tools are set. invalid_argument for a {NAME} that looks like a misspelt one, as
/// of check_filled(), and where a knob has no place.
Result<FilledCommand> filled_command(const std::vector<std::string>& words,
                                     const FoundSetting& found,
                                     const KnobSurroundings& surroundings);

/// Returns whether the setting has knobs that are set in a copy of a document of the command.
bool has_copied_documents(const FoundSetting& found);

/// Declares --knobs, with which a setting's knobs are looked up.
void add_knob_file_option(CLI::App& verb, SettingSource& source);

/// Declares --topology, --world-size, --link, --store, --daemon, --allow-plain-token and
/// --allow-variable.
void add_setting_source_options(CLI::App& verb, SettingSource& source);

}  // namespace hocket
