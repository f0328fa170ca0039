#include "archive/workers/http_trial_source.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "archive/workers/trial_messages.h"
#include "core/base/json.h"

namespace hocket {
namespace {

constexpr std::int64_t kAnswerTimeoutNs = 10'000'000'000;

bool is_in_study_names(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

/// Says whether the body of an error is the daemon's.
bool is_of_a_daemon(const std::string& body) {
  const auto document = parse_object(body, "error");
  return document && document->contains("error");
}

HttpRequest worker_request(std::int64_t study_id, const char* action, const nlohmann::json& body) {
  return {.method = "POST",
          .target = "/v1/studies/" + std::to_string(study_id) + "/workers/" + action,
          .body = message_text(body)};
}

}  // namespace

HttpTrialSource::HttpTrialSource(const DaemonAccess& daemon)
    : client_(daemon), renewing_client_(daemon) {}

Result<nlohmann::json> HttpTrialSource::ask(HttpClient& client, const HttpRequest& request,
                                            std::int64_t timeout_ns) {
  const auto response = client.send(request, deadline_after_ns(timeout_ns));
  HOCKET_TRY(response);
  if (response->status == 404 && !is_of_a_daemon(response->body)) {
    return failure(ErrorCode::unavailable,
                   client.name() +
                       ": it answered 404 without a reason, as a proxy does whose daemon "
                       "is away, or a program that is no hocket daemon");
  }
  auto answer = read_answer(*response);
  if (!answer) return failure(answer.error().in(client.name()));
  return answer;
}

Result<nlohmann::json> HttpTrialSource::post(std::int64_t study_id, const char* action,
                                             const nlohmann::json& body) {
  return ask(client_, worker_request(study_id, action, body), kAnswerTimeoutNs);
}

Result<StudyRow> HttpTrialSource::find(std::string_view name_or_id) {
  // Others would have to be escaped in a path, and no study has them.
  if (name_or_id.empty() || !std::ranges::all_of(name_or_id, is_in_study_names)) {
    return failure(ErrorCode::invalid_argument,
                   "a study is named by letters, digits, \".\", \"_\" and \"-\", or by its number");
  }
  const auto answer =
      ask(client_, {.target = "/v1/studies/" + std::string(name_or_id)}, kAnswerTimeoutNs);
  HOCKET_TRY(answer);
  auto study = study_from_json(*answer);
  if (!study) return failure(study.error().in(client_.name()));
  HOCKET_TRY(check_shared(*study));
  return study;
}

Result<ClaimAnswer> HttpTrialSource::claim(std::int64_t study_id, const WorkerClaim& claim) {
  const auto answer = post(study_id, "claim", to_json(claim));
  HOCKET_TRY(answer);
  auto claimed = claim_answer_from_json(*answer);
  if (!claimed) return failure(claimed.error().in(client_.name()));
  return claimed;
}

Result<void> HttpTrialSource::renew(std::int64_t study_id, const NewClaim& claim) {
  // A worker that has ended its trial waits for the renewal that is under way.
  const std::int64_t timeout_ns = std::min(kAnswerTimeoutNs, claim.lease_ns / 3);
  HOCKET_TRY(ask(renewing_client_,
                 worker_request(study_id, "renew", to_json(WorkerClaim{.lease = claim})),
                 timeout_ns));
  return {};
}

Result<void> HttpTrialSource::leave(std::int64_t study_id, std::string_view worker) {
  HOCKET_TRY(post(study_id, "leave", {{"worker", worker}}));
  return {};
}

Result<void> HttpTrialSource::finish(std::int64_t study_id, const Trial& trial) {
  HOCKET_TRY(post(study_id, "finish", ended_trial_json(thinned_trial(trial))));
  return {};
}

}  // namespace hocket
