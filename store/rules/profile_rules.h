#pragma once

// The rules of profiles: which ones the store accepts, and the rows that they become. Pure
// functions. Thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "store/rows.h"

namespace hocket::rules {

Result<void> check(const NewProfile& profile);
Result<void> check(const NewProfileRequest& request);
/// Of a job that asks for requests.
Result<void> check_job(std::string_view job_id, std::string_view job_name);

/// The row that `profile` becomes under this name, its ranks in order; its id is still to be given.
ProfileRow row_of(const NewProfile& profile, const std::string& name, std::int64_t created_at_ns);

/// When the oldest request that is not too old may have been made.
std::int64_t oldest_request_ns(std::int64_t now_ns, std::int64_t max_age_ns);

Error no_such_profile(std::string_view name_or_id);

}  // namespace hocket::rules
