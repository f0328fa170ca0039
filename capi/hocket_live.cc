// The functions of a client that is tuned while its program trains.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "capi/call_guard.h"
#include "capi/hocket_client.h"
#include "capi/hocket_client_options.h"
#include "capi/open_client.h"
#include "client/live/live_ballot.h"
#include "core/protocol/reported_values.h"
#include "core/step/knob_value.h"

namespace hocket {
namespace {

Result<void> check_live(const hocket_client* client, const std::string& function) {
  if (client == nullptr) return failure(misused(function, "the client is NULL"));
  if (!client->live) return failure(misused(function, "the client was opened without knobs"));
  return {};
}

Result<int> fill_ballot(hocket_client* client, float* ballot) {
  const std::string self = "hocket_ballot_fill";
  HOCKET_TRY(check_live(client, self));
  if (client->live->size() == 0) return failure(misused(self, "the client decides alone"));
  if (ballot == nullptr) return failure(misused(self, "the ballot is NULL"));
  if (client->read != client->filled || client->ended != client->filled)
    return failure(misused(self, "the step before has not ended, or its ballot was not read"));
  client->live->fill({ballot, client->live->size()});
  ++client->filled;
  return 0;
}

Result<int> read_ballot(hocket_client* client, const float* sum) {
  const std::string self = "hocket_ballot_read";
  HOCKET_TRY(check_live(client, self));
  if (sum == nullptr) return failure(misused(self, "the sum is NULL"));
  if (client->read == client->filled) return failure(misused(self, "no ballot was filled"));
  client->live->read({sum, client->live->size()});
  ++client->read;
  return 0;
}

Result<int> step_ended(hocket_client* client) {
  const std::string self = "hocket_step_ended";
  HOCKET_TRY(check_live(client, self));
  const bool has_ballots = client->live->size() > 0;
  if (has_ballots && client->ended == client->filled)
    return failure(misused(self, "the step's ballot was not filled"));
  ++client->ended;
  const auto next = client->live->step_ended();
  if (!next) return 0;
  client->config_json = text_of(to_json(next->config));
  return 1;
}

Result<int> iteration(hocket_client* client, std::int64_t step, std::int64_t iteration_ns) {
  const std::string self = "hocket_iteration";
  HOCKET_TRY(check_live(client, self));
  if (!is_time(iteration_ns)) return failure(misused(self, "the time is not positive"));
  if (step <= client->last_measured || step > client->ended)
    return failure(misused(self, "step " + std::to_string(step) + " is not one from " +
                                     std::to_string(client->last_measured + 1) + " to " +
                                     std::to_string(client->ended)));
  client->last_measured = step;
  if (client->rank > 0) return 0;
  tell_study(*client, iteration_ns);
  client->live->iteration(step, iteration_ns);
  return 0;
}

Result<int> program_step(hocket_client* client, std::int64_t step) {
  const std::string self = "hocket_program_step";
  HOCKET_TRY(check_live(client, self));
  if (step < 0) return failure(misused(self, "the number of steps is negative"));
  client->live->program_step(step);
  return 0;
}

Result<int> step_counted(hocket_client* client, std::int64_t step, std::int64_t waited_ns,
                         std::int64_t computed_ns) {
  const std::string self = "hocket_step_counted";
  HOCKET_TRY(check_live(client, self));
  for (const std::int64_t ns : {waited_ns, computed_ns}) {
    if (ns < kNotCounted || ns > kMaxReportedNs)
      return failure(misused(self, "a time is neither 0 or above nor -1"));
  }
  if (step <= client->last_counted || step > client->ended)
    return failure(misused(self, "step " + std::to_string(step) + " is not one from " +
                                     std::to_string(client->last_counted + 1) + " to " +
                                     std::to_string(client->ended)));
  client->last_counted = step;
  client->live->counted(step, {.waited_ns = waited_ns, .computed_ns = computed_ns});
  return 0;
}

Result<int> ranks_counted(hocket_client* client, std::int64_t step,
                          std::span<const std::int64_t> waited_ns) {
  const std::string self = "hocket_ranks_counted";
  HOCKET_TRY(check_live(client, self));
  if (!client->live->decides_alone())
    return failure(misused(self, "the client does not decide alone: use hocket_step_counted"));
  const auto ranks = static_cast<std::size_t>(client->world_size);
  if (waited_ns.size() != ranks)
    return failure(misused(self, std::to_string(waited_ns.size()) + " ranks, but the job has " +
                                     std::to_string(ranks)));
  CountedSteps counted{.step = step};
  for (const std::int64_t ns : waited_ns) {
    if (ns < 0 || ns > kMaxReportedNs)
      return failure(misused(self, "a time is negative or too long"));
    counted.ranks.push_back({.waited_ns = ns});
  }
  if (step <= client->last_counted || step > kMaxReportedNs)
    return failure(misused(self, "step " + std::to_string(step) + " is not one from " +
                                     std::to_string(client->last_counted + 1) + " on"));
  client->last_counted = step;
  if (ranks <= kMaxCountedRanks) client->live->ranks_counted(std::move(counted));
  return 0;
}

Result<int> measured(hocket_client* client, const char* name, double value, const char* text) {
  const std::string self = "hocket_client_measured";
  HOCKET_TRY(check_live(client, self));
  if (name == nullptr || !is_job_knob(knob_name_of(name)))
    return failure(misused(self, "a name has 1 to 64 of a-z, 0-9 and \"_\""));
  if (text != nullptr) {
    if (std::string_view(name) != "note")
      return failure(misused(self, "text is for the name \"note\""));
    client->live->note(text);
    return 0;
  }
  if (!std::isfinite(value)) return failure(misused(self, "the value is not finite"));
  if (name == kOwnCostName && !is_own_cost(value))
    return failure(misused(self, "a share in percent is from 0 to 100"));
  if (!client->live->measured(name, value))
    return failure(
        misused(self, "there are " + std::to_string(kMaxReportedValues) + " names already"));
  return 0;
}

Result<const char*> progress(hocket_client* client) {
  HOCKET_TRY(check_live(client, "hocket_client_progress"));
  const auto now = client->live->progress();
  client->progress_json = now ? text_of(to_json(*now)) : "{}";
  return client->progress_json.c_str();
}

}  // namespace
}  // namespace hocket

