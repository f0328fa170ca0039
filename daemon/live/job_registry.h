#pragma once

// The running jobs, as registered by themselves. Kept in memory only: after a restart of the daemon
// the jobs register again. Thread-safe. Time is passed in, from any clock that does not go back.
//
// A registration begins when a job enters under an id that no running job has, and ends when the
// job says so, enters with another key, or is silent for too long. Each has a number, and streams
// and reports are counted by it: what belongs to an earlier registration of the same id changes
// nothing about the present one.
//
// Invariants:
// 1. An id has at most one registration that has not ended; only that one is found by the id and
//    in the list.
// 2. RunningJob::streams is the number of open streams that were opened in this registration.
// 3. A registration that has ended stays, found by its number and its key, until it is removed, so
//    that its last reports can be processed; its streams are told to end.
// 4. An EndedJob is kept of each of the last kKeptEndedJobs that were removed.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/job_message.h"
#include "daemon/live/memory_limits.h"

namespace hocket {

/// A job's answer to a version or a candidate.
struct JobChange {
  std::int64_t at_ns = 0;
  std::optional<std::int64_t> version = {}, trial = {};  ///< one of the two
  ChangeStatus status = ChangeStatus::applied;
  std::string message = {};                                  ///< at most kJobChangeTextBytes
  std::optional<double> current_ns = {}, candidate_ns = {};  ///< medians, if it was measured
};

/// Whose job it is: the token with which it registered.
struct JobOwner {
  std::string token = {};  ///< name of the token
  bool is_admin = true;    ///< the token's role is admin

  /// Returns the owner for whose jobs this one decides what they get: empty, for all, if it is an
  /// administrator's, who may choose for all anyway.
  std::string speaks_for() const { return is_admin ? std::string() : token; }
  bool operator==(const JobOwner&) const = default;
};

/// A running job.
struct RunningJob {
  JobDescription description;
  JobOwner owner;
  ConfigKey key;
  std::uint64_t number = 0;  ///< of the registration; increases in the order of arrival
  bool has_ended = false;    ///< the registration has ended
  int streams = 0;           ///< open event streams; without one the job cannot be reached
  std::int64_t seen_at_ns = 0;
  std::int64_t version = 0;  ///< version it runs with
  std::int64_t step = 0;
  double explored = 0;      ///< share of its training time spent on exploration
  double iteration_ns = 0;  ///< median of the latest iterations; 0 if none yet
  /// Candidates that were measured in it, and those of them that it kept.
  std::int64_t tried = 0, kept = 0;
  std::string last_change = {};               ///< the job's last reported change, for the user
  std::vector<JobChange> changes = {};        ///< the latest kJobChanges, oldest first
  std::vector<std::int64_t> history_ns = {};  ///< the latest kJobHistory iterations, oldest first
  std::optional<JobActivity> activity = {};   ///< from the latest report that includes it
  std::map<std::string, double> values = {};  ///< as last reported, at most kMaxReportedValues
  std::string note = {};

  /// Returns whether messages reach the job.
  bool is_connected() const { return streams > 0 && !has_ended; }
};

/// The latest counted steps that are kept of a job, and the ranks in all of them together.
inline constexpr std::size_t kJobCountedSteps = 256, kJobCounters = 32'768;

inline constexpr std::size_t kJobChanges = 10, kJobHistory = 64, kJobChangeTextBytes = 200;

/// A job without a stream counts as gone, and is removed, after this time without a report.
inline constexpr std::int64_t kJobSilenceNs = 90'000'000'000;

inline constexpr std::size_t kKeptEndedJobs = 100;

/// A job that is gone, as it was last, with the result of its tuning.
struct EndedJob {
  std::string id = {}, name = {}, host = {}, key = {};
  std::int64_t ended_at_ns = 0;
  bool was_silent = false;  ///< it did not say that it ended
  std::int64_t version = 0, step = 0, tried = 0, kept = 0;
  double iteration_ns = 0, explore = 0, explored = 0;
  std::map<std::string, double> values = {};  ///< as last reported
  std::string last_change = {};
};

/// An event stream that was opened in a registration.
struct JobStream {
  RunningJob job;  ///< when the stream was opened
  /// Becomes true when the registration ends: the stream should end, too, and the job come back.
  std::shared_ptr<const std::atomic<bool>> has_ended;
};

class JobRegistry {
 public:
  explicit JobRegistry(MemoryLimits limits = {}) : limits_(limits) {}

