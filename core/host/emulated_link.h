#pragma once

// A Collective that emulates a slower link than the real one, for machines without a second host.
// Results measured through it must be reported as those of an emulated link. Thread-safe as the
// Collective that it wraps.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/collective/collective.h"
#include "core/host/emulation/link_flows.h"
#include "core/step/link.h"

namespace hocket {

/// Emulates the links of the simulator (core/programs/job_fold.h): each host has one to the
/// network, each rank one to the others on its host, both with a way out and a way in. On a single
/// host each rank has one to the network as well, which all groups but those `inside` use.
///
/// A part does its real transfer, and is then a flow over the links of its ranks: those to the
/// network if they are on several hosts, those inside otherwise. What is on a link shares it
/// max-min fairly. The flow of a ring begins when the first of its ranks has done its transfer,
/// since by then all have begun theirs; other flows begin with the last one's. Of n ranks a ring
/// has (n−1)/n of the bytes and n−1 rounds for a reduce-scatter, an all-gather or an all-to-all,
/// and twice that for an all-reduce; a broadcast has all bytes in n−1 rounds, a message in one, as
/// has a shift, which uses a host's link as often as it has ranks that send to another host.
/// When the flow has left the links, each round adds the latency.
///
/// Ranks on one machine share the links if shared() makes this object on all of them. Otherwise a
/// rank has links of its own: it shares its host's with itself alone, and each part counts as often
/// there as the host has groups of its kind, as if these did the same at the same time.
class EmulatedLink final : public Collective {
 public:
  /// Emulates links of this rank's own. `inside` is the link between ranks of one host; absent: it
  /// costs no time. `link` and `clock` must outlive this object.
  EmulatedLink(Collective& link, const LinkSpec& spec, const Clock& clock,
               const std::optional<LinkSpec>& inside = std::nullopt)
      : EmulatedLink(link, spec, clock, inside, std::nullopt) {}

  /// The same with links that all ranks share if they are on one machine. Every rank must call it,
  /// with the same links, when it has no other call of `link` under way; `clock` is the machine's.
  static Result<std::unique_ptr<EmulatedLink>> shared(
      Collective& link, const LinkSpec& spec, const Clock& clock,
      const std::optional<LinkSpec>& inside = std::nullopt);

  /// The same with these links, whose shape is shape(), or with the rank's own.
  EmulatedLink(Collective& link, const LinkSpec& spec, const Clock& clock,
               const std::optional<LinkSpec>& inside, std::optional<LinkFlows> flows);
  static LinkFlows::Shape shape(const RankGrid& grid, const LinkSpec& spec,
                                const std::optional<LinkSpec>& inside);

  /// Returns whether all ranks share the links.
  bool is_shared() const { return is_shared_; }

  int rank() const override { return link_.rank(); }
  const Mesh& mesh() const override { return link_.mesh(); }
  Result<void> run(const CollectiveWork& work) override;
  Result<void> tell(std::string_view message) override { return link_.tell(message); }
  /// Messages of rank 0 are delayed by one latency.
  Result<std::string> hear() override;
  std::int64_t timeout_ns() const override { return link_.timeout_ns(); }
  void abort() override;

 private:
  /// The bytes, rounds and ranks of a work, for the links.
  struct Load {
    LinkFlows::PartName name;
    std::vector<std::int64_t> ranks;  ///< that take part; of a message its sender, its receiver
    double bytes = 0;
    std::int64_t rounds = 0;  ///< 0: it costs nothing
    double times = 1;         ///< how often the bytes leave a host or rank
    bool is_ring = false;
    bool is_message = false;
    bool is_inside = false;
  };

  Result<Load> load_of(const CollectiveWork& work) const;
  Result<Load> load_of_message(const CollectiveWork& work) const;
  /// Returns the number of the link out of a rank or its host; the way in is the next one.
  std::uint32_t way_out(std::int64_t of_rank, bool is_inside) const;
  std::vector<SharedFlows::Use> uses_of(const Load& load, CollectiveGroup group) const;
  /// Blocks until the flow has left its links and the latency of all rounds has passed.
  Result<void> carry(const Load& load, CollectiveGroup group);

  Collective& link_;
  const LinkSpec network_;
  const std::optional<LinkSpec> inside_;
  const Clock& clock_;
  const bool is_shared_;
  LinkFlows flows_;
  std::atomic<bool> aborted_ = false;
};

}  // namespace hocket