size_t hocket_ballot_size(const hocket_client* client) {
  return client->live ? client->live->size() : 0;
}

int hocket_ballot_fill(hocket_client* client, float* ballot) {
  return hocket::guarded(-1, [&] { return hocket::fill_ballot(client, ballot); });
}

int hocket_ballot_read(hocket_client* client, const float* sum) {
  return hocket::guarded(-1, [&] { return hocket::read_ballot(client, sum); });
}

int hocket_step_ended(hocket_client* client) {
  return hocket::guarded(-1, [&] { return hocket::step_ended(client); });
}

int hocket_iteration(hocket_client* client, std::int64_t step, std::int64_t iteration_ns) {
  return hocket::guarded(-1, [&] { return hocket::iteration(client, step, iteration_ns); });
}

int hocket_program_step(hocket_client* client, std::int64_t step) {
  return hocket::guarded(-1, [&] { return hocket::program_step(client, step); });
}

int hocket_step_counted(hocket_client* client, std::int64_t step, std::int64_t waited_ns,
                        std::int64_t computed_ns) {
  return hocket::guarded(
      -1, [&] { return hocket::step_counted(client, step, waited_ns, computed_ns); });
}

const char* hocket_client_progress(hocket_client* client) {
  return hocket::guarded<const char*>(nullptr, [&] { return hocket::progress(client); });
}

int hocket_client_is_trying(const hocket_client* client) {
  return client != nullptr && client->live && client->live->is_trying() ? 1 : 0;
}

int hocket_ranks_counted(hocket_client* client, std::int64_t step, const std::int64_t* waited_ns,
                         std::size_t ranks) {
  return hocket::guarded(
      -1, [&] { return hocket::ranks_counted(client, step, std::span(waited_ns, ranks)); });
}

int hocket_client_measured(hocket_client* client, const char* name, double value,
                           const char* text) {
  return hocket::guarded(-1, [&] { return hocket::measured(client, name, value, text); });
}
