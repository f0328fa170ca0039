// Trials of studies that `hocket tune --workers` offers in this daemon's store, for workers that do
// not reach the store (archive/workers/http_trial_source.h).

#include <nlohmann/json.hpp>

#include "archive/workers/store_trial_source.h"
#include "archive/workers/trial_messages.h"
#include "core/base/json_reader.h"
#include "daemon/api/handlers/call.h"

namespace hocket {
namespace {

/// Reads the request of a worker that renews its lease.
Result<WorkerClaim> leased_claim(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  WorkerClaim claim;
  JsonReader reader(*body);
  read_worker_claim(reader, claim);
  HOCKET_TRY(reader.done());
  HOCKET_TRY(StudyService::check_lease(claim.lease.lease_ns));
  return claim;
}

Result<ServiceReply> claim_trial(const RouteCall& call) {
  const auto claim = leased_claim(call);
  HOCKET_TRY(claim);
  StoreTrialSource source(call.parts.store);
  const auto study = source.find(call.study());
  HOCKET_TRY(study);
  const auto answer = source.claim(study->id, *claim);
  HOCKET_TRY(answer);
  return json_response(to_json(*answer));
}

Result<ServiceReply> renew_worker(const RouteCall& call) {
  const auto claim = leased_claim(call);
  HOCKET_TRY(claim);
  StoreTrialSource source(call.parts.store);
  const auto study = source.find(call.study());
  HOCKET_TRY(study);
  HOCKET_TRY(source.renew(study->id, claim->lease));
  return json_response({{"worker", claim->lease.worker}});
}

Result<ServiceReply> leave_worker(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  std::string worker;
  JsonReader reader(*body);
  reader.text("worker", worker);
  HOCKET_TRY(reader.done());
  StoreTrialSource source(call.parts.store);
  const auto study = source.find(call.study());
  HOCKET_TRY(study);
  HOCKET_TRY(source.leave(study->id, worker));
  return json_response({{"worker", worker}});
}

Result<ServiceReply> finish_trial(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  Trial trial;
  JsonReader reader(*body);
  read_ended_trial(reader, trial);
  HOCKET_TRY(reader.done());
  StoreTrialSource source(call.parts.store);
  const auto study = source.find(call.study());
  HOCKET_TRY(study);
  HOCKET_TRY(call.parts.studies.check_trial(*study, trial.id));
  HOCKET_TRY(source.finish(study->id, trial));
  return json_response({{"trial", trial.id}});
}

}  // namespace

std::span<const ApiRoute> worker_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"POST", "/v1/studies/{study}/workers/claim", AccessRole::report, claim_trial},
      {"POST", "/v1/studies/{study}/workers/renew", AccessRole::report, renew_worker},
      {"POST", "/v1/studies/{study}/workers/leave", AccessRole::report, leave_worker},
      {"POST", "/v1/studies/{study}/workers/finish", AccessRole::report, finish_trial},
  };
  return kRoutes;
}

}  // namespace hocket
