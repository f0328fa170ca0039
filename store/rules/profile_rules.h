#pragma once

// The rules on profiles: checks, and the rows that they become. Pure functions. Thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "store/rows.h"

namespace hocket::rules {

Result<void> check(const NewProfile& profile);
Result<void> check(const NewProfileRequest& request);
/// Checks the id and name of a job that asks for requests.
Result<void> check_job(std::string_view job_id, std::string_view job_name);

/// Returns the row for `profile` under this name, its ranks in order; the caller assigns its id.
ProfileRow row_of(const NewProfile& profile, const std::string& name, std::int64_t created_at_ns);

/// Returns the earliest time of a request that is not too old.
std::int64_t oldest_request_ns(std::int64_t now_ns, std::int64_t max_age_ns);

Error no_such_profile(std::string_view name_or_id);

}  // namespace hocket::rules
