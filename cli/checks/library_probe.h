#pragma once

// Finds out whether a shared library can be opened, without opening it in this process: some start
// threads or change what other libraries do. One thread.

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace hocket {

struct ProbedLibrary {
  std::string file;              ///< the candidate that was opened
  std::optional<int> interface;  ///< result of its function hocket_client_abi(), if it has one

  friend bool operator==(const ProbedLibrary&, const ProbedLibrary&) = default;
};

/// Returns the first of the candidates, names for the loader or paths, that can be opened; nothing
/// if none can.
using LibraryProbe =
    std::function<std::optional<ProbedLibrary>(std::span<const std::string> candidates)>;

/// Opens the candidates in a child process.
std::optional<ProbedLibrary> probe_library(std::span<const std::string> candidates);

/// Opens `file`, a name for the loader or a path, in a child process. Returns the loader's message
/// if that fails, else an empty text.
std::string why_not_opened(const std::string& file);

}  // namespace hocket
