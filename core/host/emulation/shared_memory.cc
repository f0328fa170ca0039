#include "core/host/emulation/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/greeting/rendezvous_secret.h"

namespace hocket {
namespace {

tl::unexpected<Error> failed(const std::string& what) {
  return failure(ErrorCode::unavailable,
                 "emulated links: " + what + ": " + std::generic_category().message(errno));
}

/// Returns what the system shows of the memory behind a descriptor or its path.
std::string label(const std::string& secret) {
  return "hocket-links-" + secret;
}

std::string target_of(const std::string& path) {
  std::array<char, 256> target{};
  const auto size = ::readlink(path.c_str(), target.data(), target.size());
  return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace

Result<SharedMemory> SharedMemory::make(std::size_t size_bytes) {
  const std::string secret = random_rendezvous_secret();
  const int descriptor = ::memfd_create(label(secret).c_str(), MFD_CLOEXEC);
  if (descriptor < 0) return failed("cannot make their memory");
  SharedMemory memory(descriptor, "/proc/" + std::to_string(::getpid()) + "/fd/" +
                                      std::to_string(descriptor) + " " + secret);
  if (::ftruncate(descriptor, static_cast<off_t>(size_bytes)) != 0)
    return failed("cannot make their memory");
  HOCKET_TRY(memory.map(size_bytes));
  return memory;
}

Result<SharedMemory> SharedMemory::open(const std::string& name) {
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
  SharedMemory memory(descriptor, name);
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return failed("cannot open " + path + " of rank 0");
  HOCKET_TRY(memory.map(static_cast<std::size_t>(status.st_size)));
  return memory;
}

Result<void> SharedMemory::map(std::size_t size_bytes) {
  void* const mapped =
      ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapped == MAP_FAILED) return failed("cannot map their memory");
  data_ = static_cast<std::byte*>(mapped);
  size_bytes_ = size_bytes;
  return {};
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      name_(std::move(other.name_)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(other.size_bytes_) {}

SharedMemory::~SharedMemory() {
  if (data_) ::munmap(data_, size_bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace hocket
