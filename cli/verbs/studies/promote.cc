// hocket studies promote: promotes a point of a Pareto front by its number.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/promotions/front_promotion.h"
#include "archive/studies/owner.h"
#include "archive/studies/study_result.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/value_text.h"
#include "cli/verbs/studies/studies_verbs.h"
#include "cli/views/version_view.h"
#include "core/base/plain_text.h"
#include "core/base/text.h"

namespace hocket {
namespace {

struct PromoteOptions {
  std::string study;
  std::int64_t number = 0;
};

Result<int> promote_point(const StudiesOptions& common, const PromoteOptions& options,
                          VerbContext& context) {
  const auto store = open_existing(common.store);
  HOCKET_TRY(store);
  const auto study = (*store)->study(options.study);
  HOCKET_TRY(study);
  if (study->result.is_null()) {
    return failure(ErrorCode::invalid_argument,
                   "study " + study->name +
                       " has not ended, so its front is not measured again "
                       "yet; `hocket best " +
                       study->name + "` says how to go on");
  }
  const auto result = study_result_from_json(study->result);
  if (!result) return failure(result.error().in("result of study " + study->name));
  const auto point = front_point(*result, options.number);
  if (!point) return failure(point.error().in("study " + study->name));
  const auto version = promote_front_point(**store, *study, *point, actor_text());
  HOCKET_TRY(version);
  if (point->state != FrontState::confirmed) {
    context.err << "note: trial " << options.number
                << " was not confirmed: it may be no better than the default in any objective"
                << std::endl;
  }
  const std::string run = "hocket with --study " + study->name +
                          store_argument_for_start(common.store) + " -- " +
                          shell_text(study->command);
  if (common.json) {
    auto document = to_json(*version, study->name);
    document["trial"] = options.number;
    document["params"] = to_json(point->measured.params);
    document["run"] = run;
    context.out << json_text(document) << '\n';
    return kDone;
  }
  context.out << standing_text(*version, study->name) << '\n'
              << "trial " << options.number << ": " << params_text(point->measured.params) << '\n'
              << plain_line("run with it: " + run) << '\n';
  return kDone;
}

}  // namespace

void add_promote_point(CLI::App& studies, const std::shared_ptr<StudiesOptions>& common,
                       VerbAction& action) {
  auto options = std::make_shared<PromoteOptions>();
  auto* verb = studies.add_subcommand("promote", "promote a point of a Pareto front");
  verb->add_option("STUDY", options->study, "its name or number")->required();
  verb->add_option("TRIAL", options->number, "the trial's number, as `hocket best` lists it")
      ->required();
  add_common_options(*verb, *common);
  verb->footer(
      "A study with several objectives promotes nothing: which trade-off is right is for you to\n"
      "choose. Jobs get the chosen point from then on; `hocket rollback` takes it back.\n"
      "Example:\n  hocket best gpt2-3\n  hocket studies promote gpt2-3 7\n");
  verb->callback([common, options, &action] {
    action = [common, options](VerbContext& c) { return promote_point(*common, *options, c); };
  });
}

}  // namespace hocket
