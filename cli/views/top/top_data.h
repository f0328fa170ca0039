#pragma once

// Data that `hocket top` shows: the jobs that a daemon knows, and the last push. Parsing the
// daemon's responses is pure; a daemon of another version may provide less.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "client/link/http_client.h"
#include "core/base/result.h"
#include "core/protocol/job_message.h"
#include "core/protocol/reported_values.h"

namespace hocket {

/// The placement of a job on a device of limited memory.
struct TopPlacement {
  PlacementValues values = {};
  /// Layers that the device keeps, at most all.
  std::int64_t kept_layers = 0;
  /// Lanes of computation that are the device's; the next one is its host's.
  std::int64_t streams = 1;

  bool operator==(const TopPlacement&) const = default;
};

struct TopJob {
  std::string name;        ///< name, otherwise id; printable
  std::int64_t ranks = 0;  ///< 0: unknown
  std::int64_t step = 0;
  double iteration_ns = 0;                   ///< 0: none yet
  std::optional<double> exposed_share = {};  ///< exposed communication as a share of the iteration
  std::vector<LaneActivity> lanes = {};
  std::optional<TopPlacement> placement = {};
  std::int64_t version = 0;      ///< 0: the job's own configuration
  std::string last_change = {};  ///< printable
  std::string note = {};         ///< printable; what the job says of itself
  bool connected = false;
};

/// A version that was brought to a key's jobs.
struct TopPush {
  std::int64_t at_unix_ns = 0;
  std::int64_t version = 0;
  std::string key = {};  ///< short form
  std::string who = {}, origin = {}, stage = {}, note = {};
};

struct TopData {
  std::vector<TopJob> jobs = {};  ///< in the order of arrival
  std::optional<TopPush> push = {};
};

/// Parses the response of GET /v1/jobs.
std::vector<TopJob> top_jobs_of(const nlohmann::json& answer);
/// Returns the newest push in the response of GET /v1/audit.
std::optional<TopPush> last_push_of(const nlohmann::json& answer);

/// Fetches the data from the daemon.
Result<TopData> fetch_top(HttpClient& client);

}  // namespace hocket
