#include "core/host/link_queues.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <system_error>
#include <utility>

#include "core/base/check.h"
#include "core/greeting/rendezvous_secret.h"

namespace hocket {
namespace {

using SharedTime = std::atomic_ref<std::int64_t>;
static_assert(SharedTime::is_always_lock_free, "a lock would not be shared by processes");

tl::unexpected<Error> failed(const std::string& what) {
  return failure(ErrorCode::unavailable,
                 "emulated links: " + what + ": " + std::generic_category().message(errno));
}

/// Returns what the system shows of the links behind a descriptor or its path.
std::string label(const std::string& secret) {
  return "hocket-links-" + secret;
}

std::string target_of(const std::string& path) {
  std::array<char, 256> target{};
  const auto size = ::readlink(path.c_str(), target.data(), target.size());
  return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace

Result<LinkQueues> LinkQueues::make(std::vector<double> bytes_per_second) {
  const std::string secret = random_rendezvous_secret();
  const int descriptor = ::memfd_create(label(secret).c_str(), MFD_CLOEXEC);
  if (descriptor < 0) return failed("cannot make their memory");
  LinkQueues links(
      descriptor,
      "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor) + " " + secret,
      std::move(bytes_per_second));
  // The new memory is zero: every link is free since the clock began.
  if (::ftruncate(descriptor, static_cast<off_t>(links.size_bytes())) != 0)
    return failed("cannot make their memory");
  HOCKET_TRY(links.map());
  return links;
}

Result<LinkQueues> LinkQueues::open(const std::string& name, std::vector<double> bytes_per_second) {
  const std::size_t space = name.find(' ');
  const std::string path = name.substr(0, space);
  // On another machine the path may be that of some file, which must not be opened.
  if (space == std::string::npos ||
      target_of(path) != "/memfd:" + label(name.substr(space + 1)) + " (deleted)") {
    return failure(ErrorCode::unavailable,
                   "emulated links: this machine has no " + path +
                       " of rank 0; emulated links need all ranks on one machine");
  }
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return failed("cannot open " + path + " of rank 0");
  LinkQueues links(descriptor, name, std::move(bytes_per_second));
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return failed("cannot open " + path + " of rank 0");
  if (static_cast<std::size_t>(status.st_size) != links.size_bytes()) {
    return invalid("emulated links: rank 0 has " +
                   std::to_string(static_cast<std::size_t>(status.st_size) / sizeof(std::int64_t)) +
                   " and this rank " + std::to_string(links.bytes_per_second_.size()) +
                   "; start all ranks with the same options");
  }
  HOCKET_TRY(links.map());
  return links;
}

Result<void> LinkQueues::map() {
  void* const memory =
      ::mmap(nullptr, size_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) return failed("cannot map their memory");
  free_ns_ = static_cast<std::int64_t*>(memory);
  return {};
}

LinkQueues::LinkQueues(LinkQueues&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      name_(std::move(other.name_)),
      bytes_per_second_(std::move(other.bytes_per_second_)),
      free_ns_(std::exchange(other.free_ns_, nullptr)) {}

LinkQueues::~LinkQueues() {
  if (free_ns_) ::munmap(free_ns_, size_bytes());
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::int64_t LinkQueues::carry(double bytes, std::span<const std::uint32_t> links,
                               std::int64_t ready_ns) {
  std::int64_t arrived_ns = ready_ns;
  for (const std::uint32_t link : links) {
    HOCKET_CHECK(link < bytes_per_second_.size(), "there is such a link");
    const std::int64_t takes_ns = std::llround(bytes / bytes_per_second_[link] * 1e9);
    const SharedTime free_ns(free_ns_[link]);
    std::int64_t before_ns = free_ns.load(), after_ns = 0;
    do {
      after_ns = std::max(ready_ns, before_ns) + takes_ns;
    } while (!free_ns.compare_exchange_weak(before_ns, after_ns));
    arrived_ns = std::max(arrived_ns, after_ns);
  }
  return arrived_ns;
}

Result<LinkQueues> share_link_queues(Collective& collective, std::vector<double> bytes_per_second) {
  if (collective.rank() != 0) {
    const auto name = collective.hear();
    if (!name) return failure(name.error().in("waiting for rank 0's emulated links"));
    return LinkQueues::open(*name, std::move(bytes_per_second));
  }
  auto links = LinkQueues::make(std::move(bytes_per_second));
  HOCKET_TRY(links);
  HOCKET_TRY(collective.tell(links->name()));
  return links;
}

}  // namespace hocket
