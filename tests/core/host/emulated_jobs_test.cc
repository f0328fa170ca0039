// Random jobs on emulated links that their ranks share, against the simulator's prediction of the
// same job. Real transfers take the time that parts take in the simulation before they are on the
// links. Links have no latency: it holds a channel in the emulation and not in the simulation.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/sim/part_cost.h"
#include "core/sim/simulator.h"
#include "tests/core/host/emulated_ranks.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

constexpr LinkSpec kJobNetwork{.bytes_per_second = 1e9, .latency_ns = 0};
// A rank does not look at a part every microsecond until all have joined it, so parts are longer.
constexpr std::size_t kLeastValues = 30'000;
constexpr LinkSpec kJobInside{.bytes_per_second = 3e9, .latency_ns = 0};

/// A rank computes, then it takes part in a communication.
struct RankTurn {
  std::int64_t computes_ns = 0;
  CollectiveWork work;
};

class EmulatedJob {
 public:
  explicit EmulatedJob(std::uint64_t seed) : random_(seed) {
    const std::int64_t sizes[] = {1 + below(4), 1 + below(2), 1 + below(2)};
    ranks_ = sizes[0] * sizes[1] * sizes[2];
    const std::int64_t per_host[] = {1, sizes[2], sizes[1] * sizes[2]};
    grid_ = {ranks_, per_host[below(3)]};
    axes_ = {{"pipeline", sizes[0]}, {"data", sizes[1]}, {"tensor", sizes[2]}};
    mesh_.emplace(Mesh::make(axes_, grid_).value());
    channels_ = 1 + static_cast<int>(below(4));
    turns_.resize(static_cast<std::size_t>(ranks_));
    buffer_.resize(300'000);
    const std::int64_t count = 2 + below(12);
    for (std::uint64_t index = 0; index < static_cast<std::uint64_t>(count); ++index) add(index);
    // The next iteration of the simulated job begins after it on every rank.
    for (std::int64_t rank = 0; rank < ranks_; ++rank)
      add_to(rank, 0, {.values = std::span(buffer_).first(kLeastValues), .index = 99});
  }

  bool is_wanted() const { return ranks_ <= 8 && grid_.hosts() >= 2 && grid_.hosts() <= 4; }

  /// Returns when the parts end on each rank, in order of time.
  std::vector<std::vector<std::int64_t>> emulated() const {
    EmulatedRanks ranks(*mesh_, kJobNetwork, kJobInside);
    const StepDescription step = described();
    ranks.transfer_ns = [&](const CollectiveWork& work, int rank) {
      const auto bytes = static_cast<std::int64_t>(work.values.size_bytes());
      const bool crosses =
          grid_.host_of(rank) != grid_.host_of(static_cast<std::int64_t>(work.peer));
      if (is_message(work.kind)) return std::llround(message_cost(step, crosses).alpha_ns);
      if (work.kind == CollectiveKind::shift)
        return std::llround(shift_cost_alone(step, task_of(work)).alpha_ns);
      return std::llround(part_cost_alone(step, work.kind, work.group, bytes).alpha_ns);
    };
    const auto count = static_cast<std::size_t>(ranks_);
    std::vector<std::vector<std::int64_t>> ends(count);
    std::vector<std::size_t> next(count);
    std::vector<std::function<void()>> bodies;
    for (std::size_t rank = 0; rank < count; ++rank) {
      for (int channel = 0; channel < channels_; ++channel) {
        bodies.push_back([&, rank] {
          while (next[rank] < turns_[rank].size()) {
            const std::size_t own = next[rank]++;
            std::int64_t computed_ns = 0;
            for (std::size_t i = 0; i <= own; ++i) computed_ns += turns_[rank][i].computes_ns;
            ranks.clock.sleep_until_ns(computed_ns);
            // The last one is of what all others have left.
            if (own + 1 == turns_[rank].size())
              ranks.clock.wait_until([&] { return ends[rank].size() == own; });
            ASSERT_TRUE(ranks.rank(rank).run(turns_[rank][own].work));
            ends[rank].push_back(ranks.clock.now_ns());
          }
        });
      }
    }
    ranks.clock.run(bodies);
    for (auto& of_rank : ends) std::ranges::sort(of_rank);
    return ends;
  }

  std::vector<std::vector<std::int64_t>> simulated() const {
    ScheduleConfig config;
    config.partition_bytes = 1 << 30;
    config.credit_bytes = std::int64_t{16} << 30;
    config.comm_channels = channels_;
    config.order = CollectiveOrder::fifo;
    const StepDescription step = described();
    std::vector<std::vector<std::int64_t>> ends;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      Ends sink;
      const auto simulation =
          simulate(step, {.config = config, .iterations = 1, .trace = &sink, .watched_rank = rank});
      EXPECT_TRUE(simulation) << simulation.error().message;
      std::ranges::sort(sink.ends_ns);
      ends.push_back(sink.ends_ns);
    }
    return ends;
  }

