#pragma once

// The training text: bytes are tokens. Immutable after loading, so thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "models/data/token_source.h"

namespace hocket {

class Text {
 public:
  /// Reads a file, or all regular files directly in a folder in the order of their names. Returns
  /// unavailable or not_found when they cannot be read, and invalid_argument when there are fewer
  /// than `minimum_bytes`.
  static Result<Text> load(const std::string& path, std::size_t minimum_bytes);

  explicit Text(std::string bytes) : tokens_(TokenSource::of_text(std::move(bytes))) {}

  std::size_t size() const { return static_cast<std::size_t>(tokens_.size()); }

  /// Returns the largest token; 0 for an empty text.
  int largest_token() const { return static_cast<int>(tokens_.largest_token()); }

  /// Draws a random window of sequence + 1 bytes for each of `inputs.size() / sequence` sequences:
  /// its first `sequence` bytes become inputs, its last `sequence` targets. The text must have
  /// sequence + 1 bytes.
  void draw(const BatchKey& key, int sequence, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) const;

 private:
  explicit Text(TokenSource tokens) : tokens_(std::move(tokens)) {}

  TokenSource tokens_;
};

}  // namespace hocket
