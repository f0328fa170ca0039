#pragma once

// Sockets that move messages on the calling thread, and that another thread can shut down.

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <set>
#include <span>
#include <system_error>

#include "core/base/result.h"
#include "core/files/descriptor.h"

namespace hocket {

/// The sockets of one rank, to shut them all down at once. Thread-safe.
class OpenSockets {
 public:
  OpenSockets();
  ~OpenSockets();
  OpenSockets(const OpenSockets&) = delete;
  OpenSockets& operator=(const OpenSockets&) = delete;

  /// Shuts down `socket` as well if the others are.
  void add(int socket);
  /// Call before closing it: the number may be used again.
  void remove(int socket);

  /// Ends the calls that use any of the sockets, and of those that are added later.
  void shut_down();
  bool is_shut_down() const { return is_shut_down_; }
  /// Can be read from once the sockets are shut down; for threads that wait for sockets that are
  /// not connected yet. Negative if the process had no descriptor left.
  int stop_descriptor() const { return stop_.get(); }

 private:
  const FileDescriptor stop_;
  std::atomic<bool> is_shut_down_ = false;
  std::mutex mutex_;
  std::set<int> sockets_;  ///< guarded by mutex_
};

/// A connected socket of an OpenSockets, which must outlive it. Its errors are those of the system:
/// broken_pipe when the peer has ended the connection, resource_unavailable_try_again when nothing
/// moved for the time limit. One thread may read while another writes.
class MessageSocket {
 public:
  MessageSocket() = default;
  /// `timeout` is the time limit for a peer that moves nothing.
  MessageSocket(OpenSockets& sockets, FileDescriptor socket, std::chrono::milliseconds timeout);
  MessageSocket(MessageSocket&& other) noexcept;
  MessageSocket& operator=(MessageSocket&& other) noexcept;
  ~MessageSocket();

  explicit operator bool() const { return static_cast<bool>(socket_); }

  /// Fills `bytes`.
  std::error_code read(std::span<std::byte> bytes) const;
  /// Writes both, in order.
  std::error_code write(std::span<const std::byte> head, std::span<const std::byte> bytes) const;

 private:
  OpenSockets* sockets_ = nullptr;
  FileDescriptor socket_;
};

/// Returns the error of a connection to `rank` that broke with `why`: timed_out if it was silent
/// for `timeout`, otherwise unavailable.
Error lost_peer(int rank, const std::error_code& why, std::chrono::milliseconds timeout);

}  // namespace hocket