 private:
  class Ends final : public TraceSink {
   public:
    void record(const TraceEvent& event) override {
      if (event.kind == TraceKind::communication && event.step == 0)
        ends_ns.push_back(event.end_ns);
    }
    std::vector<std::int64_t> ends_ns;
  };

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  void add_to(std::int64_t rank, std::int64_t computes_ns, const CollectiveWork& work) {
    turns_[static_cast<std::size_t>(rank)].push_back({computes_ns, work});
  }

  /// Adds a message or what some of the groups of a kind do, each with as many bytes as it likes.
  void add(std::uint64_t index) {
    CollectiveWork work;
    work.index = index;
    const auto some_values = [&] {
      const std::int64_t more = below(std::ssize(buffer_) - std::int64_t{kLeastValues});
      return std::span(buffer_).first(kLeastValues + static_cast<std::size_t>(more));
    };
    if (ranks_ > 1 && below(3) == 0) {
      const std::int64_t from = below(ranks_), to = (from + 1 + below(ranks_ - 1)) % ranks_;
      work.values = some_values();
      work.kind = CollectiveKind::send;
      work.peer = static_cast<std::size_t>(to);
      add_to(from, below(200'000), work);
      work.kind = CollectiveKind::receive;
      work.peer = static_cast<std::size_t>(from);
      add_to(to, below(200'000), work);
      return;
    }
    constexpr CollectiveKind kKinds[] = {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                         CollectiveKind::reduce_scatter, CollectiveKind::shift};
    work.kind = kKinds[below(4)];
    const auto axis = static_cast<std::size_t>(below(4));
    if (axis < 3) work.group.axes = AxisSet::of(axis);
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      const auto members = mesh_->ranks_of(work.group, rank);
      if (members.front() != rank || below(4) == 0) continue;
      work.values = some_values();
      if (work.kind == CollectiveKind::shift) {
        work.received = work.values;
        work.peer = static_cast<std::size_t>(below(std::ssize(members)));
      }
      for (const std::int64_t member : members) add_to(member, below(200'000), work);
    }
  }

  StepDescription described() const {
    StepDescription step;
    step.ranks = ranks_;
    step.ranks_per_host = grid_.ranks_per_host;
    step.mesh = axes_;
    step.channel_split = 0;
    step.cluster = Cluster{kJobInside, kJobNetwork, CollectiveAlgorithm::ring};
    for (std::int64_t rank = 0; rank < ranks_; ++rank) step.programs.push_back(program_of(rank));
    return step;
  }

  static StepTask task_of(const CollectiveWork& work) {
    StepTask task;
    task.collective = work.kind;
    task.bytes = static_cast<std::int64_t>(work.values.size_bytes());
    task.group = work.group;
    if (is_message(work.kind) || work.kind == CollectiveKind::shift)
      task.peer = MessagePeer{static_cast<std::int64_t>(work.peer), !is_message(work.kind)};
    return task;
  }

  RankProgram program_of(std::int64_t rank) const {
    RankProgram program;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis)
      program.at.push_back({axes_[axis].name, {mesh_->index_in(AxisSet::of(axis), rank)}});
    const auto& turns = turns_[static_cast<std::size_t>(rank)];
    std::vector<Access> all;
    for (const RankTurn& turn : turns) {
      const Access access = update({static_cast<std::uint32_t>(program.data.size())});
      program.data.push_back(std::to_string(all.size()));
      all.push_back(access);
      StepTask compute;
      compute.duration_ns = turn.computes_ns;
      compute.accesses = {access};
      StepTask communication = task_of(turn.work);
      communication.accesses = {access};
      if (&turn == &turns.back()) communication.accesses = all;
      program.tasks.push_back(std::move(compute));
      program.tasks.push_back(std::move(communication));
    }
    return program;
  }

  mutable std::vector<float> buffer_;
  std::mt19937_64 random_;
  std::int64_t ranks_ = 1;
  RankGrid grid_;
  std::vector<MeshAxis> axes_;
  std::optional<Mesh> mesh_;
  int channels_ = 1;
  std::vector<std::vector<RankTurn>> turns_;
};

TEST(EmulatedJobs, EndTheirPartsWhenTheSimulatorSays) {
  std::uint64_t seen = 0;
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const EmulatedJob job(seed);
    if (!job.is_wanted()) continue;
    ++seen;
    const auto emulated = job.emulated(), simulated = job.simulated();
    for (std::size_t rank = 0; rank < emulated.size(); ++rank) {
      ASSERT_EQ(emulated[rank].size(), simulated[rank].size());
      for (std::size_t i = 0; i < emulated[rank].size(); ++i) {
        // Nearly all are equal. A part that others help may be seen to end too late.
        const auto expected = static_cast<double>(simulated[rank][i]);
        ASSERT_NEAR(static_cast<double>(emulated[rank][i]), expected, 20 + 2e-3 * expected)
            << "end " << i << " on rank " << rank;
      }
    }
  }
  EXPECT_GT(seen, rounds(100) / 4);
}

}  // namespace
}  // namespace hocket
