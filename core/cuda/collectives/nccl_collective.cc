#include "core/cuda/collectives/nccl_collective.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/cuda/collectives/nccl_functions.h"
#include "core/cuda/collectives/rank_devices.h"
#include "core/cuda/driver/cuda_stream.h"

namespace hocket {
namespace {

Error nccl_error(std::string_view what, ncclResult_t result, ncclComm_t communicator) {
  // A dead peer shows as one of these two, depending on which side of the connection noticed.
  const bool is_remote = result == ncclRemoteError || result == ncclSystemError;
  std::string words = std::string(what) + ": ";
  if (is_remote) words += "another rank is gone, or cannot be reached: ";
  words += nccl().error_string(result);
  const char* last = communicator ? nccl().last_error(communicator) : nullptr;
  if (last && *last) words += std::string(" (") + last + ")";
  for (char& c : words)
    if (c == '\n') c = ' ';
  return {ErrorCode::unavailable, words};
}

ncclDataType_t nccl_type(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return ncclFloat32;
    case ElementType::bfloat16:
      return ncclBfloat16;
    case ElementType::float16:
      return ncclFloat16;
  }
  HOCKET_CHECK(false, "a type of elements");
}

ncclResult_t nccl_send(ValueSpan values, int to, ncclComm_t communicator, cudaStream_t stream) {
  return nccl().send(values.data(), values.size(), nccl_type(values.type()), to, communicator,
                     stream);
}
ncclResult_t nccl_receive(ValueSpan values, int from, ncclComm_t communicator,
                          cudaStream_t stream) {
  return nccl().receive(values.data(), values.size(), nccl_type(values.type()), from, communicator,
                        stream);
}

const void* end_of(ValueSpan values) {
  return values.bytes().data() + values.size_bytes();
}

/// Memory into which NCCL writes a communicator: immediately, or later from a thread of its own
/// once the communicator is made. So the memory must outlive that write.
class CommunicatorSlot {
 public:
  CommunicatorSlot() : at_(std::make_unique<ncclComm_t>(nullptr)) {}
  ~CommunicatorSlot() {
    // NCCL may still write to it, and nothing reports when it no longer will.
    if (at_ && !get()) keep(std::move(at_));
  }
  CommunicatorSlot(CommunicatorSlot&&) = default;
  CommunicatorSlot& operator=(CommunicatorSlot&&) = delete;

  ncclComm_t* place() { return at_.get(); }
  ncclComm_t get() const { return std::atomic_ref(*at_).load(std::memory_order_acquire); }

 private:
  /// Keeps `place` until the process ends.
  static void keep(std::unique_ptr<ncclComm_t> place) {
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::unique_ptr<ncclComm_t>>;
    std::lock_guard lock(mutex);
    kept->push_back(std::move(place));
  }

  std::unique_ptr<ncclComm_t> at_;
};

/// Calls on non-blocking communicators return before they are done. The lock is held for one call
/// or query at a time, so that abort() can run between them.
class NcclCollective final : public DeviceCollective {
 public:
  explicit NcclCollective(const NcclOptions& options) : options_(options) {}
  ~NcclCollective() override {
    while (count() > 0 && close_last()) {
    }
    if (count() > 0) abort();
  }

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }

  /// Creates the communicator of the first channel.
  Result<void> connect(int rank, const RankGrid& grid, const ncclUniqueId& id) {
    rank_ = rank;
    world_size_ = static_cast<int>(grid.ranks);
    grid_ = grid;
    const std::string what = "connecting the devices";
    const auto ok = begin_making(what, *this, [&](ncclComm_t* place) {
      ncclConfig_t config = non_blocking();
      return nccl().init_rank(place, world_size_, id, place_of(rank_), &config);
    });
    return ok ? wait_for(0, what) : ok;
  }

  Result<void> open(int channels) override {
    HOCKET_CHECK(channels > 0, "at least one channel");
    while (count() > static_cast<std::size_t>(channels)) {
      if (!close_last()) {
        return failure(ErrorCode::unavailable,
                       "closing channel " + std::to_string(count() - 1) + ": another rank is gone");
      }
    }
    while (count() < static_cast<std::size_t>(channels)) {
      if (auto ok = make_from_first("making channel " + std::to_string(count()), *this, 0,
                                    place_of(rank_));
          !ok)
        return ok;
    }
    return {};
  }

