#include "core/host/gloo_ring.h"

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace hocket {
namespace {

// Beyond the 48 bits that Gloo's own collectives use for their slots.
constexpr int kRingSlotBits = 48;
constexpr std::uint64_t kIndexBits = 32;

/// Returns the slot of a part: two ranks may be neighbours in several groups, each of which counts
/// its parts by itself, and count the messages between them by themselves.
std::uint64_t slot_of(const CollectiveWork& work) {
  constexpr std::uint64_t all_axes = (1U << kMostAxes) - 1;
  const std::uint64_t group = (work.group.axes.bits() & all_axes) * kGroupTiers.size() +
                              static_cast<std::uint64_t>(work.group.tier);
  const bool is_pair = work.kind == CollectiveKind::send || work.kind == CollectiveKind::receive;
  const std::uint64_t index = work.index & ((std::uint64_t{1} << kIndexBits) - 1);
  return (1 + group) << kRingSlotBits | std::uint64_t{is_pair} << kIndexBits | index;
}

/// Maximum values of a segment. Pieces travel in segments, so that one is summed while the next
/// arrives; each costs a few wake-ups (collectives_benchmark: halving the size costs a tenth of the
/// time).
constexpr std::size_t kSegmentValues = 128 << 10;
/// Maximum segments received concurrently for reduction.
constexpr std::size_t kArriving = 2;

using UnboundBuffer = gloo::transport::UnboundBuffer;

/// A ring over the values of all members' pieces, each of which is contiguous. Sends come before
/// receives: a message that the peer already waits for is written by the calling thread, under a
/// lock on which Gloo's own thread spins; on busy cores that costs time slices.
class Ring {
 public:
  /// `rank_of(member)` is the rank of each of the members, of which `own` is this one.
  Ring(gloo::Context& context, std::size_t members, std::size_t own, const auto& rank_of,
       std::uint64_t slot, std::chrono::milliseconds timeout, std::span<float> values,
       RingScratch& scratch)
      : context_(context),
        members_(members),
        own_(own),
        next_(static_cast<int>(rank_of((own + 1) % members))),
        before_(static_cast<int>(rank_of((own + members - 1) % members))),
        slot_(slot),
        timeout_(timeout),
        values_(values),
        scratch_(scratch),
        buffer_(context.createUnboundBuffer(values.data(), values.size_bytes())) {}

  void reduce_scatter() {
    scratch_.received.resize(kArriving * kSegmentValues);
    const auto received = context_.createUnboundBuffer(scratch_.received.data(),
                                                       scratch_.received.size() * sizeof(float));
    const std::size_t forwarded = list_arriving(2);
    const auto& arriving = scratch_.segments;
    const auto receive = [&](std::size_t i) {
      received->recv(before_, slot_, i % kArriving * kSegmentValues * sizeof(float),
                     arriving[i].size() * sizeof(float));
    };
    send_piece(own_ + members_ - 1);
    for (std::size_t i = 0; i < std::min(kArriving, arriving.size()); ++i) receive(i);
    for (std::size_t i = 0; i < arriving.size(); ++i) {
      received->waitRecv(timeout_);
      const float* from = scratch_.received.data() + i % kArriving * kSegmentValues;
      const std::span<float> sums = values_.subspan(arriving[i].begin, arriving[i].size());
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += from[k];
      if (i + kArriving < arriving.size()) receive(i + kArriving);
      if (i < forwarded) send(arriving[i]);
    }
    finish_sends();
  }

  void all_gather() {
    const std::size_t forwarded = list_arriving(1);
    const auto& arriving = scratch_.segments;
    send_piece(own_);
    for (const ValueRange& segment : arriving)
      buffer_->recv(before_, slot_, segment.begin * sizeof(float), segment.size() * sizeof(float));
    for (std::size_t i = 0; i < arriving.size(); ++i) {
      buffer_->waitRecv(timeout_);
      if (i < forwarded) send(arriving[i]);
    }
    finish_sends();
  }

 private:
  /// Lists the arriving segments in order: those of the piece `behind` places before this member's,
  /// of the piece before that, and so on. Returns how many of them, from the first, are to be
  /// forwarded: all except those of the last piece.
  std::size_t list_arriving(std::size_t behind) {
    scratch_.segments.clear();
    std::size_t forwarded = 0;
    for (std::size_t step = 0; step + 1 < members_; ++step) {
      forwarded = scratch_.segments.size();
      for_each_segment(own_ + 2 * members_ - behind - step,
                       [this](const ValueRange& segment) { scratch_.segments.push_back(segment); });
    }
    return forwarded;
  }

  void for_each_segment(std::size_t member, const auto& visit) {
    const ValueRange piece = scratch_.pieces[member % members_];
    for (std::size_t begin = piece.begin; begin < piece.end; begin += kSegmentValues)
      visit(ValueRange{begin, std::min(begin + kSegmentValues, piece.end)});
  }

  void send_piece(std::size_t member) {
    for_each_segment(member, [this](const ValueRange& segment) { send(segment); });
  }

  void send(const ValueRange& segment) {
    buffer_->send(next_, slot_, segment.begin * sizeof(float), segment.size() * sizeof(float));
    ++sends_;
  }

  void finish_sends() {
    for (; sends_ > 0; --sends_) buffer_->waitSend(timeout_);
  }

  gloo::Context& context_;
  const std::size_t members_, own_;
  const int next_, before_;  // ranks
  const std::uint64_t slot_;
  const std::chrono::milliseconds timeout_;
  const std::span<float> values_;
  RingScratch& scratch_;
  const std::unique_ptr<UnboundBuffer> buffer_;
  std::size_t sends_ = 0;
};

/// Calls `copy(range in the values, offset in the packed values)` for each range of `member`.
void for_each_packed(const CollectiveBlocks& blocks, const RingScratch& scratch, std::size_t member,
                     const auto& copy) {
  std::size_t place = scratch.pieces[member].begin;
  for (const ValueRange& range : blocks.piece(member)) {
    copy(range, place);
    place += range.size();
  }
}

/// Returns whether the ring reads the values of a member; `own` says that it is this rank.
/// is_written() returns whether the ring's changes to them are results.
bool is_read(CollectiveKind kind, bool own) {
  return kind != CollectiveKind::all_gather || own;
}
bool is_written(CollectiveKind kind, bool own) {
  return kind == CollectiveKind::all_reduce || (kind == CollectiveKind::reduce_scatter) == own;
}

}  // namespace

void run_ring(gloo::Context& context, const CollectiveWork& work, const CollectiveBlocks& blocks,
              std::chrono::milliseconds timeout, RingScratch& scratch) {
  const bool packs = blocks.piece(0).size() > 1;
  std::size_t place = 0;
  scratch.pieces.clear();
  for (std::size_t member = 0; member < blocks.members(); ++member) {
    const std::size_t size = blocks.piece_size(member);
    scratch.pieces.push_back(packs ? ValueRange{place, place + size} : blocks.piece(member)[0]);
    place += size;
  }
  if (packs) scratch.packed.resize(place);
  for (std::size_t member = 0; packs && member < blocks.members(); ++member) {
    if (!is_read(work.kind, member == blocks.own())) continue;
    for_each_packed(blocks, scratch, member, [&](const ValueRange& range, std::size_t at) {
      std::ranges::copy(work.values.subspan(range.begin, range.size()),
                        scratch.packed.begin() + static_cast<std::ptrdiff_t>(at));
    });
  }
  const auto rank_of = [&](std::size_t member) { return blocks.rank_of(member); };
  Ring ring(context, blocks.members(), blocks.own(), rank_of, slot_of(work), timeout,
            packs ? std::span(scratch.packed) : work.values, scratch);
  if (work.kind != CollectiveKind::all_gather) ring.reduce_scatter();
  if (work.kind != CollectiveKind::reduce_scatter) ring.all_gather();
  for (std::size_t member = 0; packs && member < blocks.members(); ++member) {
    if (!is_written(work.kind, member == blocks.own())) continue;
    for_each_packed(blocks, scratch, member, [&](const ValueRange& range, std::size_t at) {
      std::copy_n(scratch.packed.begin() + static_cast<std::ptrdiff_t>(at), range.size(),
                  work.values.begin() + static_cast<std::ptrdiff_t>(range.begin));
    });
  }
}

void run_message(gloo::Context& context, const CollectiveWork& work,
                 std::span<const std::int64_t> ranks, std::size_t own,
                 std::chrono::milliseconds timeout, RingScratch& scratch) {
  const std::uint64_t slot = slot_of(work);
  const auto rank_of = [&](std::size_t member) { return static_cast<int>(ranks[member]); };
  if (work.kind == CollectiveKind::broadcast) {
    // An all-gather to which the root alone adds a piece.
    scratch.pieces.assign(ranks.size(), {});
    scratch.pieces[work.peer] = {0, work.values.size()};
    Ring(context, ranks.size(), own, rank_of, slot, timeout, work.values, scratch).all_gather();
    return;
  }
  const auto values = context.createUnboundBuffer(work.values.data(), work.values.size_bytes());
  if (work.kind == CollectiveKind::send) {
    values->send(rank_of(work.peer), slot);
    values->waitSend(timeout);
    return;
  }
  if (work.kind == CollectiveKind::receive) {
    values->recv(rank_of(work.peer), slot);
    values->waitRecv(timeout);
    return;
  }
  const auto received =
      context.createUnboundBuffer(work.received.data(), work.received.size_bytes());
  std::vector<std::size_t> sent_at(ranks.size()), received_at(ranks.size());
  std::exclusive_scan(work.sent_counts.begin(), work.sent_counts.end(), sent_at.begin(),
                      std::size_t{0});
  std::exclusive_scan(work.received_counts.begin(), work.received_counts.end(), received_at.begin(),
                      std::size_t{0});
  std::ranges::copy(work.values.subspan(sent_at[own], work.sent_counts[own]),
                    work.received.begin() + static_cast<std::ptrdiff_t>(received_at[own]));
  std::size_t sends = 0, receives = 0;
  // Each round every member sends to another one, and receives from another one.
  for (std::size_t round = 1; round < ranks.size(); ++round) {
    const std::size_t to = (own + round) % ranks.size();
    const std::size_t from = (own + ranks.size() - round) % ranks.size();
    if (const std::size_t count = work.received_counts[from]; count > 0) {
      received->recv(rank_of(from), slot, received_at[from] * sizeof(float), count * sizeof(float));
      ++receives;
    }
    if (const std::size_t count = work.sent_counts[to]; count > 0) {
      values->send(rank_of(to), slot, sent_at[to] * sizeof(float), count * sizeof(float));
      ++sends;
    }
  }
  for (; receives > 0; --receives) received->waitRecv(timeout);
  for (; sends > 0; --sends) values->waitSend(timeout);
}

}  // namespace hocket
