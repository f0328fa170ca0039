// hocket profile: asks a running job to record some of its iterations.

#include <poll.h>
#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>

#include "archive/studies/owner.h"
#include "cli/inputs/access/daemon_access.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/value_text.h"
#include "cli/process/interrupt.h"
#include "cli/verbs/verb.h"
#include "core/base/json_members.h"
#include "core/base/text.h"
#include "core/protocol/job_message.h"
#include "tuner/trial/cancel.h"

namespace hocket {
namespace {

struct ProfileOptions {
  DaemonChoice daemon;
  std::string store, job;
  std::int64_t iterations = 10;
  double wait_seconds = 0;
  bool json = false;
};

constexpr std::size_t kProfileTextLimitBytes = 200;
constexpr int kPollMs = 200;

bool asks_daemon(const ProfileOptions& options) {
  if (!options.daemon.address.empty()) return true;
  return options.store.empty() && !process_environment("HOCKET_DAEMON").value_or("").empty();
}

/// A submitted request and its job.
struct Asked {
  /// {"job", "request", "iterations"}; "connected" as well for a daemon's job
  nlohmann::json answer;
  std::string workload;  ///< the job's workload, "" if unknown
};

Result<Asked> ask_through_daemon(const ProfileOptions& options) {
  auto access = daemon_access(options.daemon);
  HOCKET_TRY(access);
  HttpClient client(std::move(*access));
  auto answer = ask_daemon(client, "POST", "/v1/jobs/" + url_encoded(options.job) + "/profile",
                           {{"iterations", options.iterations}});
  HOCKET_TRY(answer);
  Asked asked{std::move(*answer), ""};
  if (options.wait_seconds <= 0) return asked;
  const auto jobs = ask_daemon(client, "GET", "/v1/jobs");
  HOCKET_TRY(jobs);
  for (const auto& job : list_member(*jobs, "jobs")) {
    if (text_member(job, "job") == text_member(asked.answer, "job"))
      asked.workload = text_member(job, "workload");
  }
  return asked;
}

Result<Asked> ask_through_store(const ProfileOptions& options) {
  const auto store = open_for_writing(options.store);
  HOCKET_TRY(store);
  const auto row = (*store)->request_profile(
      {.job = options.job, .iterations = options.iterations, .actor = actor_text()});
  HOCKET_TRY(row);
  return Asked{{{"job", row->job}, {"request", row->id}, {"iterations", row->iterations}}, ""};
}

/// Returns the profiles in the store that may belong to the job: those of its workload, if known.
Result<std::vector<ProfileRow>> profiles_of(Store& store, const std::string& workload) {
  UnreadRows unread;
  auto profiles = store.profiles(&unread);
  if (!profiles || workload.empty()) return profiles;
  const auto workloads = store.workloads(workload, &unread);
  HOCKET_TRY(workloads);
  std::erase_if(*profiles, [&](const ProfileRow& profile) {
    return std::ranges::none_of(*workloads,
                                [&](const auto& row) { return row.id == profile.workload_id; });
  });
  return profiles;
}

Result<std::int64_t> newest_profile(Store& store) {
  UnreadRows unread;
  const auto profiles = store.profiles(&unread);
  HOCKET_TRY(profiles);
  return profiles->empty() ? 0 : profiles->back().id;
}

/// Polls until there is a profile with an id above `before`.
Result<ProfileRow> await_profile(Store& store, std::int64_t before, const std::string& workload,
                                 double seconds) {
  CancelToken interrupted;
  const InterruptGuard guard(interrupted);
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  for (;;) {
    const auto profiles = profiles_of(store, workload);
    HOCKET_TRY(profiles);
    const auto found = std::ranges::find_if(
        *profiles, [&](const ProfileRow& profile) { return profile.id > before; });
    if (found != profiles->end()) return *found;
    if (interrupted.cancelled()) {
      return failure(ErrorCode::interrupted,
                     "interrupted; the request stands, and `hocket profiles list` shows the "
                     "profile once it is there");
    }
    if (std::chrono::steady_clock::now() >= end) {
      return failure(ErrorCode::unavailable,
                     "no profile within " + std::to_string(std::llround(seconds)) +
                         " s; the request stands, and `hocket profiles list` shows the profile "
                         "once it is there");
    }
    pollfd file = {interrupted.fd(), POLLIN, 0};
    (void)poll(&file, 1, kPollMs);
  }
}

void print_asked(const Asked& asked, VerbContext& context) {
  const auto& answer = asked.answer;
  const std::string job = printable(text_member(answer, "job"), kProfileTextLimitBytes);
  context.out << "asked " << job << " for a profile of " << integer_member(answer, "iterations")
              << " iterations (request " << integer_member(answer, "request") << ")\n";
  if (!answer.contains("connected")) {
    context.out << context.placed(
        "a job of that id or name that takes requests from this store takes it up within "
        "a second; `hocket profiles list` shows the profile\n");
  } else if (flag_member(answer, "connected")) {
    context.out << "it takes it up within a second, between two of its attempts at tuning; `hocket "
                   "profiles list` shows the profile, with --store where the daemon has another\n";
  } else {
    context.out << "the daemon does not reach it now; it takes it up when it is back\n";
  }
  context.out << std::flush;
}

Result<int> ask(const ProfileOptions& options, VerbContext& context) {
  const bool by_daemon = asks_daemon(options);
  std::unique_ptr<Store> store;
  std::int64_t before = 0;
  if (options.wait_seconds > 0) {
    auto opened = open_for_writing(options.store);
    if (!opened) return failure(opened.error().in("--wait"));
    store = std::move(*opened);
    const auto newest = newest_profile(*store);
    HOCKET_TRY(newest);
    before = *newest;
  }
  auto asked = by_daemon ? ask_through_daemon(options) : ask_through_store(options);
  HOCKET_TRY(asked);
  if (!options.json) print_asked(*asked, context);
  if (store) {
    const auto profile = await_profile(*store, before, asked->workload, options.wait_seconds);
    HOCKET_TRY(profile);
    asked->answer["profile"] = profile->name;
    if (!options.json) context.out << "profile " << profile->name << " is there\n";
  }
  if (options.json) context.out << json_text(asked->answer) << '\n';
  return kDone;
}

}  // namespace

void add_profile(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<ProfileOptions>();
  auto* verb = program.add_subcommand("profile", "ask a running job for a profile");
  verb->add_option("JOB", options->job, "a job's id or name (`hocket jobs`)")->required();
  verb->add_option("--iterations", options->iterations, "how many to record")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, kMaxProfiledIterations));
  add_daemon_option(*verb, options->daemon);
  verb->add_option("--store", options->store,
                   "ask through this store, where no daemon is named (default: $HOCKET_STORE, else "
                   "the user's)");
  verb->add_option("--wait", options->wait_seconds,
                   "seconds to wait for the profile, in the store that --store names")
      ->check(CLI::Range(0.0, 86'400.0));
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer("Example:\n  hocket profile gpt2-6x256 --iterations 20 --wait 60\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return ask(*options, c); }; });
}

}  // namespace hocket