  Result<void> exchange(CollectiveKind kind, std::span<const DevicePiece> pieces, int channel,
                        DeviceStream stream) override {
    return put(in_words(kind), channel, [&](ncclComm_t communicator) {
      return exchange(kind, pieces, communicator, cuda_stream(stream));
    });
  }

  Result<void> exchange_messages(std::span<const DeviceMessage> messages, int channel,
                                 DeviceStream stream) override {
    return put("messages", channel, [&](ncclComm_t communicator) {
      return at_once(messages, [&](const DeviceMessage& message) {
        const auto call = message.sends ? nccl_send : nccl_receive;
        return call(message.values, place_of(message.peer), communicator, cuda_stream(stream));
      });
    });
  }

  Result<std::unique_ptr<DeviceCollective>> split(int group) override {
    HOCKET_CHECK(group >= 0, "groups are counted from 0");
    auto part = std::make_unique<NcclCollective>(options_);
    HOCKET_TRY(make_from_first("making group " + std::to_string(group), *part, group, rank_));
    HOCKET_TRY(part->ask_place());
    return part;
  }

  Result<void> health() override {
    std::lock_guard lock(mutex_);
    if (is_aborted_) return aborted();
    for (const CommunicatorSlot& slot : communicators_) {
      const ncclResult_t state = state_of(slot);
      if (state != ncclSuccess && state != ncclInProgress) return fail("NCCL", state, slot.get());
    }
    return {};
  }

  /// Calls NCCL without holding the lock: NCCL's abort ends only when graphs with these
  /// communicators are destroyed, and the thread that owns such a graph may call health() before it
  /// destroys it.
  void abort() override {
    std::deque<CommunicatorSlot> ended;
    {
      std::lock_guard lock(mutex_);
      is_aborted_ = true;
      ended.swap(communicators_);
    }
    // Within a group NCCL aborts all communicators before it waits for any, since a communicator's
    // abort may depend on what another has in flight. The first one comes first: the others are
    // made by calls on it, which then end.
    nccl().group_start();
    for (const CommunicatorSlot& slot : ended)
      if (slot.get()) nccl().abort(slot.get());
    nccl().group_end();
  }