  /// The registration of a job that has entered.
  struct Entered {
    RunningJob job;
    /// Number of the registration of the same id that has ended, since it had another key, or
    /// another token in whose place an administrator came.
    std::optional<std::uint64_t> ended = {};
    /// Another token has registered a job with that id: nothing has changed.
    bool is_anothers = false;
  };
  /// Registers a job, or describes it again. `bytes` is the length of its description. Returns
  /// unavailable if the registry is full.
  Result<Entered> enter(const JobDescription& description, std::int64_t now_ns,
                        std::size_t bytes = 0, const JobOwner& owner = {});

  /// Applies a report, and returns the number of the registration; nothing for an unknown job.
  std::optional<std::uint64_t> report(const JobReport& report, std::int64_t now_ns);

  /// Sets the job's configuration after a change.
  void runs_with(std::uint64_t number, const ScheduleConfig& config, std::int64_t version);

  /// Opens a stream of the job; returns nothing for an unknown one.
  std::optional<JobStream> stream_opened(const std::string& id, std::int64_t now_ns);
  /// Call once for each stream that was opened, with its registration's number. Returns false if
  /// the registration is gone.
  bool stream_closed(std::uint64_t number, std::int64_t now_ns);

  /// Ends a registration.
  void end(std::uint64_t number);
  /// Removes a registration, and ends it if it has not ended.
  void remove(std::uint64_t number, std::int64_t now_ns);
  /// Returns the jobs that were removed last, the latest first.
  std::vector<EndedJob> ended() const;

  /// Removes the jobs that are gone (see kJobSilenceNs) and returns them.
  std::vector<RunningJob> remove_silent(std::int64_t now_ns);

  /// Returns a number that differs from an earlier call's if a job has changed since.
  std::uint64_t revision() const;
  /// Returns the number of running jobs.
  std::size_t size() const;
  /// Returns the number of registrations in memory, with those that have ended.
  std::size_t registrations() const;
  std::optional<RunningJob> find(const std::string& id) const;
  /// Returns a registration, even if it has ended; nothing once it was removed.
  std::optional<RunningJob> find(std::uint64_t number) const;
  std::optional<JobOwner> owner_of(const std::string& id) const;
  /// Returns for whom the jobs of a key speak (JobOwner::speaks_for).
  std::set<std::string> owners(const ConfigKey& key) const;
  /// Returns what a job's ranks counted in its latest steps, oldest first: at most kJobCountedSteps
  /// and kJobCounters, fewer when the jobs together reach MemoryLimits::job_counters. Empty for an
  /// unknown job.
  std::vector<CountedSteps> counted(const std::string& id) const;
  /// Returns all jobs in the order of arrival.
  std::vector<RunningJob> list() const;
  /// Returns whether the job can change to `config` while it runs (daemon/live/job_fit.h);
  /// false once the registration has ended.
  bool can_change_to(std::uint64_t number, const ScheduleConfig& config) const;
  /// Calls `visit` for the registrations of a key in the order of arrival, also for those that have
  /// ended, until it returns false. Calls it while holding the registry's lock.
  void for_each(const ConfigKey& key, const std::function<bool(const RunningJob&)>& visit) const;

 private:
  struct Entry {
    RunningJob job;
    std::shared_ptr<std::atomic<bool>> has_ended = std::make_shared<std::atomic<bool>>(false);
    std::deque<std::int64_t> latest_ns;
    std::size_t bytes = 0;
    std::deque<CountedSteps> counted;
    std::size_t counters = 0;  ///< ranks in all of `counted` together
  };
  using Entries = std::map<std::uint64_t, Entry>;

  /// Returns the registration of the id that has not ended; null if there is none.
  Entry* running(const std::string& id);
  const Entry* running(const std::string& id) const;
  Result<void> check_room(const JobDescription& description, const std::string& key,
                          std::size_t bytes) const;
  void end_entry(Entry& entry);
  /// Removes a registration and returns the next one.
  Entries::iterator erase(Entries::iterator at, std::int64_t now_ns, bool was_silent);
  void forget_key_of(const RunningJob& job);
  void keep_counted(Entry& entry, const std::vector<CountedSteps>& latest);

  const MemoryLimits limits_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  // Registrations by their numbers.
  Entries jobs_;
  // Numbers of those that have not ended.
  std::map<std::string, std::uint64_t, std::less<>> by_id_;
  struct KeyJobs {
    std::map<std::uint64_t, const RunningJob*> jobs;  ///< by number; they are in jobs_
    std::map<std::string, std::size_t> owners;        ///< how many jobs speak for each
  };
  std::map<std::string, KeyJobs> by_key_;  ///< by the key's text
  std::deque<EndedJob> ended_;             ///< the latest last
  std::uint64_t arrivals_ = 0, revision_ = 0;
  std::size_t bytes_ = 0;     ///< bytes of all descriptions
  std::size_t counters_ = 0;  ///< number of counters that all jobs keep
};

}  // namespace hocket
