#pragma once

// Checks hocket's own installation: whether its parts are there and fit together. Reads files. One
// thread.

#include <filesystem>
#include <string>
#include <vector>

#include "cli/checks/check.h"
#include "cli/checks/library_probe.h"

namespace hocket {

struct Installation {
  std::filesystem::path program;  ///< the program's file, PREFIX/bin/hocket
  std::string version;
  std::string client_library;  ///< HOCKET_CLIENT_LIBRARY; empty if it is not set
};

/// DoctorCheck::what of the client library.
inline constexpr const char* kClientLibraryCheck = "client library";

/// Returns checks of the program, the client library, the package for Python, the manual pages and
/// the completion.
std::vector<DoctorCheck> check_installation(const Installation& installation,
                                            const LibraryProbe& probe);

}  // namespace hocket
