#pragma once

// The training text: bytes are tokens. Immutable after loading, so thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace hocket {

/// Determines the windows of a text to draw: equal keys give equal windows.
struct BatchKey {
  std::uint64_t seed = 0;
  int rank = 0;
  std::int64_t step = 0;
};

class Text {
 public:
  /// Reads a file, or all regular files directly in a folder in the order of their names. Returns
  /// unavailable when they cannot be read, and invalid_argument when there are fewer than
  /// `minimum_bytes`.
  static Result<Text> load(const std::string& path, std::size_t minimum_bytes);

  explicit Text(std::string bytes) : bytes_(std::move(bytes)) {}

  std::size_t size() const { return bytes_.size(); }

  /// Returns the largest token; 0 for an empty text.
  int largest_token() const;

  /// Draws a random window of sequence + 1 bytes for each of `inputs.size() / sequence` sequences:
  /// its first `sequence` bytes become inputs, its last `sequence` targets. The text must have
  /// sequence + 1 bytes.
  void draw(const BatchKey& key, int sequence, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) const;

 private:
  std::string bytes_;
};

}  // namespace hocket
