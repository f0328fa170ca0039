#include "tuner/trial/file_fingerprint.h"

#include <algorithm>

#include "core/base/fingerprint.h"
#include "core/files/regular_file.h"

namespace hocket {

std::optional<std::string> content_fingerprint(const std::string& path) {
  const auto content = read_regular_file(path, kMostFingerprintedBytes);
  if (!content) return std::nullopt;
  return fingerprint_of_bytes(*content);
}

const FileFingerprint* changed_file(std::span<const FileFingerprint> files,
                                    FilesCompared compared) {
  const auto found = std::ranges::find_if(files, [&](const FileFingerprint& file) {
    return (compared == FilesCompared::all || file.is_program) &&
           content_fingerprint(file.path) != file.fingerprint;
  });
  return found == files.end() ? nullptr : &*found;
}

}  // namespace hocket
