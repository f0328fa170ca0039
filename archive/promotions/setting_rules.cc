#include "archive/promotions/setting_rules.h"

#include <algorithm>
#include <string_view>

#include "core/base/system_variables.h"
#include "core/base/text.h"
#include "core/step/declared_knob.h"
#include "tuner/space/parameter.h"
#include "tuner/trial/placeholder.h"

namespace hocket {
namespace {

constexpr std::size_t kShownNameBytes = 100, kMaxForeignWordBytes = 200;
constexpr std::string_view kInVariables =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
constexpr std::string_view kInForeignWords =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,:+@%=-";

std::string shown_setting_name(const std::string& name) {
  return printable(name, kShownNameBytes);
}

Error refused(const std::string& name, const std::string& why, const std::string& remedy = "") {
  return {ErrorCode::invalid_argument,
          "the setting has " + shown_setting_name(name) + why + ", so it is not applied" + remedy};
}

Error refused_unless_allowed(const std::string& name, const std::string& why, SettingWords words) {
  if (words == SettingWords::imported) return refused(name, why);
  return refused(name, why,
                 "; to apply it nevertheless, add --allow-variable " + shown_setting_name(name));
}

bool is_harmless(std::string_view word) {
  return word.size() <= kMaxForeignWordBytes &&
         word.find_first_not_of(kInForeignWords) == std::string_view::npos;
}

Result<void> check_variable(const std::string& name, SettingWords words, bool is_allowed) {
  if (name.empty() || name.find_first_not_of(kInVariables) != std::string::npos)
    return failure(refused(name, ", which is no name of a variable"));
  if (name.starts_with("HOCKET_") && !is_own_knob(name))
    return failure(refused(name, ", a variable of hocket's own"));
  const std::string_view use = system_variable_use(name);
  if (use.empty() || is_allowed) return {};
  return failure(refused_unless_allowed(name, ", which " + std::string(use), words));
}

Error foreign_word(const std::string& name, SettingWords words) {
  return refused_unless_allowed(name,
                                " with a word that others have chosen and that is not plain "
                                "(at most 200 letters, digits and \"_.,:+@%=-\")",
                                words);
}

/// Checks the words of the scheduler's configuration, which all reach the command in HOCKET_CONFIG.
Result<void> check_schedule_words(const ScheduleConfig& schedule, SettingWords words,
                                  const std::vector<std::string>& allowed) {
  const auto check = [&](const std::string& name, bool is_plain) -> Result<void> {
    if (is_plain || std::ranges::count(allowed, name) > 0) return {};
    return failure(foreign_word(name, words));
  };
  for (const auto& [name, value] : schedule.job)
    HOCKET_TRY(check(knob_name_of(name), is_harmless(job_value_text(value))));
  for (const auto& [name, region] : schedule.regions) {
    HOCKET_TRY(check(std::string(kRegionKnobPrefix) + name,
                     is_harmless(name) && is_harmless(region.dimension.value_or(""))));
  }
  return {};
}

}  // namespace

Result<void> check_setting(const PromotedSetting& setting, SettingWords words,
                           const std::vector<std::string>& allowed) {
  for (const auto& [name, value] : setting.params) {
    const bool is_allowed = std::ranges::count(allowed, name) > 0;
    HOCKET_TRY(check_variable(name, words, is_allowed));
    const auto* const word = std::get_if<std::string>(&value);
    if (words == SettingWords::own || is_allowed || word == nullptr) continue;
    if (!is_harmless(*word)) return failure(foreign_word(name, words));
  }
  if (words != SettingWords::own && setting.schedule)
    return check_schedule_words(*setting.schedule, words, allowed);
  return {};
}

Result<void> check_filled(const std::vector<std::string>& command, const PromotedSetting& setting,
                          SettingWords words, const std::vector<std::string>& allowed) {
  if (words == SettingWords::own) return {};
  for (const std::string& name : plain_placeholders_of(command)) {
    const auto value = setting.params.find(name);
    if (value == setting.params.end() || std::ranges::count(allowed, name) > 0) continue;
    const auto* const word = std::get_if<std::string>(&value->second);
    if (word == nullptr || (!word->starts_with('-') && word->find('=') == std::string::npos))
      continue;
    return failure(
        refused_unless_allowed(name,
                               ", for {" + name +
                                   "} of the command, with a word that others have chosen and that "
                                   "begins with \"-\" or has a \"=\"",
                               words));
  }
  return {};
}

}  // namespace hocket
