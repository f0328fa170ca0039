#include "core/servers/part_sums.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

std::string rank_text(int rank) {
  return "rank " + std::to_string(rank);
}

std::string part_text(const PartKey& key) {
  return "collective " + std::to_string(key.collective) + " at offset " +
         std::to_string(key.offset_bytes);
}

std::string bytes_text(std::size_t values) {
  return std::to_string(values * sizeof(float)) + " bytes";
}

constexpr const char* kSameEverywhere =
    "; submit the same collectives with the same configuration on every rank";

void add_values(std::span<float> sum, std::span<const float> summand) {
  float* const __restrict into = sum.data();
  const float* const __restrict from = summand.data();
  const std::size_t size = sum.size();
  for (std::size_t i = 0; i < size; ++i) into[i] += from[i];
}

}  // namespace

enum class SummandState { absent, receiving, refused, arrived, added };

struct PartMember {
  SummandState state = SummandState::absent;
  PartBuffer buffer = {};    ///< of a summand that has arrived and is not added
  std::uint64_t number = 0;  ///< of a summand that has arrived, in the order of the rank's
  bool pulled = false;

  bool has_pushed() const { return state >= SummandState::arrived; }
};

struct PartInProgress {
  PartKey key = {};
  std::size_t values = 0;
  std::optional<PartUpdate> update = {};
  int sized_by = 0;                      ///< the rank that named `values` and `update`
  std::vector<PartMember> members = {};  ///< by rank
  PartBuffer sum = {};                   ///< of the summands of the first `added` ranks
  std::size_t added = 0;
  bool adding = false;  ///< a thread is in add_arrived()
  bool ready = false;   ///< the sum is added and updated
  int holders = 0;      ///< references from outside of the map; the part stays while there are some
  std::optional<Error> error = {};

  PartMember& of(int rank) { return members[static_cast<std::size_t>(rank)]; }
  const PartMember& of(int rank) const { return members[static_cast<std::size_t>(rank)]; }
  bool all_added() const { return added == members.size(); }
};

PartSummand::PartSummand(PartSums& sums, PartInProgress& part, int rank, PartBuffer buffer)
    : sums_(&sums), part_(&part), rank_(rank), buffer_(std::move(buffer)) {}

PartSummand::PartSummand(PartSummand&& other) noexcept
    : sums_(other.sums_),
      part_(std::exchange(other.part_, nullptr)),
      rank_(other.rank_),
      buffer_(std::move(other.buffer_)) {}

PartSummand::~PartSummand() {
  if (part_ == nullptr) return;
  const std::lock_guard lock(sums_->mutex_);
  part_->of(rank_).state = SummandState::absent;
  sums_->buffers_.give(buffer_);
  sums_->let_go(*part_);
}

PartSum::PartSum(PartSums& sums, PartInProgress& part)
    : sums_(&sums), part_(&part), values_(part.sum.values()) {
  ++part.holders;
}

PartSum::PartSum(PartSum&& other) noexcept
    : sums_(other.sums_), part_(std::exchange(other.part_, nullptr)), values_(other.values_) {}

PartSum& PartSum::operator=(PartSum&& other) noexcept {
  std::swap(sums_, other.sums_);
  std::swap(part_, other.part_);
  std::swap(values_, other.values_);
  return *this;
}

PartSum::~PartSum() {
  if (part_ == nullptr) return;
  const std::lock_guard lock(sums_->mutex_);
  sums_->let_go(*part_);
}

PartSums::PartSums(int ranks, std::size_t limit_bytes)
    : limit_bytes_(limit_bytes),
      record_bytes_(sizeof(Parts::value_type) +
                    static_cast<std::size_t>(ranks) * (sizeof(PartMember) + sizeof(PartKey))),
      ranks_(static_cast<std::size_t>(ranks)) {
  HOCKET_CHECK(ranks > 0, "sums are over at least one rank");
}

PartSums::~PartSums() {
  for (const auto& [key, part] : parts_)
    HOCKET_CHECK(part.holders == 0 && !part.adding, "a part is in use");
}

std::size_t PartSums::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return buffers_.used_bytes() + parts_.size() * record_bytes_;
}

std::size_t PartSums::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return buffers_.kept_bytes() + spare_.size() * record_bytes_;
}

std::size_t PartSums::state_bytes() const {
  const std::lock_guard lock(mutex_);
  return state_.bytes();
}

