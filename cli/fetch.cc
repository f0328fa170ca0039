// hocket fetch: the promoted configuration of a workload.

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/command_line.h"
#include "cli/promotion_choice.h"
#include "cli/store_access.h"
#include "cli/text.h"
#include "cli/verb.h"
#include "core/host/topology_probe.h"

namespace hocket {
namespace {

struct Options {
  PromotionChoice choice;
  int world_size = 0;
  std::string store;
  bool json = false;
};

nlohmann::json promoted_json(const Promoted& promoted, const StudyRow& study) {
  const auto& [promotion, workload, topology_fingerprint, topology] = promoted;
  return {{"config", promotion.config},
          {"study", study.name},
          {"workload", {{"name", workload.name}, {"fingerprint", workload.fingerprint}}},
          {"topology",
           {{"name", readable_name(topology)},
            {"fingerprint", topology_fingerprint},
            {"emulated_link", !emulation_note(topology).empty()}}},
          {"value", promotion.value},
          {"default_value", promotion.default_value},
          {"gain", promotion.gain},
          {"promoted_at", time_text(promotion.promoted_at_ns)}};
}

/// Where a configuration comes from, for people.
std::string origin_text(const Promoted& promoted, const StudyRow& study) {
  const double gain = promoted.promotion.gain;
  // Without pairs there is no gain: the default did not work.
  const std::string why =
      gain > 0 ? percent_text(gain) + " better than the default" : "the default failed";
  return "promoted by study " + study.name + " on " + time_text(promoted.promotion.promoted_at_ns) +
         ", " + why + ", for " + promoted.workload.name + " on " + place_text(promoted.topology);
}

Result<int> fetch(const Options& options, Context& context) {
  if (auto ok = no_command(context.command, "fetch"); !ok) return failure(ok.error());
  if (options.choice.workload.empty()) {
    return failure(ErrorCode::invalid_argument, "--workload needs a name or a fingerprint");
  }
  const auto store = open_for_reading(options.store);
  if (!store) return failure(store.error());
  const auto promotions = current_promotions(**store);
  if (!promotions) return failure(promotions.error());
  const auto host = probe_topology();
  if (!host) return failure(host.error());
  const auto chosen = choose(*promotions, options.choice, *host);
  if (!chosen) return failure(chosen.error());
  const auto study = (*store)->study(std::to_string(chosen->promotion.study_id));
  if (!study) return failure(study.error());
  if (options.json) {
    context.out << json_text(promoted_json(*chosen, *study)) << '\n';
    return kDone;
  }
  context.out << json_text(chosen->promotion.config) << '\n' << std::flush;
  context.err << origin_text(*chosen, *study) << std::endl;
  return kDone;
}

}  // namespace

void add_fetch(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  auto* verb = program.add_subcommand("fetch", "print the promoted configuration of a workload");
  verb->add_option("--workload", options->choice.workload, "name, or start of the fingerprint")
      ->required();
  verb->add_option("--topology", options->choice.topology,
                   "start of the fingerprint (default: any with this host's hardware)");
  verb->add_option("--world-size", options->world_size, "number of ranks")
      ->check(CLI::PositiveNumber);
  verb->add_option("--link", options->choice.link, "how ranks reach each other: tcp, 500mbit, …");
  verb->add_option("--store", options->store, "the store's file");
  verb->add_flag("--json", options->json, "print JSON that says where it comes from, too");
  verb->footer("Example:\n  hocket fetch --workload gpt2-6x256 --world-size 2\n");
  verb->callback([options, &action] {
    if (options->world_size > 0) options->choice.world_size = options->world_size;
    action = [options](Context& c) { return fetch(*options, c); };
  });
}

}  // namespace hocket
