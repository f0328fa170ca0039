#pragma once

// The sources of trials for workers, each over a store that the test has, for tests that hold for
// all of them. For one thread.

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "archive/workers/http_trial_source.h"
#include "archive/workers/store_trial_source.h"
#include "tests/daemon/running_daemon.h"

namespace hocket {

enum class SourceKind {
  store,   ///< StoreTrialSource
  daemon,  ///< HttpTrialSource, of a daemon on the store
};

inline std::string to_string(SourceKind kind) {
  return kind == SourceKind::store ? "Store" : "Daemon";
}
inline std::ostream& operator<<(std::ostream& out, SourceKind kind) {
  return out << to_string(kind);
}

inline DaemonAccess access_to(const RunningDaemon& daemon) {
  return {.address = {.host = "127.0.0.1", .port = daemon.port()}};
}

class OpenedSource {
 public:
  OpenedSource(SourceKind kind, Store& store) {
    if (kind == SourceKind::store) {
      source_ = std::make_unique<StoreTrialSource>(store);
    } else {
      daemon_.emplace(store);
      source_ = std::make_unique<HttpTrialSource>(access_to(*daemon_));
    }
  }

  TrialSource& operator*() { return *source_; }
  TrialSource* operator->() { return source_.get(); }

 private:
  std::optional<RunningDaemon> daemon_;
  std::unique_ptr<TrialSource> source_;
};

/// Loses the answers of the calls that it is told to lose, after they had their effect.
class LosingSource final : public TrialSource {
 public:
  explicit LosingSource(TrialSource& inner) : inner_(inner) {}

  int claims_to_lose = 0, ends_to_lose = 0;

  Result<StudyRow> find(std::string_view name_or_id) override { return inner_.find(name_or_id); }
  Result<ClaimAnswer> claim(std::int64_t study_id, const WorkerClaim& claim) override {
    return lost_or(inner_.claim(study_id, claim), claims_to_lose);
  }
  Result<void> renew(std::int64_t study_id, const NewClaim& claim) override {
    return inner_.renew(study_id, claim);
  }
  Result<void> leave(std::int64_t study_id, std::string_view worker) override {
    return inner_.leave(study_id, worker);
  }
  Result<void> finish(std::int64_t study_id, const Trial& trial) override {
    return lost_or(inner_.finish(study_id, trial), ends_to_lose);
  }

 private:
  template <class Answer>
  static Answer lost_or(Answer answer, int& to_lose) {
    if (to_lose == 0) return answer;
    --to_lose;
    return failure(ErrorCode::unavailable, "the answer is lost: injected by a test");
  }

  TrialSource& inner_;
};

}  // namespace hocket