bool PartSums::make_room(std::size_t bytes) {
  const auto left = [&] {
    const std::size_t taken = buffers_.used_bytes() + buffers_.kept_bytes() + state_.bytes() +
                              (parts_.size() + spare_.size()) * record_bytes_;
    return limit_bytes_ - std::min(limit_bytes_, taken);
  };
  if (bytes > limit_bytes_) return false;
  while (left() < bytes && buffers_.free_one()) continue;
  if (left() < bytes) spare_.clear();
  return left() >= bytes;
}

PartSums::Rank& PartSums::rank_of(int rank) {
  HOCKET_CHECK(rank >= 0 && rank < ranks(), "rank out of range");
  return ranks_[static_cast<std::size_t>(rank)];
}

const PartSums::Rank& PartSums::rank_of(int rank) const {
  HOCKET_CHECK(rank >= 0 && rank < ranks(), "rank out of range");
  return ranks_[static_cast<std::size_t>(rank)];
}

Error PartSums::departure(const PartKey& key, int rank) const {
  // Ranks end because of the first one that did, whose output says why.
  const std::string first = first_lost_ == rank ? ""
                                                : "; " + rank_text(*first_lost_) + " " +
                                                      *rank_of(*first_lost_).how + " since before";
  return {ErrorCode::unavailable, rank_text(rank) + " " + *rank_of(rank).how +
                                      " and has not pushed " + part_text(key) + first +
                                      "; see its output, then start the job again"};
}

namespace {

Error no_room(const PartKey& key, int rank, std::size_t values, std::size_t limit_bytes) {
  return {ErrorCode::unavailable, rank_text(rank) + "'s " + bytes_text(values) + " of " +
                                      part_text(key) + " do not fit: the limit of sums is " +
                                      std::to_string(limit_bytes) +
                                      " bytes; raise it, start more servers, or lower "
                                      "credit_bytes or partition_bytes"};
}

Error no_state_room(const PartKey& key, std::size_t bytes, std::size_t limit_bytes) {
  return {ErrorCode::unavailable,
          std::to_string(bytes) + " bytes of the optimiser's state of " + part_text(key) +
              " do not fit: the limit of a server's memory is " + std::to_string(limit_bytes) +
              " bytes; raise it, or start more servers"};
}

Error disagreement(const PartInProgress& part, int rank, const char* verb, std::size_t values) {
  return {ErrorCode::invalid_argument, rank_text(rank) + " " + verb + " " + bytes_text(values) +
                                           " of " + part_text(part.key) + ", of which " +
                                           rank_text(part.sized_by) + " has " +
                                           bytes_text(part.values) + kSameEverywhere};
}

Error update_disagreement(const PartInProgress& part, int rank) {
  return {ErrorCode::invalid_argument,
          rank_text(rank) + " wants another update of " + part_text(part.key) + " than " +
              rank_text(part.sized_by) +
              "; give the optimiser the same values in the same step on every rank"};
}

Error second_time(const PartInProgress& part, int rank, const char* verb, std::size_t values) {
  return {ErrorCode::invalid_argument, rank_text(rank) + " " + verb + " " + bytes_text(values) +
                                           " of " + part_text(part.key) +
                                           " a second time, before every rank has pulled the "
                                           "sum; the first time it had " +
                                           bytes_text(part.values)};
}

}  // namespace

Result<PartInProgress*> PartSums::find_or_begin(const PartKey& key, int rank, std::size_t values,
                                                const PartUpdate* update) {
  if (const auto found = parts_.find(key); found != parts_.end()) return &found->second;
  if (first_lost_) return failure(departure(key, *first_lost_));
  if (spare_.empty()) {
    if (!make_room(record_bytes_)) return failure(no_room(key, rank, values, limit_bytes_));
    parts_[key].members.resize(ranks_.size());
  } else {
    spare_.back().key() = key;
    parts_.insert(std::move(spare_.back()));
    spare_.pop_back();
  }
  PartInProgress& part = parts_.find(key)->second;
  part.key = key;
  part.values = values;
  part.update = update ? std::optional(*update) : std::nullopt;
  part.sized_by = rank;
  return &part;
}

Result<PartBuffer> PartSums::buffer_for(const PartKey& key, int rank, std::size_t values) {
  if (values > limit_bytes_ / sizeof(float))
    return failure(no_room(key, rank, values, limit_bytes_));
  PartBuffer kept = buffers_.take(values);
  if (kept.values().data() != nullptr) return kept;
  if (!make_room(values * sizeof(float))) return failure(no_room(key, rank, values, limit_bytes_));
  return buffers_.allocate(values);
}

