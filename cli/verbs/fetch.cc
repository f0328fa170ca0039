// hocket fetch: prints the promoted configuration of a workload.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/inputs/command_line.h"
#include "cli/inputs/daemon_access.h"
#include "cli/inputs/daemon_promotion.h"
#include "cli/inputs/store_access.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "cli/views/version_view.h"
#include "core/base/json_reader.h"
#include "core/base/printable_text.h"
#include "core/host/topology_probe.h"
#include "tuner/archive/promotion_choice.h"

namespace hocket {
namespace {

constexpr std::size_t kOriginLimitBytes = 400;

struct FetchOptions {
  PromotionChoice choice;
  int world_size = 0;
  DaemonChoice daemon;
  std::string store;
  bool json = false;
};

/// A promoted version, and the name of its study.
struct Found {
  Promoted promoted;
  std::string study;
};

nlohmann::json number_or_null(const std::optional<MeasuredGain>& measured,
                              double MeasuredGain::*member) {
  return measured ? nlohmann::json((*measured).*member) : nlohmann::json();
}

Result<nlohmann::json> found_json(Store& store, const Found& found) {
  const auto& [promotion, newer, workload, topology_fingerprint, topology] = found.promoted;
  auto document = to_json(promotion, found.study);
  document.update(
      {{"config", promotion.config},
       {"workload", {{"name", workload.name}, {"fingerprint", workload.fingerprint}}},
       {"topology",
        {{"name", readable_name(topology)},
         {"fingerprint", topology_fingerprint},
         {"emulated_link", !emulation_note(topology).empty()}}},
       {"value", number_or_null(promotion.measured, &MeasuredGain::value)},
       {"default_value", number_or_null(promotion.measured, &MeasuredGain::default_value)},
       {"gain", number_or_null(promotion.measured, &MeasuredGain::gain)}});
  document["newer"] = nlohmann::json::array();
  for (const auto& version : newer) {
    const auto study = study_name(store, version);
    HOCKET_TRY(study);
    document["newer"].push_back(to_json(version, *study));
  }
  return document;
}

/// Returns the origin of a configuration as text for the user.
std::string origin_text(const Found& found) {
  const PromotionRow& version = found.promoted.promotion;
  std::string text = made_text(version, found.study);
  // Without pairs there is no gain: the default failed.
  if (version.measured) {
    const double gain = version.measured->gain;
    text += gain > 0 ? ", " + percent_text(gain) + " better than the default"
                     : std::string(", the default failed");
  }
  return text + ", for " + found.promoted.workload.name + " on " +
         place_text(found.promoted.topology);
}

/// Returns `none`, or an explanation if the version selected by `choice` was withdrawn or is
/// staged.
Error why_none(Store& store, const PromotionChoice& choice, const Topology& host,
               const Error& none) {
  const auto all = latest_promotions(store);
  if (!all) return all.error();
  const auto other = choose(*all, choice, host);
  if (!other) return none;
  const auto study = study_name(store, other->promotion);
  if (!study) return study.error();
  return {ErrorCode::not_found, "no version is released for " + other->workload.name + " on " +
                                    place_text(other->topology) + ": " +
                                    standing_text(other->promotion, *study)};
}

Result<Found> find(Store& store, const PromotionChoice& choice) {
  const auto current = current_promotions(store);
  HOCKET_TRY(current);
  const auto host = probe_topology();
  HOCKET_TRY(host);
  const auto chosen = choose(*current, choice, *host);
  if (!chosen) return failure(why_none(store, choice, *host, chosen.error()));
  const auto study = study_name(store, chosen->promotion);
  HOCKET_TRY(study);
  return Found{*chosen, *study};
}

nlohmann::json asked_json(const DaemonPromotion& promotion, const nlohmann::json& config,
                          const nlohmann::json& answer) {
  return {{"config", config},
          {"version", integer_member(answer, "version")},
          {"origin", text_member(answer, "origin")},
          {"promoted_at", time_text(integer_member(answer, "promoted_at_ns"))},
          {"pinned", flag_member(answer, "pinned")},
          {"frozen", flag_member(answer, "frozen")},
          {"workload", {{"name", promotion.workload}, {"fingerprint", promotion.key.workload}}},
          {"topology", {{"name", promotion.topology}, {"fingerprint", promotion.key.topology}}}};
}

Result<int> fetch_from_daemon(const FetchOptions& options, Context& context) {
  auto access = daemon_access(options.daemon);
  HOCKET_TRY(access);
  const auto host = probe_topology();
  HOCKET_TRY(host);
  HttpClient client(std::move(*access));
  const auto all = ask_daemon(client, "GET", "/v1/configs");
  HOCKET_TRY(all);
  const auto chosen = choose(promotions_of(*all), options.choice, *host);
  HOCKET_TRY(chosen);
  const auto answer = ask_daemon(client, "GET", "/v1/configs/" + to_string(chosen->key));
  HOCKET_TRY(answer);
  ScheduleConfig config;
  JsonReader reader(*answer, "the daemon's answer");
  reader.part("config", config, read_schedule_config);
  HOCKET_TRY(reader.done());
  if (options.json) {
    context.out << json_text(asked_json(*chosen, to_json(config), *answer)) << '\n';
    return kDone;
  }
  context.out << json_text(to_json(config)) << '\n' << std::flush;
  const std::string origin =
      text_member(*answer, "origin") + ", for " + chosen->workload + " on " + chosen->topology;
  context.err << printable(origin, kOriginLimitBytes) << std::endl;
  return kDone;
}

/// Returns whether to ask the daemon. Command-line options take precedence over the environment.
bool asks_daemon(const FetchOptions& options) {
  if (!options.daemon.address.empty()) return true;
  return options.store.empty() && !process_environment("HOCKET_DAEMON").value_or("").empty();
}

Result<int> fetch(const FetchOptions& options, Context& context) {
  HOCKET_TRY(no_command(context.command, "fetch"));
  if (options.choice.workload.empty()) {
    return failure(ErrorCode::invalid_argument, "--workload needs a name or a fingerprint");
  }
  if (asks_daemon(options)) return fetch_from_daemon(options, context);
  const auto store = open_for_reading(options.store);
  HOCKET_TRY(store);
  const auto found = find(**store, options.choice);
  HOCKET_TRY(found);
  if (options.json) {
    const auto document = found_json(**store, *found);
    HOCKET_TRY(document);
    context.out << json_text(*document) << '\n';
    return kDone;
  }
  context.out << json_text(found->promoted.promotion.config) << '\n' << std::flush;
  context.err << origin_text(*found) << std::endl;
  for (const auto& version : found->promoted.newer) {
    const auto study = study_name(**store, version);
    HOCKET_TRY(study);
    context.err << standing_text(version, *study) << std::endl;
  }
  return kDone;
}

}  // namespace

void add_fetch(CLI::App& program, Action& action) {
  auto options = std::make_shared<FetchOptions>();
  auto* verb = program.add_subcommand("fetch", "print the promoted configuration of a workload");
  verb->add_option("--workload", options->choice.workload, "name, or start of the fingerprint")
      ->required();
  verb->add_option("--topology", options->choice.topology,
                   "start of the fingerprint (default: any with this host's hardware)");
  verb->add_option("--world-size", options->world_size, "number of ranks")
      ->check(CLI::PositiveNumber);
  verb->add_option("--link", options->choice.link, "how ranks reach each other: tcp, 500mbit, …");
  auto* store = verb->add_option("--store", options->store, "the store's file");
  verb->add_option("--daemon", options->daemon.address,
                   "ask this daemon (default: $HOCKET_DAEMON, else the store)")
      ->excludes(store);
  add_plain_token_option(*verb, options->daemon);
  verb->add_flag("--json", options->json, "print JSON that says where it comes from, too");
  verb->footer("Example:\n  hocket fetch --workload gpt2-6x256 --world-size 2\n");
  verb->callback([options, &action] {
    if (options->world_size > 0) options->choice.world_size = options->world_size;
    action = [options](Context& c) { return fetch(*options, c); };
  });
}

}  // namespace hocket
