#pragma once

// The ranks of a job behind emulated links that they share, for tests: threads of this process
// under a TurnClock. Each rank has mapped the links by itself, as processes do.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/collective/collective_blocks.h"
#include "core/host/emulated_link.h"
#include "tests/turn_clock.h"

namespace hocket {

class EmulatedRanks {
 public:
  /// A work that a rank begins at a time, on a thread of its own.
  struct Begun {
    int rank = 0;
    std::int64_t begin_ns = 0;
    CollectiveWork work;
  };
  /// When the real transfer of a sender ends.
  enum class Sends { when_received, at_once };

  EmulatedRanks(const Mesh& mesh, const LinkSpec& spec, const std::optional<LinkSpec>& inside,
                Sends sends = Sends::when_received)
      : mesh_(mesh), sends_(sends) {
    const auto shape = EmulatedLink::shape(mesh.grid(), spec, inside);
    auto made = LinkFlows::make(shape).value();
    const std::string name = made.name();
    for (int rank = 0; rank < mesh.grid().ranks; ++rank) {
      real_.push_back(std::make_unique<Real>(*this, rank));
      links_.push_back(std::make_unique<EmulatedLink>(
          *real_.back(), spec, clock, inside,
          rank == 0 ? std::move(made) : LinkFlows::open(name, shape).value()));
    }
  }

  EmulatedLink& rank(std::size_t rank) { return *links_[rank]; }
  /// Runs each on a thread of its own; returns when each had ended, −1 for a failure. Once.
  std::vector<std::int64_t> run(const std::vector<Begun>& all) {
    std::vector<std::int64_t> ends(all.size(), -1);
    std::vector<std::function<void()>> bodies;
    for (std::size_t i = 0; i < all.size(); ++i) {
      bodies.push_back([&, i] {
        clock.sleep_until_ns(all[i].begin_ns);
        if (rank(static_cast<std::size_t>(all[i].rank)).run(all[i].work)) ends[i] = clock.now_ns();
      });
    }
    clock.run(bodies);
    return ends;
  }

  TurnClock clock;
  /// Time of a real transfer; absent: none.
  std::function<std::int64_t(const CollectiveWork& work, int rank)> transfer_ns;

 private:
  using Key = std::tuple<CollectiveGroup, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;

  /// Meets the other ranks of a part as real transfers do.
  class Real final : public Collective {
   public:
    Real(EmulatedRanks& ranks, int rank) : ranks_(ranks), rank_(rank) {}

    int rank() const override { return rank_; }
    const Mesh& mesh() const override { return ranks_.mesh_; }
    std::int64_t timeout_ns() const override { return 1'000'000'000; }
    void abort() override {}
    Result<void> tell(std::string_view) override { return {}; }
    Result<std::string> hear() override { return ""; }
    Result<void> run(const CollectiveWork& work) override {
      const bool is_sent = work.kind == CollectiveKind::send;
      const bool is_pair = is_sent || work.kind == CollectiveKind::receive;
      const auto all = is_pair ? 2 : group_members(mesh(), work.group, rank_).ranks.size();
      std::size_t& arrived = ranks_.arrived_[ranks_.key(work, rank_)];
      ++arrived;
      if (is_sent && ranks_.sends_ == Sends::at_once) return {};
      ranks_.clock.wait_until([&] { return arrived >= all; });
      if (ranks_.transfer_ns)
        ranks_.clock.sleep_until_ns(ranks_.clock.now_ns() + ranks_.transfer_ns(work, rank_));
      return {};
    }

   private:
    EmulatedRanks& ranks_;
    const int rank_;
  };

  Key key(const CollectiveWork& work, int rank) const {
    const auto [ranks, own] = group_members(mesh_, work.group, rank);
    std::int64_t from = -1, to = -1;
    if (work.kind == CollectiveKind::send || work.kind == CollectiveKind::receive) {
      from = rank;
      to = ranks[work.peer];
      if (work.kind == CollectiveKind::receive) std::swap(from, to);
    }
    return {work.group, work.index, ranks.front(), from, to};
  }

  const Mesh mesh_;
  const Sends sends_;
  std::map<Key, std::size_t> arrived_;
  std::vector<std::unique_ptr<Real>> real_;
  std::vector<std::unique_ptr<EmulatedLink>> links_;
};

}  // namespace hocket
