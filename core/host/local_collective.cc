#include "core/host/local_collective.h"

#include <chrono>
#include <string>

#include "core/base/check.h"

namespace hocket {

class LocalCollective final : public Collective {
 public:
  LocalCollective(LocalGroup& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  const Mesh& mesh() const override { return group_.mesh_; }
  std::int64_t timeout_ns() const override { return group_.timeout_ns_; }

  Result<void> run(const CollectiveWork& work) override { return group_.run(rank_, work); }

  Result<void> tell(std::string_view message) override {
    std::lock_guard lock(group_.mutex_);
    for (int other = 1; other < world_size(); ++other) {
      group_.messages_[static_cast<std::size_t>(other)].emplace_back(message);
    }
    group_.changed_.notify_all();
    return {};
  }

  Result<std::string> hear() override { return group_.hear(rank_); }

  void abort() override {
    std::lock_guard lock(group_.mutex_);
    group_.aborted_ = true;
    group_.changed_.notify_all();
  }

 private:
  LocalGroup& group_;
  const int rank_;
};

LocalGroup::LocalGroup(int world_size, std::int64_t timeout_ns, int ranks_per_host)
    : LocalGroup(Mesh({world_size, ranks_per_host == 0 ? world_size : ranks_per_host}),
                 timeout_ns) {}

LocalGroup::LocalGroup(const Mesh& mesh, std::int64_t timeout_ns)
    : mesh_(mesh),
      timeout_ns_(timeout_ns),
      messages_(static_cast<std::size_t>(mesh.grid().ranks)) {}

std::unique_ptr<Collective> LocalGroup::join(int rank) {
  HOCKET_CHECK(rank >= 0 && rank < mesh_.grid().ranks, "rank out of range");
  return std::make_unique<LocalCollective>(*this, rank);
}

Result<void> LocalGroup::wait(std::unique_lock<std::mutex>& lock, const auto& ready,
                              const char* what) {
  const bool in_time = changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns_),
                                         [&] { return aborted_ || ready(); });
  if (ready() && !aborted_) return {};
  aborted_ = true;
  changed_.notify_all();
  if (in_time) return failure(ErrorCode::unavailable, "a rank has left the group");
  return failure(ErrorCode::timed_out, std::string(what) + " took longer than " +
                                           std::to_string(timeout_ns_ / 1'000'000) + " ms");
}

namespace {

bool are_alike(const ValueSpan& a, const ValueSpan& b) {
  return a.type() == b.type() && a.size() == b.size();
}

bool same_part(const CollectiveWork& a, const CollectiveWork& b) {
  return a.kind == b.kind && are_alike(a.values, b.values) && a.begin == b.begin && a.end == b.end;
}

/// Sums the piece of `owner` in the order of ranks, and sets the others' copies of it to NaN.
void sum_piece(const std::vector<CollectiveWork>& works, const CollectiveBlocks& blocks,
               std::size_t owner) {
  for (const ValueRange& range : blocks.piece(owner)) {
    std::vector<ValueSpan> pieces;
    for (const CollectiveWork& work : works)
      pieces.push_back(work.values.subspan(range.begin, range.size()));
    add_up(pieces, pieces[owner]);
    for (std::size_t member = 0; member < works.size(); ++member)
      if (member != owner) make_undefined(pieces[member]);
  }
}

void spread_piece(const std::vector<CollectiveWork>& works, const CollectiveBlocks& blocks,
                  std::size_t owner) {
  for (const ValueRange& range : blocks.piece(owner)) {
    const ValueSpan owned = works[owner].values.subspan(range.begin, range.size());
    for (std::size_t member = 0; member < works.size(); ++member) {
      if (member != owner) copy(owned, works[member].values.subspan(range.begin, range.size()));
    }
  }
}

/// Carries out an all-reduce, a reduce-scatter or an all-gather. Returns whether all mean the same,
/// as the functions below do.
bool reduce(const std::vector<CollectiveWork>& works, const CollectiveBlocks& blocks) {
  for (const CollectiveWork& work : works)
    if (!same_part(work, works[0])) return false;
  for (std::size_t owner = 0; owner < works.size(); ++owner) {
    if (works[0].kind != CollectiveKind::all_gather) sum_piece(works, blocks, owner);
    if (works[0].kind != CollectiveKind::reduce_scatter) spread_piece(works, blocks, owner);
  }
  return true;
}

bool copy_from_root(const std::vector<CollectiveWork>& works) {
  const CollectiveWork& root = works[works[0].peer];
  for (const CollectiveWork& work : works)
    if (!same_part(work, works[0]) || work.peer != works[0].peer) return false;
  for (const CollectiveWork& work : works)
    if (&work != &root) copy(root.values, work.values);
  return true;
}

bool shift_all(const std::vector<CollectiveWork>& works) {
  for (const CollectiveWork& work : works)
    if (!same_part(work, works[0]) || work.peer != works[0].peer) return false;
  for (std::size_t from = 0; from < works.size(); ++from)
    copy(works[from].values, works[shift_ends(works[0].peer, works.size(), from).to].received);
  return true;
}

bool exchange_all(const std::vector<CollectiveWork>& works) {
  const std::size_t members = works.size();
  for (const CollectiveWork& work : works)
    if (work.kind != CollectiveKind::all_to_all || work.values.type() != works[0].values.type() ||
        work.begin != works[0].begin || work.end != works[0].end)
      return false;
  for (std::size_t from = 0; from < members; ++from) {
    for (std::size_t to = 0; to < members; ++to)
      if (works[from].sent_counts[to] != works[to].received_counts[from]) return false;
  }
  std::vector<std::vector<ValueRange>> sent, received;  // by member
  for (const CollectiveWork& work : works) {
    sent.push_back(exchanged_ranges(work, work.sent_counts));
    received.push_back(exchanged_ranges(work, work.received_counts));
  }
  for (std::size_t from = 0; from < members; ++from) {
    for (std::size_t to = 0; to < members; ++to) {
      const ValueRange source = sent[from][to], place = received[to][from];
      copy(works[from].values.subspan(source.begin, source.size()),
           works[to].received.subspan(place.begin, place.size()));
    }
  }
  return true;
}

/// Delivers the first work's message to the second.
bool deliver(const std::vector<CollectiveWork>& works) {
  if (!are_alike(works[0].values, works[1].values)) return false;
  copy(works[0].values, works[1].values);
  return true;
}

}  // namespace

