// Compares what processes measure on emulated links that they share with what the simulator
// predicts for the same job, in one run.
//
//   bin/emulated_links_benchmark [--rounds N] [--link RATE[,LATENCY]]
//
// Four ranks, processes on two emulated hosts of two, with groups of ranks on both hosts ("data")
// and groups of the ranks of one ("tensor"); the link inside is four times as fast. In a round the
// ranks begin the works of a case at once. Prints for each work the median time on its first rank
// and the median ± half the interquartile range of its ratio to the prediction. The emulated link
// is slow, so that the real transfers take little of the time.

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/statistics.h"
#include "core/files/scratch_folder.h"
#include "core/host/emulated_link.h"
#include "core/host/gloo_collective.h"
#include "core/sim/simulator.h"

namespace hocket {
namespace {

constexpr int kRanks = 4, kRanksPerHost = 2;
constexpr double kBytes = 400'000;

const std::vector<MeshAxis>& axes() {
  static const std::vector<MeshAxis> all = {{"data", 2}, {"tensor", 2}};
  return all;
}

/// A collective of some ranks, or a message.
struct Work {
  const char* name;
  CollectiveKind kind;
  const char* group;
  std::vector<int> ranks;  ///< of a message its sender, then its receiver
  double bytes = kBytes;
};

struct Case {
  const char* name;
  std::vector<Work> works;
};

std::vector<Case> cases() {
  using enum CollectiveKind;
  const Work group_a{"group of ranks 0, 2", all_reduce, "data", {0, 2}};
  const Work group_b{"group of ranks 1, 3", all_reduce, "data", {1, 3}};
  Work large_a = group_a;
  large_a.bytes = 3 * kBytes;
  const Work message_a{"message 0 to 2", send, "world", {0, 2}};
  const Work message_b{"message 1 to 3", send, "world", {1, 3}};
  const Work back{"message 3 to 1", send, "world", {3, 1}};
  const Work inside{"group of ranks 0, 1", all_reduce, "tensor", {0, 1}};
  return {{"a group alone", {group_a}},
          {"two groups", {group_a, group_b}},
          {"two groups, one with three times the bytes", {large_a, group_b}},
          {"a group beside a message", {group_a, message_b}},
          {"two messages out of a host", {message_a, message_b}},
          {"two messages both ways", {message_a, back}},
          {"groups between and inside", {group_a, group_b, inside}},
          {"all ranks beside a message", {{"all ranks", all_reduce, "world", {0, 1, 2, 3}}, back}}};
}

bool is_receiver(const Work& work, int rank) {
  return work.kind == CollectiveKind::send && work.ranks[1] == rank;
}

/// Returns the kind that a rank of the work is asked for.
CollectiveKind kind_on(const Work& work, int rank) {
  return is_receiver(work, rank) ? CollectiveKind::receive : work.kind;
}
int peer_of(const Work& work, int rank) {
  return work.ranks[is_receiver(work, rank) ? 0 : 1];
}
bool has(const Work& work, int rank) {
  return std::ranges::find(work.ranks, rank) != work.ranks.end();
}

class Times final : public TraceSink {
 public:
  void record(const TraceEvent& event) override {
    if (event.kind == TraceKind::communication && event.step == 0)
      ends_ns[std::string(event.name)] = event.end_ns;
  }
  std::map<std::string, std::int64_t> ends_ns;
};

/// Returns the predicted time of each work.
Result<std::vector<double>> predicted_ns(const Case& of, const LinkSpec& network,
                                         const LinkSpec& inside) {
  StepDescription step;
  step.ranks = kRanks;
  step.ranks_per_host = kRanksPerHost;
  step.mesh = axes();
  step.channel_split = 0;
  step.cluster = Cluster{inside, network, CollectiveAlgorithm::ring};
  const Mesh mesh = Mesh::make(axes(), {kRanks, kRanksPerHost}).value();
  for (int rank = 0; rank < kRanks; ++rank) {
    RankProgram& program = step.programs.emplace_back();
    for (std::size_t axis = 0; axis < axes().size(); ++axis)
      program.at.push_back({axes()[axis].name, {mesh.index_in(AxisSet::of(axis), rank)}});
    program.data = {"all"};
    StepTask compute;
    compute.accesses = {update({0})};
    program.tasks.push_back(compute);
    for (const Work& work : of.works) {
      if (!has(work, rank)) continue;
      StepTask task;
      task.name = work.name;
      task.collective = kind_on(work, rank);
      task.group = mesh.parse_group(work.group).value();
      task.bytes = static_cast<std::int64_t>(work.bytes);
      if (is_message(*task.collective)) task.peer = MessagePeer{peer_of(work, rank), false};
      task.accesses = {read({0})};
      program.tasks.push_back(std::move(task));
    }
    // No rank begins the next iteration while others are in this one.
    StepTask& end = program.tasks.emplace_back();
    end.name = "end";
    end.collective = CollectiveKind::all_reduce;
    end.bytes = sizeof(float);
    end.accesses = {update({0})};
  }
  ScheduleConfig config;
  config.partition_bytes = 1 << 30;
  config.credit_bytes = std::int64_t{16} << 30;
  config.comm_channels = 4;
  std::vector<double> times_ns;
  for (const Work& work : of.works) {
    Times times;
    HOCKET_TRY(simulate(
        step,
        {.config = config, .iterations = 1, .trace = &times, .watched_rank = work.ranks.front()}));
    times_ns.push_back(static_cast<double>(times.ends_ns[work.name]));
  }
  return times_ns;
}

/// Does the works of a case that this rank has, at once; returns its time of each, 0 of others.
Result<std::vector<float>> measure(const Case& of, Collective& sockets, Collective& links,
                                   std::uint64_t round) {
  const int rank = links.rank();
  std::vector<float> times_ns(of.works.size());
  std::vector<std::vector<float>> buffers(of.works.size());
  for (std::size_t i = 0; i < of.works.size(); ++i)
    buffers[i].resize(static_cast<std::size_t>(of.works[i].bytes) / sizeof(float));
  std::vector<Result<void>> results(of.works.size());
  std::vector<float> barrier(1);
  const SteadyClock clock;
  HOCKET_TRY(sockets.all_reduce(barrier, 0));
  const std::int64_t begin_ns = clock.now_ns();
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < of.works.size(); ++i) {
    const Work& work = of.works[i];
    if (!has(work, rank)) continue;
    threads.emplace_back([&, i] {
      CollectiveWork part;
      part.kind = kind_on(work, rank);
      part.group = links.mesh().parse_group(work.group).value();
      part.values = buffers[i];
      part.index = 1 + i + round * of.works.size();
      part.peer = is_message(part.kind) ? static_cast<std::size_t>(peer_of(work, rank)) : 0;
      results[i] = links.run(part);
      if (rank == work.ranks.front()) times_ns[i] = static_cast<float>(clock.now_ns() - begin_ns);
    });
  }
  threads.clear();
  for (const auto& result : results) HOCKET_TRY(result);
  HOCKET_TRY(sockets.all_reduce(times_ns, 0));
  return times_ns;
}

Result<void> run_rank(int rank, int rounds, const LinkSpec& network, const std::string& folder) {
  auto sockets = connect_gloo({.ranks = {.rank = rank,
                                         .world_size = kRanks,
                                         .rendezvous = "file:" + folder,
                                         .local_rank = rank,
                                         .ranks_per_host = kRanksPerHost},
                               .axes = axes()});
  HOCKET_TRY(sockets);
  const LinkSpec inside{4 * network.bytes_per_second, network.latency_ns};
  const SteadyClock clock;
  auto links = EmulatedLink::shared(**sockets, network, clock, inside);
  HOCKET_TRY(links);
  for (const Case& each : cases()) {
    const auto predicted = predicted_ns(each, network, inside);
    HOCKET_TRY(predicted);
    std::vector<std::vector<double>> times_ns(each.works.size()), ratios(each.works.size());
    for (int round = 0; round <= rounds; ++round) {
      const auto times = measure(each, **sockets, **links, static_cast<std::uint64_t>(round));
      HOCKET_TRY(times);
      if (round == 0) continue;
      for (std::size_t i = 0; i < times->size(); ++i) {
        times_ns[i].push_back(static_cast<double>((*times)[i]));
        ratios[i].push_back(times_ns[i].back() / (*predicted)[i]);
      }
    }
    if (rank != 0) continue;
    std::printf("%s\n", each.name);
    for (std::size_t i = 0; i < each.works.size(); ++i) {
      std::printf("  %-22s %7.1f ms   simulated %7.1f ms   ratio %.3f ± %.3f\n", each.works[i].name,
                  median(times_ns[i]) / 1e6, (*predicted)[i] / 1e6, median(ratios[i]),
                  spread(ratios[i]));
    }
    std::fflush(stdout);
  }
  return {};
}

int run(int rounds, const LinkSpec& network) {
  const auto folder = ScratchFolder::make();
  if (!folder) {
    std::fprintf(stderr, "emulated_links_benchmark: no folder\n");
    return 1;
  }
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(fork());
    if (ranks.back() != 0) continue;
    const auto result = run_rank(rank, rounds, network, folder->path());
    if (!result)
      std::fprintf(stderr, "emulated_links_benchmark: %s\n", result.error().message.c_str());
    _exit(result ? 0 : 1);
  }
  bool all_well = true;
  for (const pid_t pid : ranks) {
    int status = 0;
    all_well = waitpid(pid, &status, 0) == pid && status == 0 && all_well;
  }
  return all_well ? 0 : 1;
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  int rounds = 15;
  std::string link = "32mbit";
  CLI::App app("Emulated links that processes share against the simulator");
  app.add_option("--rounds", rounds)->capture_default_str()->check(CLI::Range(1, 10'000));
  app.add_option("--link", link, "between hosts, RATE[,LATENCY]")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto network = hocket::parse_link(link);
  if (!network) {
    std::fprintf(stderr, "emulated_links_benchmark: --link: %s\n", network.error().message.c_str());
    return 1;
  }
  return hocket::run(rounds, *network);
}
