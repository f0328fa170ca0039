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
  return shown(candidate.program.empty() ? candidate.workload : candidate.program);
}

std::string topology_text(const PromotionCandidate& candidate) {
  return shown(candidate.topology ? place_text(*candidate.topology) : candidate.place);
}

/// Lists candidates with the options that choose each of them.
std::string listed(Candidates candidates, const std::vector<std::size_t>& indices) {
  std::string list;
  for (const std::size_t index : indices) {
    const PromotionCandidate& each = candidates[index];
    list += (list.empty() ? "" : "; ") + std::string("--workload ") +
            each.key.workload.substr(0, 8) + " --topology " + each.key.topology.substr(0, 8) +
            " is " + workload_text(each) + " on " + topology_text(each);
  }
  return list;
}

Error none_fits(Candidates candidates, const PromotionChoice& choice) {
  const std::string wanted =
      "no configuration was promoted for workload " + shell_quoted(choice.workload);
  std::string elsewhere;
  std::set<std::string> names;
  for (const auto& each : candidates) {
    names.insert(each.workload);
    if (!is_workload(each, choice.workload)) continue;
    elsewhere += (elsewhere.empty() ? "" : "; ") + std::string("--topology ") +
                 each.key.topology.substr(0, 8) + " is " + topology_text(each);
  }
  if (!elsewhere.empty()) {
    return {ErrorCode::not_found, wanted + " that fits; there are others: " + elsewhere};
  }
  std::string known;
  for (const auto& name : names) known += (known.empty() ? "" : ", ") + shell_quoted(shown(name));
  return {ErrorCode::not_found, wanted + (known.empty() ? "; nothing was promoted yet, `hocket "
                                                          "tune` does it"
                                                        : "; there are " + known)};
}

Error several_fit(Candidates candidates, const std::vector<std::size_t>& fitting) {
  return {ErrorCode::invalid_argument,
          std::to_string(fitting.size()) +
              " configurations match; choose one with --world-size, --link, --topology or a "
              "fingerprint for --workload: " +
              listed(candidates, fitting)};
}

Error may_fit(Candidates candidates, const std::vector<std::size_t>& unknown) {
  return {ErrorCode::unavailable,
          candidates[unknown.front()].why_unknown +
              ", or choose one by --workload and --topology alone: " + listed(candidates, unknown)};
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

Result<std::size_t> choose_promotion(std::span<const PromotionCandidate> candidates,
                                     const PromotionChoice& choice, const Topology& host) {
  std::vector<std::size_t> fitting, unknown;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const PromotionFit fit = fit_of(candidates[i], choice, host);
    if (fit == PromotionFit::yes) fitting.push_back(i);
    if (fit == PromotionFit::unknown) unknown.push_back(i);
  }
  if (!unknown.empty()) return failure(may_fit(candidates, unknown));
  if (fitting.empty()) return failure(none_fits(candidates, choice));
  const std::size_t newest = *std::ranges::max_element(
      fitting, {}, [&](std::size_t index) { return candidates[index].version; });
  const auto is_variant = [&](std::size_t index) {
    return fitting.size() == 1 || is_same_but_parameters(candidates[index], candidates[newest]);
  };
  if (!std::ranges::all_of(fitting, is_variant)) return failure(several_fit(candidates, fitting));
  return newest;
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
    const auto found = choose_promotion(candidates, attempt.choice, host);
    if (found && *found == wanted) return attempt.arguments;
  }
  return {"--workload", own.key.workload, "--topology", own.key.topology};
}

}  // namespace hocket