Result<void> LocalGroup::meet(const MeetingKey& key, std::size_t members, std::size_t own,
                              const CollectiveWork& work, const auto& carry_out) {
  std::unique_lock lock(mutex_);
  // An index may be reused while a slow rank has not yet left the previous part with this index.
  const auto left = [&] {
    const auto before = meetings_.find(key);
    return before == meetings_.end() || before->second.arrived < members;
  };
  if (const auto ok = wait(lock, left, "waiting for the other ranks to leave"); !ok) return ok;
  Meeting& meeting = meetings_[key];
  meeting.works.resize(members);
  meeting.works[own] = work;
  if (++meeting.arrived == members && !aborted_) {
    meeting.mismatch = !carry_out(meeting.works);
    changed_.notify_all();
  }
  const auto met = wait(
      lock, [&] { return meeting.arrived == members; }, "meeting the other ranks");
  if (!met) return met;
  const bool mismatch = meeting.mismatch;
  if (++meeting.left == members) {
    meetings_.erase(key);
    changed_.notify_all();
  }
  if (mismatch) {
    return failure(ErrorCode::invalid_argument,
                   "ranks disagree on the kind, type or size of part " +
                       std::to_string(work.index) +
                       "; submit the same collectives with the same configuration on every rank");
  }
  return {};
}

Result<void> LocalGroup::run(int rank, const CollectiveWork& work) {
  const std::int64_t first = mesh_.first_rank(work.group, rank);
  if (!has_no_blocks(work.kind)) {
    if (auto ok = check_kind(work.kind); !ok) return ok;
    const CollectiveBlocks blocks(work, mesh_, rank);
    return meet({work.index, work.group, first, -1, -1}, blocks.members(), blocks.own(), work,
                [&](const auto& works) { return reduce(works, blocks); });
  }
  const auto [ranks, own] = group_members(mesh_, work.group, rank);
  if (auto ok = check_message(work, ranks.size(), own); !ok) return ok;
  if (work.kind == CollectiveKind::broadcast) {
    return meet({work.index, work.group, first, -1, -1}, ranks.size(), own, work, copy_from_root);
  }
  if (work.kind == CollectiveKind::all_to_all) {
    return meet({work.index, work.group, first, -1, -1}, ranks.size(), own, work, exchange_all);
  }
  if (work.kind == CollectiveKind::shift) {
    return meet({work.index, work.group, first, -1, -1}, ranks.size(), own, work, shift_all);
  }
  const bool sends = work.kind == CollectiveKind::send;
  const std::int64_t from = sends ? rank : ranks[work.peer], to = sends ? ranks[work.peer] : rank;
  return meet({work.index, work.group, first, from, to}, 2, sends ? 0 : 1, work, deliver);
}

Result<std::string> LocalGroup::hear(int rank) {
  std::unique_lock lock(mutex_);
  auto& queue = messages_[static_cast<std::size_t>(rank)];
  HOCKET_TRY(wait(
      lock, [&] { return !queue.empty(); }, "hearing from rank 0"));
  auto message = std::move(queue.front());
  queue.pop_front();
  return message;
}

}  // namespace hocket