 private:
  static ncclConfig_t non_blocking() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    return config;
  }
  static tl::unexpected<Error> aborted() {
    return failure(ErrorCode::unavailable, "the collectives of this rank were aborted");
  }
  static ncclResult_t state_of(ncclComm_t communicator) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = nccl().async_error(communicator, &state);
    return asked == ncclSuccess ? state : asked;
  }
  static ncclResult_t state_of(const CommunicatorSlot& slot) {
    return slot.get() ? state_of(slot.get()) : ncclInProgress;
  }
  /// Reports a failure; from then on the destructor does not wait for other ranks. Requires mutex_.
  tl::unexpected<Error> fail(std::string_view what, ncclResult_t result, ncclComm_t communicator) {
    has_failed_ = true;
    return failure(nccl_error(what, result, communicator));
  }

  /// Returns a rank's number in the communicators: the index of the block it owns of a scattered
  /// buffer.
  int place_of(int rank) const { return static_cast<int>(grid_.block_of(rank)); }

  ncclResult_t exchange(CollectiveKind kind, std::span<const DevicePiece> pieces,
                        ncclComm_t communicator, cudaStream_t stream) const {
    if (kind != CollectiveKind::all_reduce && are_in_place(pieces)) {
      const ValueSpan own = pieces[static_cast<std::size_t>(place_of(rank_))].values;
      void* const all = pieces.front().values.data();
      const ncclDataType_t type = nccl_type(own.type());
      return kind == CollectiveKind::reduce_scatter
                 ? nccl().reduce_scatter(all, own.data(), own.size(), type, ncclSum, communicator,
                                         stream)
                 : nccl().all_gather(own.data(), all, own.size(), type, communicator, stream);
    }
    if (pieces.empty()) return ncclSuccess;
    if (pieces.size() == 1) return exchange(kind, pieces.front(), communicator, stream);
    return at_once(pieces, [&](const DevicePiece& piece) {
      return exchange(kind, piece, communicator, stream);
    });
  }
  /// Makes a call for each of `items`, all of which NCCL then launches together.
  template <class Item>
  static ncclResult_t at_once(std::span<const Item> items, const auto& call) {
    ncclResult_t result = nccl().group_start();
    if (result != ncclSuccess) return result;
    for (const Item& item : items) {
      result = call(item);
      if (result != ncclSuccess && result != ncclInProgress) break;
    }
    // The group must be ended in any case.
    const ncclResult_t ended = nccl().group_end();
    return result == ncclSuccess || result == ncclInProgress ? ended : result;
  }
  ncclResult_t exchange(CollectiveKind kind, const DevicePiece& piece, ncclComm_t communicator,
                        cudaStream_t stream) const {
    void* const values = piece.values.data();
    const ncclDataType_t type = nccl_type(piece.values.type());
    const std::size_t size = piece.values.size();
    const int owner = place_of(piece.owner);
    switch (kind) {
      case CollectiveKind::all_reduce:
        return nccl().all_reduce(values, values, size, type, ncclSum, communicator, stream);
      case CollectiveKind::reduce_scatter:
        return nccl().reduce(values, values, size, type, ncclSum, owner, communicator, stream);
      case CollectiveKind::all_gather:
        return nccl().broadcast(values, values, size, type, owner, communicator, stream);
      case CollectiveKind::broadcast:
      case CollectiveKind::all_to_all:
      case CollectiveKind::shift:
      case CollectiveKind::push:
      case CollectiveKind::pull:
      case CollectiveKind::send:
      case CollectiveKind::receive:
        break;
    }
    return ncclInvalidArgument;
  }
  /// Returns whether there is one piece of equal size per rank, contiguous and in the order of the
  /// ranks' numbers. NCCL has collectives of its own for this case.
  bool are_in_place(std::span<const DevicePiece> pieces) const {
    if (pieces.size() != static_cast<std::size_t>(world_size_)) return false;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const bool follows = i == 0 || (pieces[i].values.size() == pieces[0].values.size() &&
                                      pieces[i].values.data() == end_of(pieces[i - 1].values));
      if (!follows || place_of(pieces[i].owner) != static_cast<int>(i)) return false;
    }
    return true;
  }

  std::size_t count() const {
    std::lock_guard lock(mutex_);
    return communicators_.size();
  }

  /// Puts a collective on a channel into its stream by `call(communicator)`.
  Result<void> put(std::string_view what, int channel, const auto& call) {
    const auto index = static_cast<std::size_t>(channel);
    {
      std::lock_guard lock(mutex_);
      if (is_aborted_) return aborted();
      HOCKET_CHECK(index < communicators_.size(), "open() the channel first");
      const ncclComm_t communicator = communicators_[index].get();
      const ncclResult_t result = call(communicator);
      if (result != ncclSuccess && result != ncclInProgress)
        return fail(what, result, communicator);
    }
    return wait_for(index, what);
  }

  /// Begins to make the next communicator of `owner`, which may be this object, by `make(place)`.
  Result<void> begin_making(const std::string& what, NcclCollective& owner, const auto& make) {
    std::unique_lock lock(mutex_);
    std::unique_lock<std::mutex> owners;
    if (&owner != this) owners = std::unique_lock(owner.mutex_);
    if (is_aborted_) return aborted();
    owner.communicators_.emplace_back();
    const ncclResult_t result = make(owner.communicators_.back().place());
    if (result != ncclSuccess && result != ncclInProgress) return fail(what, result, nullptr);
    return {};
  }

  /// Splits the next communicator of `owner` off the first one of this object, among the ranks that
  /// pass the same `group`, in the order of their keys.
  Result<void> make_from_first(const std::string& what, NcclCollective& owner, int group, int key) {
    auto ok = begin_making(what, owner, [&](ncclComm_t* place) {
      ncclConfig_t config = non_blocking();
      return nccl().split(communicators_.front().get(), group, key, place, &config);
    });
    // The call runs on the first communicator and creates the other.
    if (ok) ok = wait_for(0, what);
    if (ok) ok = owner.wait_for(owner.count() - 1, what);
    return ok;
  }

  /// Takes this rank's number and the number of ranks from the first communicator.
  Result<void> ask_place() {
    std::lock_guard lock(mutex_);
    if (is_aborted_) return aborted();
    const ncclComm_t communicator = communicators_.front().get();
    ncclResult_t result = nccl().user_rank(communicator, &rank_);
    if (result == ncclSuccess) result = nccl().count(communicator, &world_size_);
    if (result != ncclSuccess) return fail("asking for a group's ranks", result, communicator);
    grid_ = {.ranks = world_size_, .ranks_per_host = 1};
    return {};
  }

  /// Blocks until the last call on this communicator is done.
  Result<void> wait_for(std::size_t index, std::string_view what) {
    const auto deadline = steady_deadline();
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        if (is_aborted_) return aborted();
        const CommunicatorSlot& slot = communicators_.at(index);
        const ncclResult_t state = state_of(slot);
        if (state == ncclSuccess) return {};
        if (state != ncclInProgress) return fail(what, state, slot.get());
        if (std::chrono::steady_clock::now() > deadline) {
          has_failed_ = true;
          return failure(ErrorCode::timed_out,
                         std::string(what) + ": not every rank took part within " +
                             std::to_string(options_.timeout_ns / 1'000'000) + " ms");
        }
      }
      std::this_thread::yield();
    }
  }
  std::chrono::steady_clock::time_point steady_deadline() const {
    return std::chrono::steady_clock::now() + std::chrono::nanoseconds(options_.timeout_ns);
  }

  /// Finalizes the last communicator together with the other ranks. Returns false when that fails
  /// or something has failed before.
  bool close_last() {
    std::unique_lock lock(mutex_);
    if (is_aborted_ || has_failed_ || !communicators_.back().get()) return false;
    const ncclComm_t communicator = communicators_.back().get();
    ncclResult_t state = nccl().finalize(communicator);
    const auto deadline = steady_deadline();
    while (state == ncclInProgress && std::chrono::steady_clock::now() < deadline) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
      if (is_aborted_) return false;
      state = state_of(communicator);
    }
    has_failed_ = state != ncclSuccess;
    if (has_failed_) return false;
    communicators_.pop_back();
    nccl().destroy(communicator);
    return true;
  }

  // Set before the first collective:
  int rank_ = 0, world_size_ = 1;
  RankGrid grid_;
  const NcclOptions options_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::deque<CommunicatorSlot> communicators_;  // by channel
  bool is_aborted_ = false;
  bool has_failed_ = false;
};