Result<PartSummand> PartSums::begin_push(const PartKey& key, int rank, std::size_t values,
                                         const PartUpdate* update) {
  const std::lock_guard lock(mutex_);
  const auto found = find_or_begin(key, rank, values, update);
  HOCKET_TRY(found);
  PartInProgress& part = **found;
  PartMember& member = part.of(rank);
  if (member.has_pushed() || member.state == SummandState::receiving)
    return failure(second_time(part, rank, "pushes", values));
  if (!part.error && part.values != values) fail(part, disagreement(part, rank, "pushes", values));
  const bool is_same_update = update ? part.update == *update : !part.update;
  if (!part.error && !is_same_update) fail(part, update_disagreement(part, rank));
  if (part.error) {
    Error error = *part.error;
    member.state = SummandState::refused;
    erase_if_over(part);
    return failure(std::move(error));
  }
  auto buffer = buffer_for(key, rank, values);
  if (!buffer) {
    erase_if_over(part);
    return failure(std::move(buffer).error());
  }
  member.state = SummandState::receiving;
  ++part.holders;
  return PartSummand(*this, part, rank, std::move(*buffer));
}

Result<void> PartSums::finish_push(PartSummand summand) {
  Lock lock(mutex_);
  PartInProgress& part = *summand.part_;
  if (part.error) {
    Error error = *part.error;
    lock.unlock();  // the summand locks when it is destroyed
    return failure(std::move(error));
  }
  PartMember& member = part.of(summand.rank_);
  member.state = SummandState::arrived;
  member.buffer = std::move(summand.buffer_);
  member.number = rank_of(summand.rank_).pushes++;
  summand.part_ = nullptr;
  add_arrived(lock, part);
  let_go(part);
  return {};
}

void PartSums::add_arrived(Lock& lock, PartInProgress& part) {
  if (part.adding) return;  // the thread that is there goes on with what has arrived
  part.adding = true;
  while (!part.error && !part.all_added() &&
         part.members[part.added].state == SummandState::arrived) {
    PartMember& member = part.members[part.added];
    member.state = SummandState::added;
    PartBuffer summand = std::move(member.buffer);
    if (part.added == 0) {
      part.sum = std::move(summand);
    } else {
      lock.unlock();
      add_values(part.sum.values(), summand.values());
      lock.lock();
      buffers_.give(summand);
    }
    ++part.added;
  }
  if (!part.error && part.all_added() && part.update) update(lock, part);
  if (!part.error && part.all_added()) complete(part);
  part.adding = false;
  if (part.error) buffers_.give(part.sum);
}

void PartSums::update(Lock& lock, PartInProgress& part) {
  const OptimizerStep& step = part.update->step;
  const TensorRange range = {part.update->tensor,
                             static_cast<std::size_t>(part.key.offset_bytes) / sizeof(float),
                             part.values};
  const int moments = state_values(step);
  const std::size_t bytes = state_.missing_bytes(range, moments);
  if (bytes > 0 && !make_room(bytes))
    return fail(part, no_state_room(part.key, bytes, limit_bytes_));
  const auto pieces = state_.take(range, moments);
  if (!pieces) return fail(part, pieces.error());
  lock.unlock();
  for (const OptimizerState::Piece& piece : *pieces)
    apply_optimizer_step(step, part.sum.values().subspan(piece.begin, piece.values),
                         piece.moments[0], piece.moments[1]);
  lock.lock();
  state_.give(range);
}

void PartSums::complete(PartInProgress& part) {
  part.ready = true;
  for (Rank& rank : ranks_) {
    if (rank.how) continue;
    rank.sums.push_back(part.key);
    tell(rank);
  }
}

void PartSums::fail(PartInProgress& part, const Error& error) {
  part.error = error;
  for (int rank = 0; rank < ranks(); ++rank) {
    buffers_.give(part.of(rank).buffer);
    if (part.of(rank).has_pushed()) tell(rank_of(rank), error);
  }
  if (!part.adding) buffers_.give(part.sum);
}

void PartSums::tell(Rank& rank) {
  if (const auto waiter = std::exchange(rank.waiter, nullptr)) waiter->wake();
}

void PartSums::tell(Rank& rank, const Error& error) {
  if (!rank.error) rank.error = error;
  tell(rank);
}

