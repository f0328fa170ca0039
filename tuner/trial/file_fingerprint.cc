#include "tuner/trial/file_fingerprint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/base/fingerprint.h"

namespace hocket {

std::optional<std::string> content_fingerprint(const std::string& path) {
  std::error_code error;
  // A pipe or a device would be waited for.
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const auto size = std::filesystem::file_size(path, error);
  if (error || size > static_cast<std::uintmax_t>(kMostFingerprintedBytes)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return std::nullopt;
  return fingerprint_of_bytes(content);
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