/// Makes NCCL order the collectives of several communicators, which may be in flight at once.
/// Without an order, two ranks could fill their devices with different collectives that wait for
/// each other. NCCL's order is that in which a rank puts them into streams, which is part of one
/// order of the job. NCCL takes this option only from the environment, and reads it when it is
/// first used.
void order_communicators() {
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
}

/// Sends rank 0's unique id to every rank.
Result<ncclUniqueId> agree_on_id(Collective& messages) {
  ncclUniqueId id{};
  if (messages.rank() == 0) {
    if (const ncclResult_t result = nccl().unique_id(&id); result != ncclSuccess)
      return failure(nccl_error("ncclGetUniqueId", result, nullptr));
    HOCKET_TRY(messages.tell(std::string_view(id.internal, sizeof(id.internal))));
    return id;
  }
  const auto heard = messages.hear();
  HOCKET_TRY(heard);
  if (heard->size() != sizeof(id.internal))
    return failure(ErrorCode::unavailable, "rank 0 sent " + std::to_string(heard->size()) +
                                               " bytes instead of NCCL's id; do all ranks run the "
                                               "same version?");
  std::memcpy(id.internal, heard->data(), heard->size());
  return id;
}

}  // namespace

Result<std::unique_ptr<DeviceCollective>> connect_nccl(Collective& messages, DeviceDriver& driver,
                                                       const NcclOptions& options) {
  if (messages.world_size() == 1) return std::make_unique<SoleRankCollective>(&driver);
  HOCKET_TRY(load_nccl());
  HOCKET_TRY(driver.use_device());
  order_communicators();
  const auto devices = exchange_rank_devices(messages, rank_device(driver));
  if (!devices) return failure(devices.error().in("comparing the ranks' devices"));
  HOCKET_TRY(check_devices_differ(*devices));
  const auto id = agree_on_id(messages);
  if (!id) return failure(id.error().in("agreeing on how the devices meet"));
  auto collective = std::make_unique<NcclCollective>(options);
  HOCKET_TRY(collective->connect(messages.rank(), messages.grid(), *id));
  return collective;
}

}  // namespace hocket
