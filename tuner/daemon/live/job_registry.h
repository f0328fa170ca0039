#pragma once

// The jobs that are running, as they say themselves. In memory: after a restart of the daemon they
// present themselves again. Thread-safe; time is passed in, from any clock that does not go back.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/job_message.h"

namespace hocket {

/// One running job.
struct RunningJob {
  JobDescription description;
  ConfigKey key;
  std::uint64_t number = 0;  ///< in the order of arrival
  int streams = 0;           ///< open now; with none nothing reaches the job
  std::int64_t seen_at_ns = 0;
  std::int64_t version = 0;  ///< that it runs with
  std::int64_t step = 0;
  double explored = 0;                       ///< share of its time
  double iteration_ns = 0;                   ///< median of the latest; 0: none yet
  std::string last_change = {};              ///< what it said of the last one, for people
  std::optional<JobActivity> activity = {};  ///< of the latest report that has it
};

inline constexpr std::size_t kMaxJobs = 100'000;
/// A job without a stream that has said nothing for so long is gone.
inline constexpr std::int64_t kJobSilenceNs = 90'000'000'000;

class JobRegistry {
 public:
  /// A job presents itself, for the first time or again. unavailable when there are kMaxJobs.
  Result<RunningJob> enter(const JobDescription& description, std::int64_t now_ns);

  /// False for a job that is not known.
  bool report(const JobReport& report, std::int64_t now_ns);

  /// The job has changed to a configuration.
  void runs_with(const std::string& id, const ScheduleConfig& config, std::int64_t version);

  /// A stream of the job has begun or ended; false for a job that is not known.
  bool stream_opened(const std::string& id, std::int64_t now_ns);
  bool stream_closed(const std::string& id, std::int64_t now_ns);

  /// The job has ended.
  void remove(const std::string& id);

  /// Removes those that are gone, and returns them.
  std::vector<RunningJob> remove_silent(std::int64_t now_ns);

  std::optional<RunningJob> find(const std::string& id) const;
  /// In the order of arrival.
  std::vector<RunningJob> list() const;
  /// Those of a key, in the order of arrival, until `visit` returns false. It is called under the
  /// registry's lock.
  void for_each(const ConfigKey& key, const std::function<bool(const RunningJob&)>& visit) const;

 private:
  struct Entry {
    RunningJob job;
    std::deque<std::int64_t> latest_ns;
  };
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::map<std::string, Entry> jobs_;  // by id
  /// By the key's text, then by number; into jobs_.
  std::map<std::string, std::map<std::uint64_t, const RunningJob*>> by_key_;
  std::uint64_t arrivals_ = 0;

  void forget_key_of(const RunningJob& job);
};

}  // namespace hocket
