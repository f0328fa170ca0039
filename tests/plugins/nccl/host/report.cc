#include "tests/plugins/nccl/host/report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/plugins/nccl/host/model/reference_run.h"

namespace hocket::nccl_host {
namespace {

using Json = nlohmann::ordered_json;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Json medians(const double* values, std::uint64_t count) {
  const auto of = [&](std::uint64_t begin) { return median({values + begin, values + count}); };
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) sum += values[i];
  return {{"all", of(0)},
          {"mean", count == 0 ? 0 : sum / static_cast<double>(count)},
          {"first_half", median({values, values + (count + 1) / 2})},
          {"last_tenth", of(count - (count + 9) / 10)}};
}

Json describe(const Histogram& histogram) {
  const std::uint64_t count = histogram.count();
  return {{"count", count},
          {"mean_ns", count == 0 ? 0 : histogram.total_ns() / count},
          {"p50_ns", histogram.at(0.5)},
          {"p99_ns", histogram.at(0.99)},
          {"max_ns", histogram.max_ns()}};
}

struct Ran {
  std::map<std::string, std::uint64_t> counts;
  Choice last;
  std::uint64_t last_number = 0;
};

std::map<Shape, Ran> what_ran(const SharedRun& shared, const Options& options) {
  std::map<Shape, Ran> result;
  for (int rank = 0; rank < options.ranks; ++rank) {
    const RankRecord& record = shared.records[rank];
    for (int i = 0; i < record.choice_count; ++i) {
      const ChoiceCount& entry = record.choices[i];
      Ran& ran = result[entry.shape];
      ran.counts[to_string(entry.choice)] += entry.count;
      if (entry.last < ran.last_number) continue;
      ran.last = entry.choice;
      ran.last_number = entry.last;
    }
  }
  return result;
}

/// Describes each collective: what ran, what is best alone, and what is best within the iteration.
Json describe_collectives(const std::map<Shape, Ran>& ran, const CostModel& model,
                          const Settings& best) {
  Json result = Json::array();
  for (const auto& [shape, what] : ran) {
    const Choice usual = model.default_choice(shape), alone = model.best_choice(shape);
    const double least_us = model.true_us(shape, alone), last_us = model.true_us(shape, what.last);
    Json entry = {{"function", function_name(shape.function)},
                  {"bytes", shape.bytes},
                  {"ranks", shape.ranks},
                  {"nodes", shape.nodes},
                  {"ran", what.counts},
                  {"last", to_string(what.last)},
                  {"last_us", last_us},
                  {"default", to_string(usual)},
                  {"default_us", model.true_us(shape, usual)},
                  {"best", to_string(alone)},
                  {"best_us", least_us},
                  {"last_to_best", last_us / least_us}};
    const auto within = best.find(shape);
    if (within != best.end()) entry["best_in_iteration"] = to_string(within->second);
    result.push_back(std::move(entry));
  }
  return result;
}

/// Describes how long an iteration of the model takes, for rank 0 and without noise.
Json describe_iteration(const Options& options, const CostModel& model,
                        const std::map<Shape, Ran>& ran, const Settings& best) {
  Settings settings = default_settings(options, model);
  const double default_us = iteration_us(options, model, settings);
  const double best_us = iteration_us(options, model, best);
  for (auto& [shape, choice] : settings) {
    const auto found = ran.find(shape);
    if (found != ran.end()) choice = found->second.last;
  }
  const double last_us = iteration_us(options, model, settings);
  return {{"default_us", default_us},
          {"best_us", best_us},
          {"last_us", last_us},
          {"last_to_best", last_us / best_us},
          {"last_to_default", last_us / default_us}};
}

/// Returns the ranks that gave up since another one died.
std::vector<int> aborted_ranks(const SharedRun& shared, const Options& options) {
  std::vector<int> ranks;
  for (int rank = 0; rank < options.ranks; ++rank) {
    if (shared.records[rank].end == RankRecord::End::aborted) ranks.push_back(rank);
  }
  return ranks;
}

/// Returns the ranks that ended, or were killed, within getCollInfo.
std::vector<int> ranks_in_tuner(const SharedRun& shared, const Options& options) {
  std::vector<int> ranks;
  for (int rank = 0; rank < options.ranks; ++rank) {
    if (shared.records[rank].is_deciding) ranks.push_back(rank);
  }
  return ranks;
}

std::uint64_t violations(const SharedRun& shared, const Options& options, int kind) {
  std::uint64_t count = 0;
  for (int rank = 0; rank < options.ranks; ++rank) {
    count += shared.records[rank].violations[kind];
  }
  return count;
}

std::uint64_t violations(const SharedRun& shared, const Options& options) {
  std::uint64_t count = 0;
  for (int kind = 0; kind < static_cast<int>(Violation::count); ++kind) {
    count += violations(shared, options, kind);
  }
  return count;
}

}  // namespace

