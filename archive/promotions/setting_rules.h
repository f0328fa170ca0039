#pragma once

// Limits what a promoted setting does to a command, beyond its declared names and values
// (core/step/declaration.h): a daemon that declares a setting is no more to be trusted than the
// setting. Pure functions; thread-safe.

#include <string>
#include <vector>

#include "archive/promotions/promoted_setting.h"
#include "core/base/result.h"

namespace hocket {

/// Origin of the text values in a setting.
enum class SettingWords {
  /// A study of this store, which the user's `hocket tune` has made.
  own,
  /// A daemon, or jobs and programs that talk to one.
  foreign,
  /// A file of another site. The same rules hold, and nothing is allowed beyond them.
  imported,
};

/// Refuses a setting that may make a command run other code than the user means, for each
/// parameter that is not among `allowed`, which the user has named:
/// - a variable by which programs find others (core/base/system_variables.h), whoever declares it;
/// - a foreign word of more than 200 bytes or of other characters than letters, digits and
///   "_.,:+@%=-": so it has no blank, at which `env $(hocket fetch …)` would divide it, no path and
///   nothing that a shell expands.
/// Always refused are variables of hocket's own, and names that no variable can have.
Result<void> check_setting(const PromotedSetting& setting, SettingWords words,
                           const std::vector<std::string>& allowed);

/// Refuses a foreign word in place of a {NAME} of `command` unless NAME is among `allowed`, if it
/// begins with "-" or has a "=": it would be an option, or an assignment in the text of a shell.
Result<void> check_filled(const std::vector<std::string>& command, const PromotedSetting& setting,
                          SettingWords words, const std::vector<std::string>& allowed);

}  // namespace hocket
