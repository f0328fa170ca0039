#include "cli/inputs/promotion/unconfirmed_setting.h"

#include "archive/studies/interim_study.h"
#include "archive/studies/owner.h"
#include "archive/studies/plain_job.h"
#include "archive/studies/study_job.h"
#include "cli/inputs/access/shown_commands.h"
#include "cli/output/interim_text.h"

namespace hocket {
namespace {

bool is_unfinished(const StudyRow& study) {
  if (study.origin != StudyOrigin::tune || !study.result.is_null()) return false;
  return study.state == StudyState::interrupted ||
         (study.state == StudyState::running &&
          owner_state(study.owner, this_host()) == OwnerState::gone);
}

bool is_of_job(Store& store, const StudyRow& study, const PromotionChoice& choice,
               const StartedCommand& command) {
  if (!choice.workload.empty()) {
    const auto workload = workload_of(store, study);
    return workload && (workload->name == choice.workload || workload->program == choice.workload);
  }
  const auto definition = study_definition_from_json(study.definition);
  return definition && !command.words.empty() &&
         program_of(study.command, definition->working_directory) ==
             program_of(command.words, command.folder);
}

}  // namespace

std::string unconfirmed_text(Store& store, const StudyRow& study, const std::string& option) {
  if (!is_unfinished(study)) return {};
  const auto interim = interim_study(store, study);
  return interim ? interim_text(*interim, store_argument(option)) : std::string();
}

std::string unconfirmed_text(Store& store, const PromotionChoice& choice,
                             const StartedCommand& command, const std::string& option) {
  UnreadRows unread;
  const auto studies = store.studies(&unread);
  if (!studies) return {};
  for (auto study = studies->rbegin(); study != studies->rend(); ++study) {
    if (!is_unfinished(*study) || !is_of_job(store, *study, choice, command)) continue;
    if (auto text = unconfirmed_text(store, *study, option); !text.empty()) return text;
  }
  return {};
}

Error with_unconfirmed(Store& store, Error none, const PromotionChoice& choice,
                       const StartedCommand& command, const std::string& option) {
  if (none.code != ErrorCode::not_found) return none;
  const std::string text = unconfirmed_text(store, choice, command, option);
  if (!text.empty()) none.message += "; " + text;
  return none;
}

}  // namespace hocket
