#pragma once

// The content of files that a command names, as a fingerprint: tells whether a script has changed
// since it was measured. Reads the file system; thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace hocket {

struct FileFingerprint {
  std::string path;         ///< absolute
  std::string fingerprint;  ///< of the content (core/base/fingerprint.h)
  /// The command runs this file; otherwise it is an argument, which the command may write.
  bool is_program = false;

  bool operator==(const FileFingerprint&) const = default;
};

/// Larger files are data, which nobody edits between two trials.
inline constexpr std::int64_t kMostFingerprintedBytes = 4 << 20;

/// Returns the fingerprint of a regular file of at most kMostFingerprintedBytes; nothing for
/// another one, or one that cannot be read.
std::optional<std::string> content_fingerprint(const std::string& path);

enum class FilesCompared { all, programs };

/// Returns the first of `files` whose content is another one now, or that is not there any more;
/// null if there is none.
const FileFingerprint* changed_file(std::span<const FileFingerprint> files,
                                    FilesCompared compared = FilesCompared::all);

}  // namespace hocket
