#pragma once

// The options that say what of a store is kept, which `hocket prune` and `hocket serve` share. One
// thread.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "daemon/retention/retention.h"

namespace CLI {
class App;
}

namespace hocket {

struct RetentionOptions {
  std::string studies, audit, profile_bytes;
  std::optional<std::int64_t> profiles;
};

/// `options` must outlive the parsing.
void add_retention_options(CLI::App& verb, RetentionOptions& options);

/// Returns invalid_argument with the name of the option that is wrong, and what it may be.
Result<RetentionPolicy> retention_policy(const RetentionOptions& options);

}  // namespace hocket
