#include "client/live/process_meter.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <random>

namespace hocket {
namespace {

/// Looks after which the list of connections is made anew.
constexpr int kLooksPerList = 20;
/// A process with more connections is a server of some kind; those beyond are not looked at.
constexpr std::size_t kMostConnections = 256;

std::int64_t processor_now_ns() {
  timespec time = {};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// Weight of a look in the share of those that found queued bytes.
constexpr double kLookWeight = 0.1;

struct Connection {
  bool has_queued = false;      ///< bytes that were not sent yet, with room for them
  std::int64_t no_room_us = 0;  ///< time in which the receiver had no room, so far
};

/// Returns nothing for another descriptor, and on a kernel older than 4.10, which does not say it.
std::optional<Connection> look_at(int descriptor) {
  tcp_info info = {};
  socklen_t bytes = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return std::nullopt;
  constexpr std::size_t kNeeded = offsetof(tcp_info, tcpi_rwnd_limited) + sizeof(std::uint64_t);
  if (bytes < kNeeded) return std::nullopt;
  // Kernels older than 5.4 do not say the room; the time without it is coarse, but enough between
  // two looks.
  const bool says_room = bytes >= offsetof(tcp_info, tcpi_snd_wnd) + sizeof(std::uint32_t);
  const auto after_one_more =
      (std::uint64_t{info.tcpi_unacked} + 1) * std::uint64_t{info.tcpi_snd_mss};
  const bool has_room = !says_room || after_one_more <= info.tcpi_snd_wnd;
  return Connection{info.tcpi_notsent_bytes > 0 && has_room,
                    static_cast<std::int64_t>(info.tcpi_rwnd_limited)};
}

}  // namespace

std::optional<ProcessUse> ProcessMeter::step_ended(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const std::int64_t processor_ns = processor_now_ns();
  std::optional<ProcessUse> use;
  if (last_ns_ && now_ns > *last_ns_) {
    const auto step_ns = static_cast<double>(now_ns - *last_ns_);
    use = ProcessUse{processor_ns - last_processor_ns_,
                     static_cast<std::int64_t>(queued_share_ * step_ns)};
  }
  last_ns_ = now_ns;
  last_processor_ns_ = processor_ns;
  return use;
}

void ProcessMeter::start() {
  if (thread_.joinable()) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { look_until(stop); });
}

void ProcessMeter::look_until(const std::stop_token& stop) {
  // Steps may be as even as a clock.
  std::minstd_rand random(static_cast<unsigned>(processor_now_ns()));
  std::uniform_int_distribution pause_ms(70, 130);
  std::mutex own;
  std::condition_variable_any stopped;
  std::unique_lock lock(own);
  while (!stop.stop_requested()) {
    stopped.wait_for(lock, stop, std::chrono::milliseconds(pause_ms(random)), [] { return false; });
    look();
  }
}

void ProcessMeter::look() {
  const std::lock_guard lock(mutex_);
  if (looks_++ % kLooksPerList == 0) find_connections();
  bool has_queued = false;
  for (auto at = no_room_us_.begin(); at != no_room_us_.end();) {
    const auto now = look_at(at->first);
    if (!now) {
      at = no_room_us_.erase(at);
      continue;
    }
    // Bytes that wait for a receiver say nothing about the link.
    has_queued |= now->has_queued && now->no_room_us == at->second;
    at->second = now->no_room_us;
    ++at;
  }
  queued_share_ += kLookWeight * ((has_queued ? 1 : 0) - queued_share_);
}

void ProcessMeter::find_connections() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* const entry = readdir(folder)) {
    char* end = nullptr;
    const long descriptor = std::strtol(entry->d_name, &end, 10);
    if (end == entry->d_name || *end != '\0') continue;
    const int number = static_cast<int>(descriptor);
    if (no_room_us_.contains(number) || no_room_us_.size() >= kMostConnections) continue;
    if (const auto found = look_at(number)) no_room_us_.emplace(number, found->no_room_us);
  }
  closedir(folder);
}

}  // namespace hocket
