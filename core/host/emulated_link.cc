#include "core/host/emulated_link.h"

#include <algorithm>
#include <utility>

#include "core/collective/collective_blocks.h"

namespace hocket {
namespace {

// A rank that waits for others looks again after this share of the time that it has waited.
constexpr std::int64_t kLooksPerWait = 64;

/// Bytes of `values` values of a work.
double bytes_of(const CollectiveWork& work, std::size_t values) {
  return static_cast<double>(values * work.values.element_bytes());
}

}  // namespace

LinkFlows::Shape EmulatedLink::shape(const RankGrid& grid, const LinkSpec& spec,
                                     const std::optional<LinkSpec>& inside) {
  LinkFlows::Shape shape{.bytes_per_second = {}, .ranks = static_cast<std::size_t>(grid.ranks)};
  // Without a link inside nothing uses the first ones.
  shape.bytes_per_second.assign(static_cast<std::size_t>(2 * grid.ranks),
                                inside.value_or(spec).bytes_per_second);
  const std::int64_t ends = grid.hosts() > 1 ? grid.hosts() : grid.ranks;
  shape.bytes_per_second.insert(shape.bytes_per_second.end(), static_cast<std::size_t>(2 * ends),
                                spec.bytes_per_second);
  return shape;
}

std::uint32_t EmulatedLink::way_out(std::int64_t of_rank, bool is_inside) const {
  // The links of a rank's own are numbered as those of a single rank.
  const RankGrid all = is_shared_ ? grid() : RankGrid{};
  const std::int64_t of = is_shared_ ? of_rank : 0;
  const std::int64_t network_end = all.hosts() > 1 ? all.host_of(of) : of;
  return static_cast<std::uint32_t>(2 * (is_inside ? of : all.ranks + network_end));
}

EmulatedLink::EmulatedLink(Collective& link, const LinkSpec& spec, const Clock& clock,
                           const std::optional<LinkSpec>& inside, std::optional<LinkFlows> flows)
    : link_(link),
      network_(spec),
      inside_(inside),
      clock_(clock),
      is_shared_(flows.has_value()),
      flows_(flows ? std::move(*flows) : LinkFlows(shape(RankGrid{}, spec, inside))) {}

Result<std::unique_ptr<EmulatedLink>> EmulatedLink::shared(Collective& link, const LinkSpec& spec,
                                                           const Clock& clock,
                                                           const std::optional<LinkSpec>& inside) {
  if (link.world_size() == 1) return std::make_unique<EmulatedLink>(link, spec, clock, inside);
  auto flows = share_link_flows(link, shape(link.grid(), spec, inside));
  HOCKET_TRY(flows);
  return std::make_unique<EmulatedLink>(link, spec, clock, inside, std::move(*flows));
}

Result<void> EmulatedLink::run(const CollectiveWork& work) {
  const auto load = load_of(work);
  HOCKET_TRY(load);
  HOCKET_TRY(link_.run(work));
  if (load->rounds == 0 || (load->is_inside && !inside_)) return {};
  return carry(*load, work.group);
}

Result<EmulatedLink::Load> EmulatedLink::load_of(const CollectiveWork& work) const {
  if (has_no_blocks(work.kind)) return load_of_message(work);
  Load load;
  load.name = {work.group, work.index, mesh().first_rank(work.group, rank())};
  load.ranks = mesh().ranks_of(work.group, rank());
  const auto members = static_cast<std::int64_t>(load.ranks.size());
  load.rounds = (work.kind == CollectiveKind::all_reduce ? 2 : 1) * (members - 1);
  if (load.rounds == 0) return load;
  const CollectiveBlocks blocks(work, mesh(), rank());
  load.bytes = bytes_of(work, blocks.size()) * static_cast<double>(load.rounds) /
               static_cast<double>(members);
  load.is_ring = true;
  load.is_inside = work.group.tier == GroupTier::inside ||
                   (grid().hosts() > 1 && !mesh().crosses_hosts(work.group));
  return load;
}

Result<EmulatedLink::Load> EmulatedLink::load_of_message(const CollectiveWork& work) const {
  auto [ranks, own] = group_members(mesh(), work.group, rank());
  HOCKET_TRY(check_message(work, ranks.size(), own));
  Load load;
  load.name = {work.group, work.index, ranks.front()};
  load.rounds = std::ssize(ranks) - 1;
  load.bytes = bytes_of(work, work.values.size());
  if (work.kind == CollectiveKind::all_to_all) {
    std::size_t sent = 0;
    const auto ranges = exchanged_ranges(work, work.sent_counts);
    for (std::size_t to = 0; to < ranges.size(); ++to)
      if (to != own) sent += ranges[to].size();
    load.bytes = bytes_of(work, sent);
  } else if (work.kind == CollectiveKind::shift) {
    load.rounds = work.peer == 0 ? 0 : 1;
    if (grid().hosts() > 1 && mesh().crosses_hosts(work.group))
      load.times = static_cast<double>(
          mesh().shifted_off_host(work.group, static_cast<std::int64_t>(work.peer)));
  } else if (work.kind != CollectiveKind::broadcast) {
    load.is_message = true;
    load.rounds = 1;
    load.name.from = rank();
    load.name.to = ranks[work.peer];
    if (work.kind == CollectiveKind::receive) std::swap(load.name.from, load.name.to);
    ranks = {load.name.from, load.name.to};
  }
  const auto host = [this](std::int64_t of) { return grid().host_of(of); };
  const bool is_on_one_host = host(ranks.front()) == host(ranks.back());
  load.is_inside = work.group.tier == GroupTier::inside || (grid().hosts() > 1 && is_on_one_host);
  load.ranks = std::move(ranks);
  return load;
}

std::vector<SharedFlows::Use> EmulatedLink::uses_of(const Load& load, CollectiveGroup group) const {
  const auto link = [&](std::int64_t of) { return way_out(of, load.is_inside); };
  if (!is_shared_) {
    const auto alike = static_cast<double>(load.is_inside ? 1 : mesh().groups_on_host(group));
    const bool receives = load.is_message && load.name.to == rank();
    return {{link(rank()) + (receives ? 1 : 0), alike * load.times}};
  }
  if (load.is_message) return {{link(load.ranks[0]), 1}, {link(load.ranks[1]) + 1, 1}};
  std::vector<SharedFlows::Use> uses;
  for (const std::int64_t each : load.ranks) {
    // Ranks of a host are adjacent in a group, and share its link.
    if (!uses.empty() && uses.back().link == link(each) + 1) continue;
    uses.push_back({link(each), load.times});
    uses.push_back({link(each) + 1, load.times});
  }
  return uses;
}

Result<void> EmulatedLink::carry(const Load& load, CollectiveGroup group) {
  const auto uses = uses_of(load, group);
  const std::int64_t begin_ns = clock_.now_ns();
  const auto ticket =
      flows_.join({.name = load.name,
                   .bytes = load.bytes,
                   .members = static_cast<std::uint32_t>(is_shared_ ? load.ranks.size() : 1),
                   .has_met = load.is_ring,
                   .uses = uses},
                  begin_ns);
  HOCKET_TRY(ticket);
  const std::int64_t latency_ns = load.rounds * (load.is_inside ? *inside_ : network_).latency_ns;
  for (;;) {
    const std::int64_t now_ns = clock_.now_ns(), waited_ns = now_ns - begin_ns;
    auto [phase, next_ns] = flows_.look(*ticket, now_ns);
    if (phase == LinkFlows::Phase::ended) {
      clock_.sleep_until_ns(next_ns + latency_ns);
      return {};
    }
    if (aborted_) {
      flows_.leave(*ticket);
      return failure(ErrorCode::unavailable, "rank " + std::to_string(rank()) + " has aborted");
    }
    if (phase == LinkFlows::Phase::meeting) {
      if (waited_ns > timeout_ns()) {
        flows_.leave(*ticket);
        return failure(ErrorCode::timed_out,
                       "emulated links: another rank did not take part within " +
                           std::to_string(timeout_ns() / 1'000'000) + " ms");
      }
      next_ns =
          std::max(next_ns, now_ns + std::max(LinkFlows::kLeastWaitNs, waited_ns / kLooksPerWait));
    }
    // The latency has to pass in any case.
    clock_.sleep_until_ns(next_ns + latency_ns);
  }
}

void EmulatedLink::abort() {
  aborted_ = true;
  link_.abort();
}

Result<std::string> EmulatedLink::hear() {
  auto message = link_.hear();
  HOCKET_TRY(message);
  clock_.sleep_until_ns(clock_.now_ns() + network_.latency_ns);
  return message;
}

}  // namespace hocket
