// hocket best: prints the result of a study.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/studies/study_result.h"
#include "cli/inputs/access/store_access.h"
#include "cli/verbs/verb.h"
#include "cli/views/front_view.h"
#include "cli/views/result_view.h"
#include "cli/views/version_view.h"

namespace hocket {
namespace {

struct BestOptions {
  std::string study, store;
  bool json = false;
};

/// Returns what to do about a study without a result.
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
  return study.state == StudyState::finished
             ? "it ended before a trial did"
             : "`hocket tune --resume --study " + study.name + "` goes on with it";
}

/// Returns the named study if it has a result, or the latest one that has.
Result<StudyRow> find_ended_study(Store& store, const std::string& name) {
  if (!name.empty()) {
    auto study = store.study(name);
    if (study && study->result.is_null()) {
      return failure(ErrorCode::not_found,
                     "study " + study->name + " has no result; " + what_to_do(*study));
    }
    return study;
  }
  auto studies = store.studies();
  HOCKET_TRY(studies);
  for (auto study = studies->rbegin(); study != studies->rend(); ++study) {
    if (!study->result.is_null()) return std::move(*study);
  }
  return failure(ErrorCode::not_found,
                 "no study is finished yet; `hocket studies` lists what there is");
}

Result<int> show_best(const BestOptions& options, VerbContext& context) {
  const auto store = open_for_reading(options.store);
  HOCKET_TRY(store);
  const auto study = find_ended_study(**store, options.study);
  HOCKET_TRY(study);
  const auto view = study_view(**store, *study);
  HOCKET_TRY(view);
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
    print_front(context.out, *result, *view, study->command);
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
  verb->add_option("STUDY", options->study, "its name or number (default: the latest finished)");
  add_store_option(*verb, options->store);
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer("Example:\n  hocket best gpt2-1 --json\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return show_best(*options, c); };
  });
}

}  // namespace hocket
