#include "cli/verbs/maintenance/retention_options.h"

#include <CLI/CLI.hpp>

#include "cli/output/value_text.h"
#include "tuner/space/size_text.h"

namespace hocket {
namespace {

Result<std::optional<std::int64_t>> optional_age(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  const auto age_ns = parse_age(text);
  if (!age_ns) return failure(age_ns.error().in(option));
  return *age_ns;
}

}  // namespace

void add_retention_options(CLI::App& verb, RetentionOptions& options) {
  verb.add_option("--keep-studies", options.studies,
                  "AGE: remove studies that ended and have not changed for this long, such as 90d "
                  "(minutes, hours, days or weeks: m, h, d, w)");
  verb.add_option("--keep-audit", options.audit, "AGE: older entries of the audit go");
  verb.add_option("--keep-profiles", options.profiles, "so many of the newest profiles stay");
  verb.add_option("--max-profile-bytes", options.profile_bytes,
                  "the traces of the profiles that stay are no larger, such as 10GiB");
}

Result<RetentionPolicy> retention_policy(const RetentionOptions& options) {
  RetentionPolicy policy;
  const auto studies_ns = optional_age(options.studies, "--keep-studies");
  HOCKET_TRY(studies_ns);
  policy.studies_ns = *studies_ns;
  const auto audit_ns = optional_age(options.audit, "--keep-audit");
  HOCKET_TRY(audit_ns);
  policy.audit_ns = *audit_ns;
  if (options.profiles && *options.profiles < 0) {
    return failure(ErrorCode::invalid_argument,
                   "--keep-profiles: expected a number of at least 0, found " +
                       std::to_string(*options.profiles));
  }
  policy.profiles = options.profiles;
  if (!options.profile_bytes.empty()) {
    const auto bytes = parse_size(options.profile_bytes);
    if (!bytes) return failure(bytes.error().in("--max-profile-bytes"));
    policy.profile_bytes = *bytes;
  }
  return policy;
}

}  // namespace hocket
