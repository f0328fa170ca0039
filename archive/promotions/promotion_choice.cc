#include "archive/promotions/promotion_choice.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "archive/promotions/rollback.h"
#include "core/base/text.h"

namespace hocket {
namespace {

template <class Row>
const Row* find_row(const std::vector<Row>& rows, std::int64_t id) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.id == id; });
  return row == rows.end() ? nullptr : &*row;
}

bool is_released(const PromotionRow& version) {
  return version.stage == PromotionStage::released;
}

bool is_workload(const WorkloadRow& workload, const std::string& selector) {
  return workload.name == selector || program_of(workload) == selector ||
         workload.fingerprint.starts_with(selector);
}

/// Returns the program where there is one, which tells scripts of one name apart, else the name.
std::string text_of(const WorkloadRow& workload) {
  const std::string program = program_of(workload);
  return program.empty() ? workload.name : program;
}

bool is_older(const Promoted& a, const Promoted& b) {
  return a.promotion.id < b.promotion.id;
}

bool matches(const Promoted& promoted, const PromotionChoice& choice, const Topology& host) {
  const Topology& topology = promoted.topology;
  if (!is_workload(promoted.workload, choice.workload)) return false;
  if (choice.world_size && *choice.world_size != topology.world_size) return false;
  if (!choice.link.empty() && topology.link != choice.link &&
      topology.link != "emulated " + choice.link) {
    return false;
  }
  if (!choice.topology.empty()) return promoted.topology_fingerprint.starts_with(choice.topology);
  return same_hardware(topology, host);
}

Error none_matches(const std::vector<Promoted>& promoted, const PromotionChoice& choice) {
  const std::string wanted =
      "no configuration was promoted for workload " + shell_quoted(choice.workload);
  std::string elsewhere;
  std::set<std::string> names;
  for (const auto& each : promoted) {
    names.insert(each.workload.name);
    if (!is_workload(each.workload, choice.workload)) continue;
    elsewhere += (elsewhere.empty() ? "" : "; ") + std::string("--topology ") +
                 each.topology_fingerprint.substr(0, 8) + " is " + place_text(each.topology);
  }
  if (!elsewhere.empty()) {
    return {ErrorCode::not_found, wanted + " that fits; there are others: " + elsewhere};
  }
  std::string known;
  for (const auto& name : names) known += (known.empty() ? "" : ", ") + shell_quoted(name);
  return {ErrorCode::not_found, wanted + (known.empty() ? "; nothing was promoted yet, `hocket "
                                                          "tune` does it"
                                                        : "; there are " + known)};
}

Error several_match(const std::vector<Promoted>& found) {
  std::string list;
  for (const auto& each : found) {
    list += (list.empty() ? "" : "; ") + std::string("--workload ") +
            each.workload.fingerprint.substr(0, 8) + " --topology " +
            each.topology_fingerprint.substr(0, 8) + " is " + text_of(each.workload) + " on " +
            place_text(each.topology);
  }
  return {ErrorCode::invalid_argument,
          std::to_string(found.size()) +
              " configurations match; choose one with --world-size, --link, --topology or a "
              "fingerprint for --workload: " +
              list};
}

}  // namespace

Result<std::vector<Promoted>> latest_promotions(Store& store) {
  const auto topologies = store.topologies();
  HOCKET_TRY(topologies);
  const auto workloads = store.workloads("");
  HOCKET_TRY(workloads);
  const auto promotions = store.promotions({});
  HOCKET_TRY(promotions);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<PromotionRow>> by_key;
  for (const auto& row : *promotions) by_key[{row.topology_id, row.workload_id}].push_back(row);

  std::vector<Promoted> found;
  for (const auto& [ids, versions] : by_key) {
    const auto* topology = find_row(*topologies, ids.first);
    const auto* workload = find_row(*workloads, ids.second);
    // Another process has promoted it since the lists were read.
    if (!topology || !workload) continue;
    const auto description = topology_from_json(topology->document);
    if (!description) return failure(description.error().in("topology " + topology->name));
    // The newest versions are last.
    auto current = std::find_if(versions.rbegin(), versions.rend(), is_released);
    if (current == versions.rend()) current = versions.rbegin();
    found.push_back({*current,
                     {current.base(), versions.end()},
                     *workload,
                     topology->fingerprint,
                     *description});
  }
  return found;
}

Result<std::vector<Promoted>> current_promotions(Store& store) {
  auto found = latest_promotions(store);
  if (!found) return found;
  std::erase_if(*found, [](const auto& each) {
    return !is_released(each.promotion) || is_default(each.promotion);
  });
  return found;
}

std::string program_of(const WorkloadRow& workload) {
  const auto program = workload.document.find("program");
  return program != workload.document.end() && program->is_string() ? program->get<std::string>()
                                                                    : std::string();
}

bool is_same_but_parameters(const Promoted& a, const Promoted& b) {
  const auto has_tensors = [](const Promoted& each) {
    const auto tensors = each.workload.document.find("tensors");
    return tensors != each.workload.document.end() && !tensors->empty();
  };
  return a.topology_fingerprint == b.topology_fingerprint && a.workload.name == b.workload.name &&
         program_of(a.workload) == program_of(b.workload) && !has_tensors(a) && !has_tensors(b);
}

bool same_hardware(const Topology& a, const Topology& b) {
  return a.cpu_model == b.cpu_model && a.sockets == b.sockets && a.numa_nodes == b.numa_nodes &&
         a.cores == b.cores && a.hardware_threads == b.hardware_threads &&
         a.memory_gib == b.memory_gib;
}

std::vector<Promoted> matching(const std::vector<Promoted>& promoted, const PromotionChoice& choice,
                               const Topology& host) {
  std::vector<Promoted> found;
  std::copy_if(promoted.begin(), promoted.end(), std::back_inserter(found),
               [&](const Promoted& each) { return matches(each, choice, host); });
  return found;
}

Result<Promoted> choose(const std::vector<Promoted>& promoted, const PromotionChoice& choice,
                        const Topology& host) {
  auto found = matching(promoted, choice, host);
  if (found.empty()) return failure(none_matches(promoted, choice));
  const auto newest = std::ranges::max_element(found, is_older);
  const auto is_variant = [&](const Promoted& each) {
    return found.size() == 1 || is_same_but_parameters(each, *newest);
  };
  if (!std::ranges::all_of(found, is_variant)) return failure(several_match(found));
  return std::move(*newest);
}

std::vector<std::string> fetch_arguments(const std::vector<Promoted>& promoted,
                                         const Promoted& wanted, const Topology& host) {
  const Topology& topology = wanted.topology;
  const std::string ranks = std::to_string(topology.world_size);
  const std::string& name = wanted.workload.name;
  const std::string program = program_of(wanted.workload);
  const struct {
    PromotionChoice choice;
    std::vector<std::string> arguments;
  } attempts[] = {
      {{name, "", {}, ""}, {"--workload", name}},
      {{name, "", topology.world_size, ""}, {"--workload", name, "--world-size", ranks}},
      {{name, "", topology.world_size, topology.link},
       {"--workload", name, "--world-size", ranks, "--link", topology.link}},
      {{program, "", {}, ""}, {"--workload", program}},
  };
  for (const auto& attempt : attempts) {
    if (attempt.choice.workload.empty()) continue;
    const auto found = choose(promoted, attempt.choice, host);
    if (found && found->promotion.id == wanted.promotion.id) return attempt.arguments;
  }
  return {"--workload", wanted.workload.fingerprint, "--topology", wanted.topology_fingerprint};
}

}  // namespace hocket
