#pragma once

// Keeps the places of files from those who need not know them: where the daemon's user lives and
// where the store is says whom to attack, and where. Pure; immutable; thread-safe.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket {

/// Folders whose paths only administrators see. Everybody else sees ".../" in their place.
class HiddenFolders {
 public:
  HiddenFolders() = default;
  /// Ignores what is not an absolute path below the root.
  explicit HiddenFolders(std::vector<std::string> folders);

  /// Returns whether `text`, which may be JSON, names one of them.
  bool are_in(std::string_view text) const;
  /// Returns `text` without their paths.
  std::string hide_in(std::string text) const;

 private:
  std::vector<std::pair<std::string, std::string>> shown_;  // path, and what is shown for it
};

/// Returns `text`, a path or an argument of a command, with the names of files in place of absolute
/// paths: "--data=/nfs/ada/x.bin" becomes "--data=x.bin". Addresses stay as they are.
std::string with_file_names(std::string_view text);

}  // namespace hocket
