#include "cli/checks/library_probe.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/cuda/libraries/shared_library.h"

namespace hocket {
namespace {

/// The answer of the child process: the index of the candidate that it opened, and the number of
/// its interface or -1.
using Told = std::array<int, 2>;

constexpr std::size_t kMostMessageBytes = 400;

Told open_first(std::span<const std::string> candidates) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto library = open_library(candidates[i]);
    if (!library) continue;
    int (*interface)() = nullptr;
    FunctionLookup(*library).find("hocket_client_abi", interface);
    return {static_cast<int>(i), interface == nullptr ? -1 : interface()};
  }
  return {-1, -1};
}

/// Reads all that the child writes before it ends, at most `bytes`.
std::size_t read_all(int fd, char* target, std::size_t bytes) {
  std::size_t total = 0;
  while (total < bytes) {
    const ssize_t count = ::read(fd, target + total, bytes - total);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    total += static_cast<std::size_t>(count);
  }
  return total;
}

/// Runs `tell(fd)`, which writes to `fd`, in a child process. Returns what it has written, at most
/// `bytes`; nothing if there is no process.
template <class Tell>
std::optional<std::string> told_by_child(const Tell& tell, std::size_t bytes) {
  int ends[2];
  if (::pipe(ends) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    tell(ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string told(bytes, '\0');
  if (child > 0) told.resize(read_all(ends[0], told.data(), bytes));
  ::close(ends[0]);
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (child < 0) return std::nullopt;
  return told;
}

}  // namespace

std::optional<ProbedLibrary> probe_library(std::span<const std::string> candidates) {
  const auto tell = [&](int fd) {
    const Told told = open_first(candidates);
    [[maybe_unused]] const ssize_t written = ::write(fd, told.data(), sizeof told);
  };
  const auto bytes = told_by_child(tell, sizeof(Told));
  Told told{-1, -1};
  if (!bytes || bytes->size() != sizeof told) return std::nullopt;
  std::memcpy(told.data(), bytes->data(), sizeof told);
  if (told[0] < 0) return std::nullopt;
  ProbedLibrary found{candidates[static_cast<std::size_t>(told[0])], std::nullopt};
  if (told[1] >= 0) found.interface = told[1];
  return found;
}

std::string why_not_opened(const std::string& file) {
  const auto tell = [&](int fd) {
    const auto library = open_library(file);
    const std::string why = library ? "" : library.error().message;
    [[maybe_unused]] const ssize_t written = ::write(fd, why.data(), why.size());
  };
  return told_by_child(tell, kMostMessageBytes).value_or("");
}

}  // namespace hocket
