#pragma once

// The formats of one file of tokens. Immutable after opening, so thread-safe.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/files/mapped_file.h"
#include "models/data/token_source.h"

namespace hocket {

struct TokenFile {
  std::string path;  ///< "" for a text in memory
  std::string text;
  std::optional<MappedFile> mapped;
  std::size_t header_bytes = 0;
  int token_bytes = 1;
  std::int64_t count = 0;

  /// Returns a token, which is below 2^32.
  std::int64_t at(std::int64_t index) const;
};

/// Errors as TokenSource::open().
Result<TokenFile> open_token_file(const std::string& path, TokenFormat format);

}  // namespace hocket
