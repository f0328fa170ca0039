#pragma once

// Parses JSON documents from outside, whose fields JsonReader then reads. Nothing throws. Pure,
// except read_file().

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

inline constexpr std::int64_t kMaxJsonDepth = 64;
/// Maximum elements of one array.
inline constexpr std::int64_t kMaxJsonElements = 1'000'000;
/// Maximum values in a document.
inline constexpr std::int64_t kMaxJsonValues = 16'777'216;

/// Parses `text`, which must be a JSON object within the limits above. `what` names the document in
/// errors ("configuration", "report"), which also name the field that was read last. Numbers that
/// overflow and invalid UTF-8 are errors, and so is a document for which memory does not suffice.
Result<nlohmann::json> parse_object(std::string_view text, std::string_view what);

/// Reads a whole file that a user named, which may be a pipe, and waits for who writes to it; for
/// files in which others have a hand there is core/files/regular_file.h. Unavailable when it cannot
/// be read, or is larger than `limit_bytes` or, above 64 MiB, than this process may take
/// (core/base/memory_budget.h).
Result<std::string> read_file(const std::string& path, std::int64_t limit_bytes = 64 << 20);

}  // namespace hocket
