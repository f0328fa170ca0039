#include "tuner/explain/retrace.h"

#include <utility>

namespace hocket {

Result<RetracedSearch> retrace_search(SessionOptions options, std::span<const Trial> past) {
  RetracedSearch retraced;
  const auto session = StudySession::make(std::move(options), past,
                                          [&](const Trial& trial, const SessionNext& next) {
                                            if (trial.outcome.state != TrialState::running)
                                              retraced.reasons.push_back(next.reason);
                                          });
  HOCKET_TRY(session);
  retraced.recommendation = session->recommend();
  return retraced;
}

}  // namespace hocket
