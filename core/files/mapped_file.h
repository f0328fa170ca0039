#pragma once

// Files whose bytes are read where the kernel keeps them, for those that are larger than what is
// read of them at a time: weights, tokens. A file must not become shorter while it is mapped: the
// kernel ends a process that reads behind the end. Immutable after opening, so thread-safe.

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace hocket {

class MappedFile {
 public:
  /// Maps a regular file. Errors as open_regular_file(), and unavailable if it cannot be mapped.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace hocket
