#pragma once

// What a tuned configuration belongs to: a topology and a workload. A plain value. Its text,
// "<topology fingerprint>.<workload fingerprint>", is what URLs and the audit name a key by.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

struct ConfigKey {
  std::string topology = {}, workload = {};  ///< fingerprints (core/base/fingerprint.h)

  bool operator==(const ConfigKey&) const = default;
};

std::string to_string(const ConfigKey& key);

/// Accepts two UUIDs in lower case and a dot between them, nothing else: one key has one text.
Result<ConfigKey> parse_config_key(std::string_view text);

}  // namespace hocket
