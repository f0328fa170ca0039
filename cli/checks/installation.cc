#include "cli/checks/installation.h"

#include <algorithm>

#include "capi/hocket_client.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClientLibrary = "libhocket_client.so.1";

/// Returns the places in which jobs find the library, in their order.
std::vector<std::string> client_candidates(const fs::path& prefix, const std::string& variable) {
  if (!variable.empty()) return {variable};
  std::vector<std::string> candidates;
  for (const char* folder : {HOCKET_INSTALL_LIBDIR, "lib"}) {
    const fs::path file = prefix / folder / kClientLibrary;
    std::error_code error;
    if (fs::exists(file, error)) candidates.push_back(file.string());
  }
  candidates.emplace_back(kClientLibrary);
  return candidates;
}

DoctorCheck check_client_library(const fs::path& prefix, const std::string& variable,
                                 const LibraryProbe& probe) {
  DoctorCheck check{.what = kClientLibraryCheck, .found = {}};
  const auto candidates = client_candidates(prefix, variable);
  const auto library = probe(candidates);
  if (library && library->interface == HOCKET_CLIENT_ABI) {
    check.found = library->file;
    return check;
  }
  if (library) {
    check.state = CheckState::wrong;
    check.found = library->file + " has another interface than " + kClientLibrary;
    check.remedy = "pip install --upgrade hocket: program and library of one version";
    return check;
  }
  check.state = variable.empty() ? CheckState::missing : CheckState::wrong;
  for (const std::string& candidate : candidates) {
    check.found += (check.found.empty() ? "none of " : ", ") + candidate;
  }
  check.remedy = variable.empty()
                     ? "pip install hocket (or the package libhocket-client1), or name the file in "
                       "HOCKET_CLIENT_LIBRARY"
                     : "HOCKET_CLIENT_LIBRARY must name the library's file";
  return check;
}

/// Says whether one of the files is there, which `remedy` brings.
DoctorCheck check_files(const std::string& what, const std::vector<fs::path>& files,
                        const std::string& remedy) {
  const auto exists = [](const fs::path& file) {
    std::error_code error;
    return fs::exists(file, error);
  };
  const auto found = std::ranges::find_if(files, exists);
  if (found != files.end()) return {.what = what, .found = found->string()};
  return {.what = what,
          .state = CheckState::missing,
          .found = "no " + files.front().string(),
          .remedy = remedy};
}

}  // namespace

std::vector<DoctorCheck> check_installation(const Installation& installation,
                                            const LibraryProbe& probe) {
  const fs::path prefix = installation.program.parent_path().parent_path();
  const fs::path share = prefix / "share";
  return {
      {.what = "program",
       .found = "hocket " + installation.version + ", " + installation.program.string()},
      check_client_library(prefix, installation.client_library, probe),
      // pip installs the program into the package.
      check_files("Python package",
                  {share / "hocket/python/hocket/torch/__init__.py", prefix / "torch/__init__.py"},
                  "for `hocket torch`: pip install hocket (or the package python3-hocket)"),
      check_files("manual pages", {share / "man/man1/hocket.1.gz", share / "man/man1/hocket.1"},
                  "cmake --install, or the package hocket, brings them"),
      check_files("completion", {share / "bash-completion/completions/hocket"},
                  "source <(hocket completion bash)"),
  };
}

}  // namespace hocket
