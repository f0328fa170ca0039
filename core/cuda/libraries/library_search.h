#pragma once

// Finds NVIDIA's libraries on this machine. A program opens them when it needs them
// (shared_library.h), so it starts on machines that lack them. They come with the CUDA toolkit, or
// with Python packages, which PyTorch brings: these have a folder nvidia/*/lib in the environment's
// site-packages, which no loader searches.

#include <filesystem>
#include <string>
#include <vector>

namespace hocket {

/// The places of the environment in which libraries may be. Empty members are left out.
struct LibraryHints {
  std::vector<std::string> built_with;  ///< folders in which the build found them
  std::string toolkit;                  ///< root of the toolkit: CUDA_HOME, or else CUDA_PATH
  /// Roots of Python environments: VIRTUAL_ENV, CONDA_PREFIX, and those that the folders of PATH
  /// with a python3 belong to, in this order.
  std::vector<std::string> python_roots;
};

/// Returns the hints of this process' environment.
LibraryHints library_hints();

/// Returns the existing folders to look in, in this order: those of the build, those of the
/// toolkit, /usr/local/cuda, and those of the Python environments. Each is listed once.
std::vector<std::filesystem::path> library_folders(const LibraryHints& hints);

/// Returns what to try for the library `name` ("libnccl.so.2"): the name alone, which the loader
/// looks up (LD_LIBRARY_PATH, the system's folders), then its path in each folder that has it.
std::vector<std::string> library_candidates(const std::string& name,
                                            const std::vector<std::filesystem::path>& folders);
/// The same with the folders of this process.
std::vector<std::string> library_candidates(const std::string& name);

/// Returns the paths of all files in these folders whose names begin with `prefix`
/// ("libnvrtc-builtins.so."), for a library of which the version is not known.
std::vector<std::string> library_versions(const std::string& prefix,
                                          const std::vector<std::filesystem::path>& folders);

}  // namespace hocket
