#include "core/host/gloo_ring.h"

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <memory>

namespace hocket {
namespace {

// Beyond the 48 bits that Gloo's own collectives use for their slots.
constexpr int kRingSlotBits = 48;
constexpr std::uint64_t kIndexBits = 32;

/// Returns the slot of a part: two ranks may be neighbours in several groups, each of which counts
/// its parts by itself.
std::uint64_t slot_of(const CollectiveWork& work) {
  const std::uint64_t index = work.index & ((std::uint64_t{1} << kIndexBits) - 1);
  return (1 + group_number(work.group)) << kRingSlotBits | index;
}

/// Most values of a segment. Pieces travel in segments, so that one is summed while the next
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
       std::uint64_t slot, std::chrono::milliseconds timeout, ValueSpan values,
       RingScratch& scratch)
      : context_(context),
        members_(members),
        own_(own),
        next_(static_cast<int>(rank_of((own + 1) % members))),
        before_(static_cast<int>(rank_of((own + members - 1) % members))),
        slot_(slot),
        timeout_(timeout),
        values_(values),
        element_(values.element_bytes()),
        scratch_(scratch),
        buffer_(context.createUnboundBuffer(values.data(), values.size_bytes())) {}

  /// Requires float32.
  void reduce_scatter() {
    constexpr std::size_t kSegmentBytes = kSegmentValues * sizeof(float);
    scratch_.received.resize(kArriving * kSegmentBytes);
    const auto received =
        context_.createUnboundBuffer(scratch_.received.data(), scratch_.received.size());
    const std::size_t forwarded = list_arriving(2);
    const auto& arriving = scratch_.segments;
    const auto receive = [&](std::size_t i) {
      received->recv(before_, slot_, i % kArriving * kSegmentBytes,
                     arriving[i].size() * sizeof(float));
    };
    send_piece(own_ + members_ - 1);
    for (std::size_t i = 0; i < std::min(kArriving, arriving.size()); ++i) receive(i);
    for (std::size_t i = 0; i < arriving.size(); ++i) {
      received->waitRecv(timeout_);
      const auto* const from =
          reinterpret_cast<const float*>(scratch_.received.data() + i % kArriving * kSegmentBytes);
      const auto sums = values_.subspan(arriving[i].begin, arriving[i].size()).as<float>();
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
      buffer_->recv(before_, slot_, segment.begin * element_, segment.size() * element_);
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
    buffer_->send(next_, slot_, segment.begin * element_, segment.size() * element_);
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
  const ValueSpan values_;
  const std::size_t element_;  // bytes
  RingScratch& scratch_;
  const std::unique_ptr<UnboundBuffer> buffer_;
  std::size_t sends_ = 0;
};

/// Lets each member of a group add up its piece of `values`: the others send theirs to it. Blocks
/// until all have come and gone.
void add_up_at_owners(gloo::Context& context, const auto& rank_of, std::size_t own,
                      std::uint64_t slot, std::chrono::milliseconds timeout, ValueSpan values,
                      RingScratch& scratch) {
  const std::vector<ValueRange>& pieces = scratch.pieces;
  const std::size_t members = pieces.size(), element = values.element_bytes();
  const ValueSpan piece = values.subspan(pieces[own].begin, pieces[own].size());
  scratch.received.resize(std::max((members - 1) * piece.size_bytes(), std::size_t{1}));
  const auto received =
      context.createUnboundBuffer(scratch.received.data(), scratch.received.size());
  const auto sent = context.createUnboundBuffer(values.data(), values.size_bytes());
  std::vector<ValueSpan> summands;  // by member
  std::size_t receives = 0, sends = 0;
  for (std::size_t member = 0; member < members; ++member) {
    if (member == own) {
      summands.push_back(piece);
      continue;
    }
    const std::size_t offset = (summands.size() - (member > own ? 1 : 0)) * piece.size_bytes();
    summands.emplace_back(scratch.received.data() + offset, piece.size(), piece.type());
    if (piece.empty()) continue;
    received->recv(rank_of(member), slot, offset, piece.size_bytes());
    ++receives;
  }
  // Each member begins with the one behind it, so that no owner gets all its pieces at once.
  for (std::size_t behind = 1; behind < members; ++behind) {
    const std::size_t member = (own + behind) % members;
    if (pieces[member].size() == 0) continue;
    sent->send(rank_of(member), slot, pieces[member].begin * element,
               pieces[member].size() * element);
    ++sends;
  }
  for (; receives > 0; --receives) received->waitRecv(timeout);
  add_up(summands, piece);
  for (; sends > 0; --sends) sent->waitSend(timeout);
}

/// Calls `copy_range(range in the values, offset in the packed values)` for each range of `member`.
void for_each_packed(const CollectiveBlocks& blocks, const RingScratch& scratch, std::size_t member,
                     const auto& copy_range) {
  std::size_t place = scratch.pieces[member].begin;
  for (const ValueRange& range : blocks.piece(member)) {
    copy_range(range, place);
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

std::uint64_t group_number(const CollectiveGroup& group) {
  constexpr std::uint64_t all_axes = (1U << kMostAxes) - 1;
  return (group.axes.bits() & all_axes) * kGroupTiers.size() +
         static_cast<std::uint64_t>(group.tier);
}

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
  const std::size_t element = work.values.element_bytes();
  if (packs) scratch.packed.resize(place * element);
  const ValueSpan packed(scratch.packed.data(), place, work.values.type());
  const ValueSpan values = packs ? packed : work.values;
  for (std::size_t member = 0; packs && member < blocks.members(); ++member) {
    if (!is_read(work.kind, member == blocks.own())) continue;
    for_each_packed(blocks, scratch, member, [&](const ValueRange& range, std::size_t at) {
      copy(work.values.subspan(range.begin, range.size()), packed.subspan(at, range.size()));
    });
  }
  const auto rank_of = [&](std::size_t member) { return static_cast<int>(blocks.rank_of(member)); };
  const std::uint64_t slot = slot_of(work);
  Ring ring(context, blocks.members(), blocks.own(), rank_of, slot, timeout, values, scratch);
  const bool sums = work.kind != CollectiveKind::all_gather;
  if (sums && values.type() == ElementType::float32) {
    ring.reduce_scatter();
  } else if (sums) {
    add_up_at_owners(context, rank_of, blocks.own(), slot, timeout, values, scratch);
  }
  if (work.kind != CollectiveKind::reduce_scatter) ring.all_gather();
  for (std::size_t member = 0; packs && member < blocks.members(); ++member) {
    if (!is_written(work.kind, member == blocks.own())) continue;
    for_each_packed(blocks, scratch, member, [&](const ValueRange& range, std::size_t at) {
      copy(packed.subspan(at, range.size()), work.values.subspan(range.begin, range.size()));
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
  const auto received =
      context.createUnboundBuffer(work.received.data(), work.received.size_bytes());
  if (work.kind == CollectiveKind::shift) {
    const ShiftEnds ends = shift_ends(work.peer, ranks.size(), own);
    received->recv(rank_of(ends.from), slot, 0, work.received.size_bytes());
    values->send(rank_of(ends.to), slot, 0, work.values.size_bytes());
    received->waitRecv(timeout);
    values->waitSend(timeout);
    return;
  }
  const std::vector<ValueRange> sent_ranges = exchanged_ranges(work, work.sent_counts);
  const std::vector<ValueRange> received_ranges = exchanged_ranges(work, work.received_counts);
  copy(work.values.subspan(sent_ranges[own].begin, sent_ranges[own].size()),
       work.received.subspan(received_ranges[own].begin, received_ranges[own].size()));
  const std::size_t element = work.values.element_bytes();
  std::size_t sends = 0, receives = 0;
  // Each round every member sends to another one, and receives from another one.
  for (std::size_t round = 1; round < ranks.size(); ++round) {
    const std::size_t to = (own + round) % ranks.size();
    const std::size_t from = (own + ranks.size() - round) % ranks.size();
    if (const ValueRange& range = received_ranges[from]; range.size() > 0) {
      received->recv(rank_of(from), slot, range.begin * element, range.size() * element);
      ++receives;
    }
    if (const ValueRange& range = sent_ranges[to]; range.size() > 0) {
      values->send(rank_of(to), slot, range.begin * element, range.size() * element);
      ++sends;
    }
  }
  for (; receives > 0; --receives) received->waitRecv(timeout);
  for (; sends > 0; --sends) values->waitSend(timeout);
}

}  // namespace hocket
