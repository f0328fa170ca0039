#include "core/host/messages/message_stream.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <utility>

namespace hocket {
namespace {

/// Memory for a message that nobody waits for grows with what has arrived, not with what its head
/// claims.
constexpr std::size_t kGrowthBytes = 1 << 20;

}  // namespace

Result<void> OutgoingMessages::open() {
  if (error_) return failure(*error_);
  if (socket_) return {};
  auto socket = connect_();
  if (socket) {
    socket_ = std::move(*socket);
    return {};
  }
  error_ = socket.error();
  return failure(*error_);
}

Result<void> OutgoingMessages::send(const MessageKey& key, std::span<const std::byte> bytes) {
  const message_wire::Head head{.group = key.group, .index = key.index, .bytes = bytes.size()};
  const std::lock_guard lock(mutex_);
  HOCKET_TRY(open());
  const auto error = socket_.write(std::as_bytes(std::span(&head, 1)), bytes);
  if (!error) return {};
  error_ = lost_peer(options_.peer, error, options_.timeout);
  return failure(*error_);
}

Result<void> IncomingMessages::receive(const MessageKey& key, std::span<std::byte> into) {
  Lock lock(mutex_);
  Receiver own{.into = into};
  if (const auto kept = early_.find(key); kept != early_.end()) {
    hand_over(own, key, kept->second.front());
    kept->second.pop_front();
    if (kept->second.empty()) early_.erase(kept);
  } else if (!receivers_.emplace(key, &own).second) {
    return invalid("message " + std::to_string(key.index) + " from rank " +
                   std::to_string(options_.peer) + " is received twice at once");
  }
  while (!own.is_done) {
    if (error_ && !own.is_filling) {
      receivers_.erase(key);
      return failure(*error_);
    }
    if (is_reading_ || own.is_filling) {
      changed_.wait(lock);  // the reading thread's time limit ends this one's wait
    } else if (socket_) {
      read_message(lock);
    } else {
      wait_for_connection(lock);
    }
  }
  if (own.error) return failure(*own.error);
  return {};
}

void IncomingMessages::wait_for_connection(Lock& lock) {
  const bool in_time =
      changed_.wait_for(lock, options_.timeout, [this] { return error_ || socket_; });
  if (in_time) return;
  fail(lost_peer(options_.peer, std::make_error_code(std::errc::timed_out), options_.timeout));
}

void IncomingMessages::read_message(Lock& lock) {
  is_reading_ = true;
  message_wire::Head head;
  lock.unlock();
  auto error = socket_.read(std::as_writable_bytes(std::span(&head, 1)));
  lock.lock();
  if (!error) error = read_payload(lock, head);
  is_reading_ = false;
  if (error) fail(lost_peer(options_.peer, error, options_.timeout));
  // The thread whose message it was, or the one that reads next.
  if (!receivers_.empty() || error) changed_.notify_all();
}

std::error_code IncomingMessages::read_payload(Lock& lock, const message_wire::Head& head) {
  const MessageKey key{head.group, head.index};
  const auto found = receivers_.find(key);
  if (found == receivers_.end()) return keep(lock, head);
  Receiver& receiver = *found->second;
  const bool fits = head.bytes == receiver.into.size();
  if (!fits) receiver.error = wrong_size(key, head.bytes, receiver.into.size());
  receiver.is_filling = true;
  const auto error = fits ? fill(lock, receiver) : drop(lock, head.bytes);
  receiver.is_filling = false;
  receiver.is_done = !error;
  receivers_.erase(key);
  return error;
}

std::error_code IncomingMessages::fill(Lock& lock, Receiver& receiver) {
  lock.unlock();
  const auto error = socket_.read(receiver.into);
  lock.lock();
  return error;
}

std::error_code IncomingMessages::drop(Lock& lock, std::uint64_t bytes) {
  lock.unlock();
  std::array<std::byte, 4096> dropped;
  std::error_code error;
  while (!error && bytes > 0) {
    const auto some = std::min<std::uint64_t>(bytes, dropped.size());
    error = socket_.read(std::span(dropped).first(some));
    bytes -= some;
  }
  lock.lock();
  return error;
}

std::error_code IncomingMessages::keep(Lock& lock, const message_wire::Head& head) {
  lock.unlock();
  std::vector<std::byte> message;
  std::error_code error;
  try {
    while (!error && message.size() < head.bytes) {
      const std::size_t begin = message.size();
      message.resize(begin + std::min<std::uint64_t>(head.bytes - begin, kGrowthBytes));
      error = socket_.read(std::span(message).subspan(begin));
    }
  } catch (const std::exception&) {
    error = std::make_error_code(std::errc::not_enough_memory);
  }
  lock.lock();
  if (error) return error;
  const MessageKey key{head.group, head.index};
  const auto found = receivers_.find(key);
  if (found == receivers_.end()) {
    early_[key].push_back(std::move(message));
    return {};
  }
  // Its receiver has come meanwhile.
  hand_over(*found->second, key, message);
  receivers_.erase(found);
  return {};
}

void IncomingMessages::hand_over(Receiver& receiver, const MessageKey& key,
                                 std::span<const std::byte> bytes) const {
  receiver.is_done = true;
  if (bytes.size() == receiver.into.size()) {
    std::ranges::copy(bytes, receiver.into.begin());
  } else {
    receiver.error = wrong_size(key, bytes.size(), receiver.into.size());
  }
}

Error IncomingMessages::wrong_size(const MessageKey& key, std::size_t sent,
                                   std::size_t expected) const {
  return {ErrorCode::invalid_argument,
          "rank " + std::to_string(options_.peer) + " sent " + std::to_string(sent) +
              " bytes as message " + std::to_string(key.index) + ", and this rank receives " +
              std::to_string(expected) + "; send and receive equally many values"};
}

void IncomingMessages::fail(const Error& error) {
  if (!error_) error_ = error;
  changed_.notify_all();
}

bool IncomingMessages::is_unknown() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(was_asked_, true) && !is_expected_;
}

bool IncomingMessages::expect() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(is_expected_, true);
}

void IncomingMessages::attach(MessageSocket socket) {
  const std::lock_guard lock(mutex_);
  socket_ = std::move(socket);
  changed_.notify_all();
}

void IncomingMessages::give_up() {
  const std::lock_guard lock(mutex_);
  if (!socket_) fail(lost_peer(options_.peer, std::make_error_code(std::errc::broken_pipe), {}));
}

void IncomingMessages::end_unless_connected(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!is_expected_) fail(error);
}

void IncomingMessages::end(const Error& error) {
  const std::lock_guard lock(mutex_);
  fail(error);
}

}  // namespace hocket
