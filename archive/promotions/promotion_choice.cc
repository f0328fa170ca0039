#include "archive/promotions/promotion_choice.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/text.h"

namespace hocket {
namespace {

using Candidates = std::span<const PromotionCandidate>;

constexpr std::size_t kPromotionNameLimitBytes = 200;

/// Returns text that may come from another host, fit for a message.
std::string shown(const std::string& text) {
  return printable(text, kPromotionNameLimitBytes);
}

bool is_workload(const PromotionCandidate& candidate, const std::string& selector) {
  return candidate.workload == selector || candidate.program == selector ||
         candidate.key.workload.starts_with(selector);
}

/// Returns the program where there is one, which tells scripts of one name apart, else the name.
std::string workload_text(const PromotionCandidate& candidate) {
  const std::string name = candidate.program.empty() ? candidate.workload : candidate.program;
  return shown(candidate.traits.empty() ? name : name + " (" + candidate.traits + ")");
}

std::string topology_text(const PromotionCandidate& candidate) {
  return shown(candidate.topology ? place_text(*candidate.topology) : candidate.place);
}

/// Lists candidates with the commands that choose each of them.
std::string listed(Candidates candidates, const std::vector<std::size_t>& indices,
                   const PromotionChoice& choice, const Topology& host) {
  std::string list;
  for (const std::size_t index : indices) {
    const PromotionCandidate& each = candidates[index];
    list += (list.empty() ? "" : "; ") + choosing_command(candidates, index, choice, host) +
            " takes that of " + workload_text(each) + " on " + topology_text(each);
  }
  return list;
}

Error none_fits(Candidates candidates, const PromotionChoice& choice, const Topology& host) {
  const std::string wanted =
      "no configuration was promoted for workload " + shell_quoted(choice.workload);
  std::vector<std::size_t> elsewhere;
  std::set<std::string> names;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    names.insert(candidates[i].workload);
    if (is_workload(candidates[i], choice.workload)) elsewhere.push_back(i);
  }
  if (!elsewhere.empty()) {
    return {ErrorCode::not_found, wanted + " that fits; there are others: " +
                                      listed(candidates, elsewhere, choice, host)};
  }
  std::string known;
  for (const auto& name : names) known += (known.empty() ? "" : ", ") + shell_quoted(shown(name));
  return {ErrorCode::not_found, wanted + (known.empty() ? "; nothing was promoted yet, `hocket "
                                                          "tune` does it"
                                                        : "; there are " + known)};
}

Error several_fit(Candidates candidates, const std::vector<std::size_t>& fitting,
                  const PromotionChoice& choice, const Topology& host) {
  return {ErrorCode::invalid_argument,
          std::to_string(fitting.size()) +
              " configurations match; choose one with --world-size, --link, --topology or a "
              "fingerprint for --workload: " +
              listed(candidates, fitting, choice, host)};
}

Error may_fit(Candidates candidates, const std::vector<std::size_t>& unknown,
              const PromotionChoice& choice, const Topology& host) {
  return {ErrorCode::unavailable, candidates[unknown.front()].why_unknown +
                                      ", or choose one by --workload and --topology alone: " +
                                      listed(candidates, unknown, choice, host)};
}

/// Returns whether both are of one plain command in one place, tuned over other parameters.
bool is_same_but_parameters(const PromotionCandidate& a, const PromotionCandidate& b) {
  return a.key.topology == b.key.topology && a.workload == b.workload && a.program == b.program &&
         !a.has_tensors && !b.has_tensors;
}

}  // namespace

bool same_hardware(const Topology& a, const Topology& b) {
  return a.cpu_model == b.cpu_model && a.sockets == b.sockets && a.numa_nodes == b.numa_nodes &&
         a.cores == b.cores && a.hardware_threads == b.hardware_threads &&
         a.memory_gib == b.memory_gib;
}

PromotionFit fit_of(const PromotionCandidate& candidate, const PromotionChoice& choice,
                    const Topology& host) {
  if (!is_workload(candidate, choice.workload)) return PromotionFit::no;
  if (!candidate.key.topology.starts_with(choice.topology)) return PromotionFit::no;
  const bool is_exact = !choice.topology.empty() && !choice.world_size && choice.link.empty();
  if (is_exact) return PromotionFit::yes;
  if (!candidate.topology) return PromotionFit::unknown;
  const Topology& topology = *candidate.topology;
  if (choice.world_size && *choice.world_size != topology.world_size) return PromotionFit::no;
  if (!choice.link.empty() && topology.link != choice.link &&
      topology.link != "emulated " + choice.link) {
    return PromotionFit::no;
  }
  const bool is_here = !choice.topology.empty() || same_hardware(topology, host);
  return is_here ? PromotionFit::yes : PromotionFit::no;
}

