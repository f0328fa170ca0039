#pragma once

// The key of a tuned configuration: a topology and a workload. A plain value. Its text, "<topology
// fingerprint>.<workload fingerprint>", identifies a key in URLs and in the audit.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

struct ConfigKey {
  /// Fingerprints (core/base/fingerprint.h).
  std::string topology = {}, workload = {};

  bool operator==(const ConfigKey&) const = default;
};

std::string to_string(const ConfigKey& key);

/// Parses two UUIDs in lower case with a dot between them and refuses anything else, so one key has
/// exactly one text.
Result<ConfigKey> parse_config_key(std::string_view text);

}  // namespace hocket
