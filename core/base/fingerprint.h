#pragma once

// Canonical names for descriptions (topologies, workloads): equal content gives an equal
// fingerprint on every machine and in every version. Any thread.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace hocket {

/// Returns the RFC 4122 version 5 (SHA-1, name-based) UUID of `document`, serialised with sorted
/// keys and no white space; 36 characters.
std::string fingerprint_of(const nlohmann::json& document);

/// Returns the same of bytes, such as the content of a file.
std::string fingerprint_of_bytes(std::string_view bytes);

}  // namespace hocket
