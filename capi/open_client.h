#pragma once

// An open client of the C interface, for the files of this folder.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capi/hocket_client.h"
#include "client/link/daemon_link.h"
#include "client/live/live_ballot.h"
#include "client/start/client.h"
#include "core/base/clock.h"
#include "core/protocol/job_report.h"
#include "core/step/declared_knob.h"

struct hocket_client {
  int rank = 0;
  int world_size = 1;
  hocket::FetchedConfig fetched;
  std::string config_json;  ///< configuration of the next step
  // The members below are used on rank 0 only.
  hocket::RunReport run;  ///< for a study that runs this program
  std::optional<hocket::IterationLog> log;
  std::unique_ptr<hocket::DaemonLink> link;  ///< null without a daemon
  std::string daemon_why;                    ///< what hocket_client_daemon said last
  std::string progress_json;                 ///< what hocket_client_progress said last
  hocket::JobReport report;                  ///< the common part of the reports to it

  hocket::SteadyClock clock;
  std::vector<std::string> knobs;  ///< knobs that can change while the program runs
  std::vector<hocket::DeclaredKnob> own_knobs;
  std::optional<hocket::LiveBallot> live;  ///< present if there are any
  // For the check that `live` is called in turn:
  std::int64_t filled = 0, read = 0;  ///< ballots
  std::int64_t ended = 0;             ///< steps
  std::int64_t last_measured = -1;    ///< step
  std::int64_t last_counted = -1;
};

namespace hocket {

/// The longest time that a program may report.
inline constexpr std::int64_t kMaxReportedNs = std::int64_t{1} << 53;
/// Iterations that a study is told of; later ones would only repeat them.
inline constexpr std::size_t kMaxRunIterations = 1'000'000;

inline bool is_time(std::int64_t ns) {
  return 0 < ns && ns <= kMaxReportedNs;
}

inline void tell_study(hocket_client& client, std::int64_t wall_ns) {
  client.log->add(wall_ns);
  if (client.run.iterations.size() < kMaxRunIterations)
    client.run.iterations.push_back({.wall_ns = wall_ns, .is_whole = true});
}

}  // namespace hocket
