#include "cli/checks/library_probe.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/cuda/libraries/shared_library.h"

namespace hocket {
namespace {

/// The answer of the child process: the index of the candidate that it opened, and the number of
/// its interface or -1.
using Told = std::array<int, 2>;

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

bool read_told(int fd, Told& told) {
  ssize_t count;
  do {
    count = ::read(fd, told.data(), sizeof told);
  } while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(sizeof told);
}

}  // namespace

std::optional<ProbedLibrary> probe_library(std::span<const std::string> candidates) {
  int ends[2];
  if (::pipe(ends) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    const Told told = open_first(candidates);
    const bool is_written = ::write(ends[1], told.data(), sizeof told) == sizeof told;
    ::_exit(is_written ? 0 : 1);
  }
  ::close(ends[1]);
  Told told{-1, -1};
  const bool is_told = child > 0 && read_told(ends[0], told);
  ::close(ends[0]);
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!is_told || told[0] < 0) return std::nullopt;
  ProbedLibrary found{candidates[static_cast<std::size_t>(told[0])], std::nullopt};
  if (told[1] >= 0) found.interface = told[1];
  return found;
}

}  // namespace hocket
