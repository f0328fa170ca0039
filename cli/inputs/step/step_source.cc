#include "cli/inputs/step/step_source.h"

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/output/value_text.h"
#include "core/base/json.h"
#include "core/base/text.h"

namespace hocket {
namespace {

/// A description with the maximum number of tasks has some hundred megabytes. Such limits are
/// checked by field, not by size.
constexpr std::size_t kMaxStepTextBytes = std::size_t{1} << 30;

Result<std::string> read_input() {
  std::string text;
  std::array<char, 1 << 16> block;
  while (std::cin.read(block.data(), block.size()) || std::cin.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > kMaxStepTextBytes) {
      return invalid("standard input has more than " + std::to_string(kMaxStepTextBytes) +
                     " bytes");
    }
  }
  return text;
}

const std::map<std::string, CollectiveAlgorithm> kAlgorithms = {
    {"automatic", CollectiveAlgorithm::automatic},
    {"ring", CollectiveAlgorithm::ring},
    {"tree", CollectiveAlgorithm::tree}};

}  // namespace

void add_step_changes(CLI::App& verb, StepChanges& changes) {
  verb.add_option("--ranks", changes.ranks, "how many ranks (GPUs) train");
  verb.add_option("--ranks-per-host", changes.ranks_per_host, "how many of them on a host");
  verb.add_option("--link", changes.links,
                  "host=RATE[,LATENCY] or network=RATE[,LATENCY], such as network=10gbit,20us; "
                  "repeat it")
      ->allow_extra_args(false);
  verb.add_option("--algorithm", changes.algorithm, "of an all-reduce over links")
      ->type_name("automatic|ring|tree")
      ->transform(CLI::CheckedTransformer(kAlgorithms, CLI::ignore_case).description(""));
  verb.add_option("--compute-scale", changes.compute_scale,
                  "factor on the times of computations: 0.5 for devices that are twice as fast");
  verb.add_option("--bandwidth-scale", changes.bandwidth_scale,
                  "factor on the bandwidth of all links: 2 for twice as much");
  verb.add_option("--seed", changes.seed, "of the jitter");
}

std::string step_change_arguments(const StepChanges& changes) {
  std::string text;
  const auto add = [&](const char* option, const std::string& value) {
    text += std::string(" ") + option + " " + shell_quoted(value);
  };
  const auto add_number = [&](const char* option, const auto& number) {
    if (number) add(option, json_text(*number));
  };
  add_number("--ranks", changes.ranks);
  add_number("--ranks-per-host", changes.ranks_per_host);
  for (const std::string& link : changes.links) add("--link", link);
  for (const auto& [name, algorithm] : kAlgorithms)
    if (changes.algorithm == algorithm) add("--algorithm", name);
  add_number("--compute-scale", changes.compute_scale);
  add_number("--bandwidth-scale", changes.bandwidth_scale);
  add_number("--seed", changes.seed);
  return text;
}

Result<StepDescription> read_step(const std::string& path) {
  const bool is_input = path == "-";
  const auto text = is_input ? read_input() : read_file(path, kMaxStepTextBytes);
  if (!text) return invalid(text.error().message);
  auto step = parse_step_description(*text);
  if (!step) return failure(step.error().in(is_input ? "standard input" : path));
  return step;
}

Result<StepDescription> read_changed_step(const std::string& path, const StepChanges& changes,
                                          std::ostream& err) {
  auto step = read_step(path);
  HOCKET_TRY(step);
  const std::int64_t given_ranks = step->ranks;
  HOCKET_TRY(change_step(*step, changes));
  if (changes.ranks && !step->cluster) {
    err << "hocket: alpha and beta are kept as given for " << given_ranks
        << " ranks; --link network=RATE,LATENCY and, with several ranks on a host, --link "
           "host=RATE,LATENCY cost collectives by the number of ranks"
        << std::endl;
  }
  return step;
}

}  // namespace hocket
