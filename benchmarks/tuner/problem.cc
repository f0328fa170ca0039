#include "benchmarks/tuner/problem.h"

#include <algorithm>
#include <cmath>

#include "core/base/statistics.h"
#include "tuner/table/table_replay.h"

namespace hocket {
namespace {

constexpr double kClose = 0.02;

/// Returns the FNV-1a hash of `name`.
std::uint64_t seed_of(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

double Problem::regret(const Params& params) const {
  const auto it = truth.find(params);
  return (it == truth.end() ? worst : it->second) / least - 1;
}

Result<Problem> make_problem(std::string name, RecordedTable table,
                             const std::optional<RecordedTable>& truth) {
  Problem problem{std::move(name), std::move(table), {}, 0, 0, {}};
  (truth ? *truth : problem.table)
      .for_each([&](const Params& params, const RecordedTable::Measurements& measurements) {
        if (const auto value = mean_value(measurements)) problem.truth[params] = *value;
      });
  const auto invalid = [&](const std::string& message) {
    return failure(ErrorCode::invalid_argument, problem.name + ": " + message);
  };
  bool is_whole = true;
  problem.table.for_each([&](const Params& params, const RecordedTable::Measurements& values) {
    is_whole = is_whole && (!mean_value(values) || problem.truth.contains(params));
  });
  if (!is_whole) return invalid("the truth lacks a setting that was recorded");
  if (problem.truth.empty()) return invalid("every trial failed");
  const auto [least, worst] =
      std::minmax_element(problem.truth.begin(), problem.truth.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  problem.least = least->second;
  problem.worst = worst->second;
  if (problem.least <= 0) return invalid("regret is relative, so values must be above 0");
  return problem;
}

Result<std::vector<Checkpoint>> measure(const Problem& problem, SearchOptions options,
                                        std::size_t seeds, std::size_t trials) {
  std::vector<std::size_t> counts;
  for (const std::size_t count : kCheckpoints) {
    if (count <= trials) counts.push_back(count);
  }
  std::vector<std::vector<double>> regrets(counts.size());
  for (std::size_t i = 0; i < seeds; ++i) {
    options.seed = seed_of(problem.name) + i;
    const auto search = make_search(problem.table.space(), options);
    if (!search) return failure(search.error().in(problem.name));
    const auto replayed = replay_table(problem.table, **search, trials, options.seed);
    if (!replayed) return failure(replayed.error().in(problem.name));
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const std::size_t last = std::min(counts[k], replayed->size()) - 1;
      regrets[k].push_back(problem.regret((*replayed)[last].recommended));
    }
  }
  std::vector<Checkpoint> checkpoints;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const auto n = static_cast<double>(seeds);
    const auto close = std::count_if(regrets[k].begin(), regrets[k].end(),
                                     [](double regret) { return regret <= kClose; });
    checkpoints.push_back({counts[k], mean(regrets[k]),
                           standard_deviation(regrets[k]) / std::sqrt(n),
                           static_cast<double>(close) / n});
  }
  return checkpoints;
}

}  // namespace hocket
