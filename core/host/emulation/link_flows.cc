#include "core/host/emulation/link_flows.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <mutex>
#include <type_traits>

#include "core/base/check.h"

namespace hocket {

// All of this is in shared memory, where zero is a table without parts whose lock is not made yet.

struct LinkFlows::Table {
  pthread_mutex_t lock;
  std::int64_t now_ns;
  std::uint32_t used;  // slots from here on were never used
};

struct LinkFlows::Slot {
  PartName name;
  Phase phase;
  std::uint32_t members, joined, left;
  std::uint32_t uses;
  double bytes_left, bytes_per_ns;
  std::int64_t ended_ns;
};

/// Holds the lock of the table. If its last holder died with it, the flows may be half changed, so
/// all of them end; the job of a process that died is about to end as well.
class LinkFlows::Lock {
 public:
  explicit Lock(LinkFlows& flows) : lock_(flows.table().lock) {
    const int error = pthread_mutex_lock(&lock_);
    HOCKET_CHECK(error == 0 || error == EOWNERDEAD, "the lock is one");
    if (error == 0) return;
    flows.end_all();
    pthread_mutex_consistent(&lock_);
  }
  ~Lock() { pthread_mutex_unlock(&lock_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& lock_;
};

namespace {

/// Longer than any job, and far from overflow.
constexpr double kMostNs = 0x1p60;

void make_lock(pthread_mutex_t& lock) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  HOCKET_CHECK(pthread_mutex_init(&lock, &attributes) == 0, "the system has such locks");
  pthread_mutexattr_destroy(&attributes);
}

}  // namespace

std::size_t LinkFlows::size_bytes(const Shape& shape) {
  const std::size_t parts = kPartsPerRank * shape.ranks;
  return sizeof(Table) +
         parts * (sizeof(Slot) + shape.bytes_per_second.size() * sizeof(SharedFlows::Use));
}

LinkFlows::LinkFlows(Shape shape, std::optional<SharedMemory> shared)
    : shape_(std::move(shape)), shared_(std::move(shared)) {
  static_assert(std::is_trivially_copyable_v<Slot> &&
                std::is_trivially_copyable_v<SharedFlows::Use>);
  static_assert(sizeof(Table) % alignof(Slot) == 0 &&
                sizeof(Slot) % alignof(SharedFlows::Use) == 0);
}

LinkFlows::LinkFlows(Shape shape) : LinkFlows(std::move(shape), std::nullopt) {
  own_ = std::make_unique<std::byte[]>(size_bytes(shape_));
  make_lock(table().lock);
}

Result<LinkFlows> LinkFlows::make(Shape shape) {
  auto memory = SharedMemory::make(size_bytes(shape));
  HOCKET_TRY(memory);
  LinkFlows flows(std::move(shape), std::move(*memory));
  make_lock(flows.table().lock);
  return flows;
}

Result<LinkFlows> LinkFlows::open(const std::string& name, Shape shape) {
  auto memory = SharedMemory::open(name);
  HOCKET_TRY(memory);
  if (memory->size_bytes() != size_bytes(shape)) {
    return invalid(
        "emulated links: rank 0 and this rank have different numbers of them; start all ranks with "
        "the same options");
  }
  return LinkFlows(std::move(shape), std::move(*memory));
}

LinkFlows::Table& LinkFlows::table() const {
  return *reinterpret_cast<Table*>(shared_ ? shared_->data() : own_.get());
}

std::span<LinkFlows::Slot> LinkFlows::slots() const {
  return {reinterpret_cast<Slot*>(&table() + 1), most_parts()};
}

std::span<SharedFlows::Use> LinkFlows::uses_of(const Slot& slot) const {
  const auto number = static_cast<std::size_t>(&slot - slots().data());
  auto* const first = reinterpret_cast<SharedFlows::Use*>(slots().data() + most_parts());
  return {first + number * shape_.bytes_per_second.size(), slot.uses};
}

Result<std::uint32_t> LinkFlows::join(const Part& part, std::int64_t now_ns) {
  HOCKET_CHECK(!part.uses.empty() && part.uses.size() <= shape_.bytes_per_second.size(),
               "a part uses links, each once");
  const Lock lock(*this);
  advance(now_ns);
  Slot* slot = find_incomplete(part.name);
  if (!slot) {
    slot = find_free();
    if (!slot) {
      return failure(ErrorCode::unavailable, "emulated links: more than " +
                                                 std::to_string(most_parts()) +
                                                 " parts at once; set comm_channels lower");
    }
    *slot = {};
    slot->name = part.name;
    slot->members = part.members;
    slot->uses = static_cast<std::uint32_t>(part.uses.size());
    std::ranges::copy(part.uses, uses_of(*slot).begin());
    slot->phase = Phase::meeting;
  }
  ++slot->joined;
  if (slot->phase == Phase::meeting) {
    slot->bytes_left = std::max(slot->bytes_left, part.bytes);
    if (part.has_met || slot->joined == slot->members) {
      slot->phase = Phase::on_links;
      share();
    }
  }
  return static_cast<std::uint32_t>(slot - slots().data());
}

LinkFlows::Slot* LinkFlows::find_incomplete(const PartName& name) {
  for (Slot& slot : slots().first(table().used))
    if (slot.phase != Phase::none && slot.joined < slot.members && slot.name == name) return &slot;
  return nullptr;
}

LinkFlows::Slot* LinkFlows::find_free() {
  const auto used = slots().first(table().used);
  const auto found =
      std::ranges::find_if(used, [](const Slot& slot) { return slot.phase == Phase::none; });
  if (found != used.end()) return &*found;
  if (used.size() == slots().size()) return nullptr;
  return &slots()[table().used++];
}

LinkFlows::Progress LinkFlows::look(std::uint32_t ticket, std::int64_t now_ns) {
  const Lock lock(*this);
  advance(now_ns);
  Slot& slot = slots()[ticket];
  if (slot.phase == Phase::ended) {
    const Progress ended{Phase::ended, slot.ended_ns};
    leave(slot);
    return ended;
  }
  const std::int64_t alone_ns =
      table().now_ns + static_cast<std::int64_t>(this->alone_ns(slot, slot.bytes_left));
  if (slot.phase == Phase::meeting) return {Phase::meeting, alone_ns};
  // If nothing begins it cannot end before the first flow that does.
  std::int64_t first_ns = next_end_ns();
  if (may_be_helped(slot)) first_ns = std::min(first_ns, table().now_ns + kLeastWaitNs);
  return {Phase::on_links, std::max(alone_ns, first_ns)};
}

bool LinkFlows::may_be_helped(const Slot& slot) const {
  const auto uses = uses_of(slot);
  const auto is_used = [&](const SharedFlows::Use& use) {
    return std::ranges::find(uses, use.link, &SharedFlows::Use::link) != uses.end();
  };
  return std::ranges::any_of(on_links_, [&](const Slot* other) {
    const auto others = uses_of(*other);
    return std::ranges::any_of(others, is_used) && !std::ranges::all_of(others, is_used);
  });
}

void LinkFlows::leave(std::uint32_t ticket) {
  const Lock lock(*this);
  leave(slots()[ticket]);
}

void LinkFlows::leave(Slot& slot) {
  if (slot.phase == Phase::meeting) {
    if (--slot.joined == 0) slot.phase = Phase::none;
    return;
  }
  if (++slot.left < slot.members) return;
  const bool was_on_links = slot.phase == Phase::on_links;
  slot.phase = Phase::none;
  if (was_on_links) share();
}

double LinkFlows::alone_ns(const Slot& slot, double bytes) const {
  double longest_ns = 0;
  for (const SharedFlows::Use& use : uses_of(slot))
    longest_ns = std::max(longest_ns, bytes * use.times / shape_.bytes_per_second[use.link] * 1e9);
  return std::min(longest_ns, kMostNs);
}

std::int64_t LinkFlows::next_end_ns() const {
  double after_ns = std::numeric_limits<double>::infinity();
  for (const Slot* flow : on_links_)
    after_ns = std::min(after_ns, flow->bytes_left / flow->bytes_per_ns);
  return table().now_ns + std::llround(std::min(after_ns, kMostNs));
}

void LinkFlows::find_flows() {
  on_links_.clear();
  for (Slot& slot : slots().first(table().used))
    if (slot.phase == Phase::on_links) on_links_.push_back(&slot);
}

void LinkFlows::share() {
  find_flows();
  rates_.fill(
      shape_.bytes_per_second, on_links_, [this](const Slot* flow) { return uses_of(*flow); },
      [](Slot* flow, double rate) { flow->bytes_per_ns = rate / 1e9; });
}

void LinkFlows::advance(std::int64_t now_ns) {
  find_flows();
  while (!on_links_.empty()) {
    const std::int64_t end_ns = next_end_ns();
    if (end_ns > now_ns) break;
    Slot& first = **std::ranges::min_element(
        on_links_, {}, [](const Slot* flow) { return flow->bytes_left / flow->bytes_per_ns; });
    pass_until(end_ns);
    first.phase = Phase::ended;
    first.ended_ns = end_ns;
    share();
  }
  pass_until(now_ns);
}

void LinkFlows::pass_until(std::int64_t time_ns) {
  // A rank that was held up between its clock and the lock comes with a time that is past.
  const auto passed_ns = static_cast<double>(std::max<std::int64_t>(0, time_ns - table().now_ns));
  table().now_ns = std::max(table().now_ns, time_ns);
  for (Slot* flow : on_links_)
    flow->bytes_left = std::max(0.0, flow->bytes_left - flow->bytes_per_ns * passed_ns);
}

void LinkFlows::end_all() {
  for (Slot& slot : slots().first(std::min<std::size_t>(table().used, most_parts()))) {
    if (slot.phase != Phase::meeting && slot.phase != Phase::on_links) continue;
    // Nobody has a ticket of a part that its first rank was about to join when it died.
    slot.phase = slot.joined == 0 ? Phase::none : Phase::ended;
    slot.ended_ns = table().now_ns;
  }
}

Result<std::optional<LinkFlows>> share_link_flows(Collective& collective,
                                                  const LinkFlows::Shape& shape) {
  const auto own = [&]() -> Result<LinkFlows> {
    if (collective.rank() != 0) {
      const auto name = collective.hear();
      if (!name) return failure(name.error());
      return LinkFlows::open(*name, shape);
    }
    auto links = LinkFlows::make(shape);
    // Without links their name is empty, and no rank can open them.
    HOCKET_TRY(collective.tell(links ? links->name() : ""));
    return links;
  };
  auto links = own();
  std::vector<float> ranks_without = {links ? 0.0F : 1.0F};
  const auto agreed = collective.all_reduce(ranks_without, 0);
  if (!agreed) return failure(agreed.error().in("sharing emulated links"));
  if (ranks_without[0] == 0) return std::optional(std::move(*links));
  if (!links && links.error().code == ErrorCode::invalid_argument) return failure(links.error());
  return std::nullopt;
}

}  // namespace hocket
