// Compares ways of summing over ranks by Gloo on the loopback interface, in one run: Gloo's
// all-reduce, our ring's reduce-scatter and all-gather, a hierarchy through groups of two ranks,
// and all-reduces of as many values of 16 bits, which are half as many bytes.
//
//   bin/collectives_benchmark [--ranks N] [--rounds N] [--json]
//
// Ranks are processes. Every round times each way once, starting with another way each time. Prints
// for each way the median and the least time, which other programs have disturbed least, and the
// median ± half the interquartile range of each round's ratio to Gloo's all-reduce; with --json the
// measurements of each round.

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/measured_table.h"
#include "core/base/clock.h"
#include "core/base/statistics.h"
#include "core/files/scratch_folder.h"
#include "core/host/gloo_collective.h"

namespace hocket {
namespace {

struct Stage {
  CollectiveKind kind;
  CollectiveGroup group;
};

struct Way {
  std::string name;
  std::vector<Stage> stages;
  ElementType type = ElementType::float32;
  std::vector<double> times_ns = {};  ///< by round
};

std::vector<Way> ways_of(const RankGrid& grid) {
  using enum CollectiveKind;
  constexpr auto world = CollectiveGroup::world, inside = CollectiveGroup::inside,
                 between = CollectiveGroup::between;
  std::vector<Way> ways{
      {"gloo::allreduce", {{all_reduce, world}}},
      {"reduce-scatter + all-gather", {{reduce_scatter, world}, {all_gather, world}}}};
  if (grid.hosts() > 1 && grid.ranks_per_host > 1) {
    ways.push_back({"inside, between, inside",
                    {{reduce_scatter, inside}, {all_reduce, between}, {all_gather, inside}}});
  }
  ways.push_back({"bfloat16", {{all_reduce, world}}, ElementType::bfloat16});
  ways.push_back({"float16", {{all_reduce, world}}, ElementType::float16});
  return ways;
}

Result<void> time_once(Collective& collective, Way& way, std::span<float> values,
                       std::uint64_t& index) {
  const SteadyClock clock;
  float meet = 0;
  if (auto ok = collective.all_reduce({&meet, 1}, index++); !ok) return ok;
  const ValueSpan typed(values.data(), values.size(), way.type);
  const std::int64_t begin_ns = clock.now_ns();
  for (const Stage& stage : way.stages) {
    const auto ok = collective.run(
        {.kind = stage.kind, .group = stage.group, .values = typed, .index = index++});
    if (!ok) return ok;
  }
  way.times_ns.push_back(static_cast<double>(clock.now_ns() - begin_ns));
  return {};
}

void print(const std::vector<Way>& ways, std::size_t bytes) {
  const std::vector<double>& base = ways.front().times_ns;
  for (const Way& way : ways) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < base.size(); ++i) ratios.push_back(way.times_ns[i] / base[i]);
    std::printf("%3zu MiB  %-28s %7.2f ms, least %6.2f ms   %.2f ± %.2f of gloo::allreduce\n",
                bytes >> 20, way.name.c_str(), median(way.times_ns) / 1e6,
                *std::ranges::min_element(way.times_ns) / 1e6, median(ratios), spread(ratios));
  }
}

void add_to(MeasuredTable& table, const std::vector<Way>& ways, int ranks, std::size_t bytes) {
  const std::string size = std::to_string(ranks) + ", " + std::to_string(bytes >> 20) + " MiB";
  for (const Way& way : ways) {
    const std::vector<std::string> row = {size, way.name};
    table.add(row, "time, ms", in_unit(way.times_ns, 1e6));
    table.add(row, "minimum, ms", {*std::ranges::min_element(way.times_ns) / 1e6});
  }
}

struct Options {
  int ranks = 2, rounds = 101;
  bool json = false;
};

Result<void> run_rank(int rank, const Options& options, const std::string& folder) {
  const auto [ranks, rounds, json] = options;
  const int per_host = ranks % 2 == 0 ? 2 : 1;
  const auto collective = connect_gloo({.ranks = {.rank = rank,
                                                  .world_size = ranks,
                                                  .rendezvous = "file:" + folder,
                                                  .local_rank = rank % per_host,
                                                  .ranks_per_host = per_host}});
  HOCKET_TRY(collective);
  std::uint64_t index = 0;
  MeasuredTable table(
      "collectives-" + std::to_string(ranks), {"ranks, bytes", "method"},
      MeasuredPeer{
          .label = "gloo::allreduce", .column = "time, ms", .title = "over `gloo::allreduce`"});
  for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{16} << 20}) {
    std::vector<float> values(bytes / sizeof(float), 1e-30f);
    std::vector<Way> ways = ways_of((*collective)->grid());
    constexpr int kWarmup = 3;
    for (int round = 0; round < kWarmup + rounds; ++round) {
      for (std::size_t turn = 0; turn < ways.size(); ++turn) {
        Way& way = ways[(turn + static_cast<std::size_t>(round)) % ways.size()];
        if (auto ok = time_once(**collective, way, values, index); !ok) return ok;
        if (round < kWarmup) way.times_ns.clear();
      }
    }
    if (rank != 0) continue;
    json ? add_to(table, ways, ranks, bytes) : print(ways, bytes);
  }
  if (rank == 0 && json) table.print();
  return {};
}

/// Runs the ranks as child processes. Returns false when one has failed; it has printed why.
bool run(const Options& options) {
  const auto folder = ScratchFolder::make();
  if (!folder) {
    std::fprintf(stderr, "collectives_benchmark: %s\n", folder.error().message.c_str());
    return false;
  }
  if (!options.json) {
    std::printf("%d ranks on the loopback interface, %d rounds, medians\n", options.ranks,
                options.rounds);
  }
  std::fflush(stdout);
  std::vector<pid_t> pids;
  for (int rank = 0; rank < options.ranks; ++rank) {
    pids.push_back(fork());
    if (pids.back() != 0) continue;
    const auto ok = run_rank(rank, options, folder->path());
    if (!ok) std::fprintf(stderr, "collectives_benchmark: %s\n", ok.error().message.c_str());
    std::fflush(stdout);
    _exit(ok ? 0 : 1);
  }
  bool all_well = true;
  for (const pid_t pid : pids) {
    int status = 0;
    all_well = waitpid(pid, &status, 0) == pid && status == 0 && all_well;
  }
  return all_well;
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::Options options;
  CLI::App app("Collectives round our ring against Gloo's all-reduce");
  app.add_option("--ranks", options.ranks)->capture_default_str()->check(CLI::Range(2, 64));
  app.add_option("--rounds", options.rounds)->capture_default_str()->check(CLI::Range(1, 100'000));
  app.add_flag("--json", options.json, "Print measurements for benchmarks/table");
  CLI11_PARSE(app, argc, argv);
  return hocket::run(options) ? 0 : 1;
}
