#pragma once

// The daemon's parts without a transport, on clocks that the test sets. One thread: settle()
// processes pending events.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/api/daemon_state.h"
#include "daemon/api/openapi.h"
#include "store/open.h"
#include "tests/set_clock.h"
#include "tests/store/fixtures.h"

namespace hocket {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

/// The parts of a daemon that a test sets and sees.
struct AssembledInputs {
  Store& store;
  SetClock& clock;
  std::int64_t wall_ahead_ns = 0;       ///< wall clock minus `clock`
  std::vector<std::string> lines = {};  ///< lines of the log
};

/// One daemon process; a new object over the same store is a restart.
class Assembled : public AssembledInputs, public DaemonState {
 public:
  /// `tuning_store`: another view of the store, for live tuning alone.
  Assembled(Store& own_store, SetClock& own_clock, AccessTokens own_tokens = {},
            Store* tuning_store = nullptr, MemoryLimits limits = {},
            SearchRunner* searches = nullptr, ServedTracesOptions served_traces = {},
            std::vector<std::string> hidden_folders = {})
      : AssembledInputs{own_store, own_clock},
        DaemonState(
            own_store, own_clock,
            {.tokens = std::move(own_tokens),
             .description = kOpenApi,
             .metrics = [] { return std::string("up 1\n"); },
             .log = Log{{.level = LogLevel::warning,
                         .sink = [this](std::string_view line) { lines.emplace_back(line); }}},
             .now_unix_ns = [this] { return clock.now + wall_ahead_ns; },
             .limits = limits,
             .tuning_store = tuning_store,
             .hidden_folders = std::move(hidden_folders),
             .traces = std::move(served_traces),
             .searches = searches}) {}
  Assembled(const Assembled&) = delete;
  Assembled& operator=(const Assembled&) = delete;

  ServiceReply reply(ServiceRequest request, bool is_last = false) {
    return api.handle(request, is_last);
  }

  ServiceResponse call(std::string method, std::string target, const std::string& body = "",
                       const std::string& authorization = "") {
    ServiceRequest request{.method = std::move(method), .target = std::move(target)};
    request.authorization = authorization;
    request.body = body;
    auto answer = reply(std::move(request), true);
    settle();
    if (auto* response = std::get_if<ServiceResponse>(&answer)) return *response;
    ADD_FAILURE() << "no response but a stream or a wait";
    ServiceResponse none;
    none.body = std::make_shared<const std::string>("{}");
    return none;
  }

  /// Returns the body of a response; expects success.
  nlohmann::json ask(const std::string& method, const std::string& target,
                     const nlohmann::json& body = nlohmann::json::object(),
                     const std::string& authorization = "") {
    const auto response = call(method, target, body.dump(), authorization);
    EXPECT_LT(response.status, 300) << method << " " << target << ": " << *response.body;
    return nlohmann::json::parse(*response.body);
  }

  void settle() { live.run_pending(); }
  void tick(std::int64_t seconds = 1) {
    clock.now += seconds * kSecondNs;
    live.tick();
    settle();
  }
};

inline JobDescription sample_job(const std::string& id, double explore = 0.1) {
  JobDescription job;
  job.id = id;
  job.name = "gpt2";
  job.host = "here";
  job.topology = sample_topology();
  job.workload = sample_workload();
  job.explore = explore;
  job.knobs = {"partition_bytes"};
  return job;
}

inline std::string sample_key() {
  return to_string({fingerprint(sample_topology()), fingerprint(sample_workload())});
}

}  // namespace hocket