Result<std::size_t> PartSums::take_sums(int number, std::span<PartKey> sums,
                                        const std::shared_ptr<SumWaiter>& waiter) {
  const std::lock_guard lock(mutex_);
  Rank& rank = rank_of(number);
  const std::size_t taken = std::min(sums.size(), rank.sums.size());
  const auto end = rank.sums.begin() + static_cast<std::ptrdiff_t>(taken);
  std::copy(rank.sums.begin(), end, sums.begin());
  rank.sums.erase(rank.sums.begin(), end);
  if (taken == 0 && rank.error) return failure(*rank.error);
  rank.waiter = taken == 0 ? waiter : nullptr;
  return taken;
}

std::uint64_t PartSums::pushes(int rank) const {
  const std::lock_guard lock(mutex_);
  return rank_of(rank).pushes;
}

std::optional<UnfinishedPart> PartSums::unfinished(int rank, std::uint64_t pushes) const {
  const std::lock_guard lock(mutex_);
  const PartInProgress* first = nullptr;
  for (const auto& [key, part] : parts_) {
    const PartMember& member = part.of(rank);
    if (!member.has_pushed() || part.ready || part.error || member.number >= pushes) continue;
    if (first == nullptr || member.number < first->of(rank).number) first = &part;
  }
  if (first == nullptr) return {};
  UnfinishedPart found{.key = first->key};
  for (int each = 0; each < ranks(); ++each)
    if (!first->of(each).has_pushed()) found.missing.push_back(each);
  return found;
}

Result<PartSum> PartSums::pull(const PartKey& key, int rank, std::size_t values) {
  const std::lock_guard lock(mutex_);
  const auto found = parts_.find(key);
  if (found == parts_.end() || (!found->second.ready && !found->second.error)) {
    return invalid(rank_text(rank) + " pulls " + bytes_text(values) + " of " + part_text(key) +
                   ", which is no sum; each rank can pull a sum once, when the server has it");
  }
  PartInProgress& part = found->second;
  if (part.error) return failure(*part.error);
  if (part.of(rank).pulled) return failure(second_time(part, rank, "pulls", values));
  if (part.values != values) return failure(disagreement(part, rank, "pulls", values));
  part.of(rank).pulled = true;
  return PartSum(*this, part);
}

void PartSums::lose(int rank, std::string how) {
  const std::lock_guard lock(mutex_);
  Rank& lost = rank_of(rank);
  if (lost.how) return;
  lost.how = std::move(how);
  if (!first_lost_) first_lost_ = rank;
  lost.sums.clear();
  tell(lost, {ErrorCode::unavailable, rank_text(rank) + " " + *lost.how});
  for (auto each = parts_.begin(); each != parts_.end();) {
    PartInProgress& part = each->second;
    ++each;  // before the part that it was at may be erased
    if (!part.of(rank).has_pushed() && !part.error) fail(part, departure(part.key, rank));
    erase_if_over(part);
  }
}

void PartSums::let_go(PartInProgress& part) {
  --part.holders;
  erase_if_over(part);
}

void PartSums::erase_if_over(PartInProgress& part) {
  if (part.holders > 0 || part.adding) return;
  bool untouched = !part.error, over = true;
  for (int rank = 0; rank < ranks(); ++rank) {
    const PartMember& member = part.of(rank);
    untouched &= member.state == SummandState::absent;
    const bool told = part.error && member.state >= SummandState::refused;
    over &= member.pulled || told || rank_of(rank).how.has_value();
  }
  if (!untouched && !over) return;
  buffers_.give(part.sum);
  for (PartMember& member : part.members) {
    buffers_.give(member.buffer);
    member = {};
  }
  part.added = 0;
  part.ready = false;
  part.error.reset();
  spare_.push_back(parts_.extract(part.key));
}

Error no_sum_in_time(const UnfinishedPart& part, std::int64_t timeout_ns) {
  std::string who;
  for (const int rank : part.missing) who += (who.empty() ? "" : ", ") + rank_text(rank);
  const std::string why = part.missing.empty()
                              ? "which every rank has pushed and which is still being added"
                              : "which is not pushed by " + who;
  return {ErrorCode::timed_out, "waited " + std::to_string(timeout_ns / 1'000'000) + " ms for " +
                                    part_text(part.key) + ", " + why +
                                    "; see whether a rank is stuck, or raise the time limit"};
}

}  // namespace hocket
