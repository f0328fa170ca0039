// hocket best: prints the result of a study.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/studies/interim_study.h"
#include "archive/studies/owner.h"
#include "archive/studies/study_result.h"
#include "cli/inputs/access/shown_commands.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/interim_text.h"
#include "cli/output/notes.h"
#include "cli/verbs/studies/follow.h"
#include "cli/verbs/verb.h"
#include "cli/views/front_view.h"
#include "cli/views/result_view.h"
#include "cli/views/version_view.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

struct BestOptions {
  std::string study, store;
  bool json = false;
};

bool is_still_run(const StudyRow& study) {
  return study.state == StudyState::running && !is_orphan(study, this_host());
}

/// Returns what to do about a study without a result, of which nothing can be said either.
std::string what_to_do(const StudyRow& study) {
  switch (study.origin) {
    case StudyOrigin::live:
      return "it is live tuning's, which promotes what a job keeps: `hocket trials " + study.name +
             "` lists what was tried, and `hocket versions` what was promoted";
    case StudyOrigin::http:
      return "its workers have not ended it; `hocket trials " + study.name + "` lists its trials";
    case StudyOrigin::tune:
      break;
  }
  if (study.state == StudyState::finished) return "it ended before a trial did";
  if (is_still_run(study))
    return "it still runs; `hocket studies --follow " + study.name + "` shows it";
  return "`hocket tune --resume --study " + study.name + "` goes on with it";
}

/// Returns what a study without a result has measured; nothing if that cannot be said.
std::optional<InterimStudy> interim_of_study(Store& store, const StudyRow& study) {
  const bool has_ended = study.state == StudyState::finished || !study.result.is_null();
  if (study.origin != StudyOrigin::tune || has_ended || is_still_run(study)) return std::nullopt;
  auto interim = interim_study(store, study);
  return interim ? std::optional(std::move(*interim)) : std::nullopt;
}

/// A study with its result, or with what it has measured so far.
struct StudyToShow {
  StudyRow study;
  std::optional<InterimStudy> interim = {};
};

/// Returns why a study cannot be shown, if its result or what it searched cannot be read.
Result<void> check_readable(const StudyRow& study) {
  const auto definition = study_definition_from_json(study.definition);
  if (!definition) return failure(definition.error().in("study " + study.name));
  const auto result = study_result_from_json(study.result);
  if (!result) return failure(result.error().in("result of study " + study.name));
  return {};
}

/// Returns the named study, or the latest one, that has a result or has measured something.
Result<StudyToShow> find_study_to_show(Store& store, const std::string& name, UnreadRows& unread) {
  if (!name.empty()) {
    auto study = store.study(name);
    HOCKET_TRY(study);
    if (!study->result.is_null()) return StudyToShow{std::move(*study)};
    auto interim = interim_of_study(store, *study);
    if (interim) return StudyToShow{std::move(*study), std::move(interim)};
    return failure(ErrorCode::not_found,
                   "study " + study->name + " has no result; " + what_to_do(*study));
  }
  auto studies = store.studies(&unread);
  HOCKET_TRY(studies);
  for (auto study = studies->rbegin(); study != studies->rend(); ++study) {
    if (!study->result.is_null()) {
      const auto readable = check_readable(*study);
      if (readable) return StudyToShow{std::move(*study)};
      unread.push_back(readable.error().message);
      continue;
    }
    if (auto interim = interim_of_study(store, *study))
      return StudyToShow{std::move(*study), std::move(interim)};
  }
  return failure(ErrorCode::not_found,
                 "no study is finished yet; `hocket studies` lists what there is");
}

/// Prints what an unfinished study has measured, and how to confirm it.
int show_interim(const BestOptions& options, const InterimStudy& interim, const StudyView& view,
                 VerbContext& context) {
  const std::string store = store_argument(options.store);
  if (options.json) {
    auto document = to_json(view);
    document.update(to_json(interim.result));
    document["interim"] = true;
    document["go_on"] = going_on_command(interim, store);
    document["version"] = nullptr;
    context.out << json_text(document) << '\n';
    return kDone;
  }
  print_heading(context.out, view);
  if (interim.result.front.empty()) {
    print_result(context.out, interim.result, view);
  } else {
    print_front(context.out, interim.result, view, {});
  }
  context.out << interim_text(interim, store) << '\n';
  return kDone;
}

Result<int> show_best(const BestOptions& options, VerbContext& context) {
  const auto store = open_for_reading(options.store);
  HOCKET_TRY(store);
  UnreadRows unread;
  const auto found = find_study_to_show(**store, options.study, unread);
  HOCKET_TRY(found);
  const StudyRow* const study = &found->study;
  const auto view = study_view(**store, *study, unread);
  HOCKET_TRY(view);
  print_notes(context.err, unread);
  if (found->interim) return show_interim(options, *found->interim, *view, context);
  const auto result = study_result_from_json(study->result);
  if (!result) return failure(result.error().in("result of study " + study->name));
  const auto version = version_of(**store, *study);
  HOCKET_TRY(version);
  if (options.json) {
    auto document = to_json(*view);
    document.update(to_json(*result));
    document["version"] = *version ? to_json(**version, study->name) : nlohmann::json();
    context.out << json_text(document) << '\n';
    return kDone;
  }
  print_heading(context.out, *view);
  if (result->front.empty()) {
    print_result(context.out, *result, *view);
  } else {
    print_front(context.out, *result, *view, study->command, store_argument(options.store));
  }
  if (*version && (*version)->stage != PromotionStage::released) {
    context.out << standing_text(**version, study->name) << '\n';
  }
  return kDone;
}

}  // namespace

void add_best(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<BestOptions>();
  auto* verb = program.add_subcommand("best", "show the winner of a study against the default");
  verb->add_option(
      "STUDY", options->study,
      "its name or number (default: the latest that has finished, or that was interrupted)");
  add_store_option(*verb, options->store);
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "VALUE ± SPREAD is the median of a run's values and half their interquartile range, after "
      "the\n"
      "confirmation the median of the setting's runs and half their interquartile range. Of a "
      "study\n"
      "that was interrupted it shows the setting to recommend so far, and how to confirm it.\n"
      "Example:\n  hocket best gpt2-1 --json\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return show_best(*options, c); };
  });
}

}  // namespace hocket
