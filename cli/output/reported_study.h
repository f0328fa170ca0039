#pragma once

// Shows the progress of a study beside keeping it. One thread.

#include "archive/studies/study_record.h"
#include "cli/output/progress.h"
#include "tuner/study/study.h"

namespace hocket {

class ReportedStudy final : public StudyObserver {
 public:
  /// Both must outlive this.
  ReportedStudy(StudyRecord& record, StudyProgress& progress)
      : record_(record), progress_(progress) {}

  Result<void> trial_started(std::int64_t number, TrialPhase phase, const Params& params) override {
    progress_.started(phase, params);
    return record_.trial_started(number, phase, params);
  }

  Result<void> trial_finished(const Trial& trial) override {
    if (auto ok = record_.trial_finished(trial); !ok) return ok;
    progress_.finished(trial, emulation_note(record_.topology()));
    return {};
  }

  Result<void> search_stopped(const std::string& reason) override {
    return record_.search_stopped(reason);
  }

 private:
  StudyRecord& record_;
  StudyProgress& progress_;
};

}  // namespace hocket
