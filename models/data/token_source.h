#pragma once

// The tokens that a language model is trained on, and the batches drawn of them. Files of tokens
// are mapped (core/files/mapped_file.h says what that requires). Immutable after opening, and
// copies share the tokens, so thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Determines the windows to draw: equal keys give equal windows.
struct BatchKey {
  std::uint64_t seed = 0;
  int rank = 0;
  std::int64_t step = 0;
};

enum class TokenFormat {
  /// By the file: of llm.c if it begins as they do, of nanoGPT if its name ends with ".bin", and
  /// text otherwise.
  automatic,
  text,      ///< bytes are tokens; a pipe is read to its end
  nano_gpt,  ///< tokens of 16 bits, lowest byte first, and nothing else
  /// 256 words of 32 bits, which begin with a magic number, the version and the number of tokens;
  /// then the tokens: GPT-2's of 16 bits (20240520, version 1), or Llama 3's of 32 bits (20240801,
  /// version 7).
  llm_c,
};

/// A file, or its part, that holds tokens of one size.
struct TokenFile;

class TokenSource {
 public:
  /// Opens a file, or all regular files directly in a folder in the order of their names. The error
  /// names the file: unavailable or not_found when it cannot be opened, invalid_argument when it is
  /// not of the format. A folder without files has no tokens.
  static Result<TokenSource> open(const std::string& path,
                                  TokenFormat format = TokenFormat::automatic);
  /// Takes a text whose bytes are tokens.
  static TokenSource of_text(std::string bytes);

  std::int64_t size() const { return size_; }

  /// Returns the largest token, for which it reads all of them; 0 if there are none.
  std::int64_t largest_token() const;

  /// invalid_argument unless there are the tokens of one window: `sequence` and the next one.
  Result<void> check_window(std::int64_t sequence) const;

  /// Draws a random window of sequence + 1 tokens for each of `inputs.size() / sequence` sequences:
  /// its first `sequence` tokens become inputs, its last `sequence` targets. Requires
  /// check_window(). invalid_argument for a token of `vocabulary` or above, with its file and
  /// place.
  Result<void> draw(const BatchKey& key, std::int64_t sequence, std::int64_t vocabulary,
                    std::span<std::int32_t> inputs, std::span<std::int32_t> targets) const;

 private:
  TokenSource() = default;

  void add(TokenFile file);
  Result<void> copy(std::int64_t begin, std::int64_t vocabulary,
                    std::span<std::int32_t> tokens) const;

  std::string path_;  ///< for errors
  std::vector<std::shared_ptr<const TokenFile>> files_;
  std::vector<std::int64_t> begins_;  ///< of the files, in tokens
  std::int64_t size_ = 0;
};

}  // namespace hocket