int status_of(const SharedRun& shared, const Options& options, const RunEnd& end) {
  if (shared.state->mismatches > 0) return kMismatch;
  if (end.exceeded_limit) return kLimitExceeded;
  if (!end.dead.empty()) return kRankDied;
  return violations(shared, options) > 0 ? kViolation : kFine;
}

std::string describe(const SharedRun& shared, const Options& options, const RunEnd& end) {
  const CostModel model(options.model);
  const RankRecord& first = shared.records[0];
  const auto total = [&](auto member) {
    std::uint64_t sum = 0;
    for (int rank = 0; rank < options.ranks; ++rank) sum += shared.records[rank].*member;
    return sum;
  };
  // Too large for the stack of a thread; the arena's memory is not freed before the end.
  Histogram& decision = *shared.arena->make<Histogram>();
  Histogram& profiler = *shared.arena->make<Histogram>();
  Json counts = Json::object(), faults = Json::array();
  for (int rank = 0; rank < options.ranks; ++rank) {
    decision.add(shared.records[rank].decision);
    profiler.add(shared.records[rank].profiler_call);
  }
  for (int kind = 0; kind < static_cast<int>(Violation::count); ++kind) {
    const std::uint64_t count = violations(shared, options, kind);
    if (count > 0) counts[name_of(static_cast<Violation>(kind))] = count;
  }
  for (const Fault& fault : options.faults) faults.push_back(to_string(fault));

  Json result = {{"status", status_of(shared, options, end)},
                 {"ranks", options.ranks},
                 {"nodes", options.nodes},
                 {"workload", options.workload_name},
                 {"tuner_version", first.tuner_version.load()},
                 {"profiler_version", first.profiler_version.load()},
                 {"mismatches", shared.state->mismatches.load()},
                 {"violations", violations(shared, options)},
                 {"violation_kinds", counts},
                 {"dead", end.dead},
                 {"aborted", aborted_ranks(shared, options)},
                 {"exceeded_limit", end.exceeded_limit},
                 {"deciding", ranks_in_tuner(shared, options)},
                 {"faults", faults},
                 {"wall_s", end.wall_s},
                 {"decisions", total(&RankRecord::decisions)},
                 {"calls", total(&RankRecord::tuner_calls)},
                 {"simulated", total(&RankRecord::simulated)},
                 {"replayed", total(&RankRecord::replayed)},
                 {"collectives", shared.state->collectives.load()},
                 {"first_uses", total(&RankRecord::first_uses)},
                 {"switches", total(&RankRecord::switches)},
                 {"iterations", first.iterations.load()},
                 {"iteration_us", medians(shared.iteration_us, first.iterations)},
                 {"iteration_real_us", medians(shared.iteration_real_us, first.iterations)},
                 {"decision", describe(decision)},
                 {"profiler_call", describe(profiler)}};
  if (options.details) {
    const auto ran = what_ran(shared, options);
    const Settings best = best_settings(options, model);
    result["model_iteration"] = describe_iteration(options, model, ran, best);
    result["unrecorded"] = total(&RankRecord::unrecorded);
    result["settings"] = describe_collectives(ran, model, best);
  }
  return result.dump();
}

void print_findings(const SharedRun& shared, const Options& options) {
  for (int i = 0; i < shared.violations->lines; ++i) {
    std::fprintf(stderr, "nccl_host: violation: %s\n", shared.violations->text[i]);
  }
  for (int i = 0; i < shared.state->kept_mismatches; ++i) {
    const Mismatch& mismatch = shared.state->kept[i];
    std::string text = "group " + std::to_string(mismatch.communicator);
    for (int side = 0; side < 2; ++side) {
      const Arrival& arrival = mismatch.arrivals[side];
      text += side == 0 ? ": rank " : ", but rank ";
      text += std::to_string(mismatch.ranks[side]) + " runs collective " +
              std::to_string(arrival.sequence) + ", " + function_name(arrival.shape.function) +
              " of " + std::to_string(arrival.shape.bytes) + " bytes, as " +
              to_string(arrival.choice);
    }
    std::fprintf(stderr, "nccl_host: mismatch: %s\n", text.c_str());
  }
  const std::uint64_t all = shared.state->mismatches;
  if (all > 0) std::fprintf(stderr, "nccl_host: %lu mismatches on %d ranks\n", all, options.ranks);
}

}  // namespace hocket::nccl_host