namespace {

/// The candidates that fit, and those of which that is not known.
struct FittingPromotions {
  std::vector<std::size_t> yes, unknown;
};

FittingPromotions fitting_promotions(Candidates candidates, const PromotionChoice& choice,
                                     const Topology& host) {
  FittingPromotions fitting;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const PromotionFit fit = fit_of(candidates[i], choice, host);
    if (fit == PromotionFit::yes) fitting.yes.push_back(i);
    if (fit == PromotionFit::unknown) fitting.unknown.push_back(i);
  }
  return fitting;
}

/// Returns the one that is chosen, or nothing where none, several or perhaps some fit.
std::optional<std::size_t> only_promotion(Candidates candidates, const FittingPromotions& fitting) {
  if (!fitting.unknown.empty() || fitting.yes.empty()) return std::nullopt;
  const std::size_t newest = *std::ranges::max_element(
      fitting.yes, {}, [&](std::size_t index) { return candidates[index].version; });
  const auto is_variant = [&](std::size_t index) {
    return fitting.yes.size() == 1 || is_same_but_parameters(candidates[index], candidates[newest]);
  };
  if (!std::ranges::all_of(fitting.yes, is_variant)) return std::nullopt;
  return newest;
}

bool chooses(const PromotionChoice& choice, Candidates candidates, std::size_t wanted,
             const Topology& host) {
  return only_promotion(candidates, fitting_promotions(candidates, choice, host)) == wanted;
}

}  // namespace

std::string choosing_command(std::span<const PromotionCandidate> candidates, std::size_t wanted,
                             const PromotionChoice& choice, const Topology& host) {
  constexpr std::size_t kShortBytes = 8;
  const ConfigKey& key = candidates[wanted].key;
  PromotionChoice told{.workload = key.workload, .topology = key.topology};
  for (const auto& workload : {choice.workload, key.workload.substr(0, kShortBytes)}) {
    const PromotionChoice shorter{.workload = workload,
                                  .topology = key.topology.substr(0, kShortBytes)};
    if (workload.empty() || !chooses(shorter, candidates, wanted, host)) continue;
    told = shorter;
    break;
  }
  const std::vector<std::string> arguments = {"--workload", told.workload, "--topology",
                                              told.topology};
  return '`' + choice.command + ' ' + shell_text(arguments) + choice.command_end + '`';
}

Result<std::size_t> choose_promotion(std::span<const PromotionCandidate> candidates,
                                     const PromotionChoice& choice, const Topology& host) {
  const auto fitting = fitting_promotions(candidates, choice, host);
  if (!fitting.unknown.empty()) return failure(may_fit(candidates, fitting.unknown, choice, host));
  if (fitting.yes.empty()) return failure(none_fits(candidates, choice, host));
  const auto only = only_promotion(candidates, fitting);
  if (!only) return failure(several_fit(candidates, fitting.yes, choice, host));
  return *only;
}

std::vector<std::string> fetch_arguments(std::span<const PromotionCandidate> candidates,
                                         std::size_t wanted, const Topology& host) {
  const PromotionCandidate& own = candidates[wanted];
  const int world_size = own.topology->world_size;
  const std::string ranks = std::to_string(world_size);
  const struct {
    PromotionChoice choice;
    std::vector<std::string> arguments;
  } attempts[] = {
      {{own.workload, "", {}, ""}, {"--workload", own.workload}},
      {{own.workload, "", world_size, ""}, {"--workload", own.workload, "--world-size", ranks}},
      {{own.workload, "", world_size, own.topology->link},
       {"--workload", own.workload, "--world-size", ranks, "--link", own.topology->link}},
      {{own.program, "", {}, ""}, {"--workload", own.program}},
  };
  for (const auto& attempt : attempts) {
    if (attempt.choice.workload.empty()) continue;
    if (chooses(attempt.choice, candidates, wanted, host)) return attempt.arguments;
  }
  return {"--workload", own.key.workload, "--topology", own.key.topology};
}

}  // namespace hocket
