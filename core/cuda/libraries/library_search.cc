#include "core/cuda/libraries/library_search.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace hocket {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> split(std::string_view list, char separator) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(separator), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

/// Returns the entries of `folder` in the order of their names; none if it cannot be read.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

class Folders {
 public:
  void add(const fs::path& folder) {
    std::error_code error;
    if (fs::is_directory(folder, error) && std::ranges::find(all_, folder) == all_.end())
      all_.push_back(folder);
  }
  void add_toolkit(const fs::path& root) {
    add(root / "lib64");
    add(root / "lib");
    add(root / "extras/CUPTI/lib64");
  }
  void add_python(const fs::path& root) {
    for (const fs::path& version : entries(root / "lib")) {
      if (!version.filename().string().starts_with("python3")) continue;
      // Debian's Python calls the folder dist-packages.
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const fs::path& package : entries(version / packages / "nvidia")) add(package / "lib");
    }
  }
  std::vector<fs::path> take() { return std::move(all_); }

 private:
  std::vector<fs::path> all_;
};

}  // namespace

LibraryHints library_hints() {
  LibraryHints hints;
#ifdef HOCKET_NVIDIA_LIBRARY_FOLDERS
  hints.built_with = split(HOCKET_NVIDIA_LIBRARY_FOLDERS, ':');
#endif
  hints.toolkit = variable("CUDA_HOME");
  if (hints.toolkit.empty()) hints.toolkit = variable("CUDA_PATH");
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string root = variable(name); !root.empty()) hints.python_roots.push_back(root);
  for (const std::string& folder : split(variable("PATH"), ':')) {
    // A link is not followed: that of a virtual environment leads out of it.
    std::error_code error;
    if (fs::exists(fs::path(folder) / "python3", error))
      hints.python_roots.push_back(fs::path(folder).parent_path().string());
  }
  return hints;
}

std::vector<fs::path> library_folders(const LibraryHints& hints) {
  Folders folders;
  for (const std::string& folder : hints.built_with) folders.add(folder);
  if (!hints.toolkit.empty()) folders.add_toolkit(hints.toolkit);
  folders.add_toolkit("/usr/local/cuda");
  for (const std::string& root : hints.python_roots) folders.add_python(root);
  return folders.take();
}

std::vector<std::string> library_candidates(const std::string& name,
                                            const std::vector<fs::path>& folders) {
  std::vector<std::string> candidates{name};
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::exists(folder / name, error)) candidates.push_back((folder / name).string());
  }
  return candidates;
}

std::vector<std::string> library_candidates(const std::string& name) {
  return library_candidates(name, library_folders(library_hints()));
}

std::vector<std::string> library_versions(const std::string& prefix,
                                          const std::vector<fs::path>& folders) {
  std::vector<std::string> versions;
  for (const fs::path& folder : folders)
    for (const fs::path& file : entries(folder))
      if (file.filename().string().starts_with(prefix)) versions.push_back(file.string());
  return versions;
}

}  // namespace hocket
