// hocket work: runs trials of a study that somebody tunes elsewhere.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "archive/studies/owner.h"
#include "archive/workers/http_trial_source.h"
#include "archive/workers/store_trial_source.h"
#include "archive/workers/waiting.h"
#include "archive/workers/worker.h"
#include "cli/inputs/access/daemon_access.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/value_text.h"
#include "cli/process/harmless_signal.h"
#include "cli/process/interrupt.h"
#include "cli/process/own_job.h"
#include "cli/study/local_workers.h"
#include "cli/verbs/verb.h"
#include "cli/views/result_view.h"
#include "client/link/daemon_access.h"
#include "client/link/environment.h"
#include "core/base/text.h"
#include "store/open.h"
#include "store/store_uri.h"
#include "tuner/slurm/allocation.h"
#include "tuner/trial/limit.h"

namespace hocket {
namespace {

struct WorkOptions {
  std::string study, store;
  DaemonChoice daemon;  ///< has an address if trials come from a daemon
  std::string lease = "30s", idle = "1h";
  bool json = false;
};

constexpr const char* kWorkFooter =
    "Runs the study's command for trials that `hocket tune --workers N` offers, until the study\n"
    "ends. Any number of workers may join and leave at any time, on every host that reaches the\n"
    "store, or a daemon (`hocket serve`) of it, and has the command and its working directory. "
    "When\n"
    "a worker dies, its trial goes to another. A signal that ends it gives the trial back at "
    "once,\n"
    "and is no error. It runs the commands that the store or the daemon names, so a daemon is "
    "only\n"
    "used if --daemon names it; HOCKET_TOKEN_FILE names the file with the token, whose role must "
    "be\n"
    "report.\n"
    "Examples:\n"
    "  hocket work gpt2-3\n"
    "  srun --ntasks-per-node=1 hocket work gpt2-3 --store postgresql://hocket@db/hocket\n"
    "  mpirun -n 4 hocket work gpt2-3\n"
    "  HOCKET_TOKEN_FILE=token hocket work gpt2-3 --daemon https://tuner.example.org:7077\n";

constexpr std::size_t kWorkMessageLimitBytes = 300;

/// Prints a line for each trial.
class WorkLines final : public WorkerObserver {
 public:
  WorkLines(std::ostream& err, std::string unit_source)
      : err_(err), study_(std::move(unit_source)) {}

  void trial_started(const Trial& trial) override {
    err_ << label(trial) << "  " << params_text(trial.params) << std::endl;
  }

  void trial_ended(const Trial& trial, bool is_kept) override {
    err_ << label(trial) << "  " << to_string(trial.outcome.state);
    if (!trial.outcome.message.empty())
      err_ << "  " << printable(trial.outcome.message, kWorkMessageLimitBytes);
    if (!is_kept) err_ << "; not kept, since the lease had ended and another worker has it";
    err_ << std::endl;
  }

  void waits(const std::string& why) override {
    err_ << study_ << " waits for the store: " << printable(why, kWorkMessageLimitBytes)
         << std::endl;
  }

 private:
  std::string label(const Trial& trial) const {
    return study_ + " trial " + std::to_string(shown_number(trial)) +
           (trial.phase == TrialPhase::confirm ? " (confirmation)" : "");
  }

  std::ostream& err_;
  const std::string study_;
};

Result<std::int64_t> duration_option(const std::string& text, const char* name) {
  const auto ns = parse_duration(text);
  if (!ns) return failure(ns.error().in(name));
  return *ns;
}

/// The store or the daemon that a worker takes trials from.
struct OpenSource {
  std::unique_ptr<Store> store;  ///< null for a daemon
  std::unique_ptr<TrialSource> trials;
};

/// Refuses a store in a file that a process on another host uses: several hosts would destroy it.
Result<void> check_host(const WorkOptions& options, Store& store) {
  const auto path = store_path(options.store);
  HOCKET_TRY(path);
  if (is_postgres_uri(*path)) return {};
  const auto study = store.study(options.study);
  HOCKET_TRY(study);
  if (study->origin != StudyOrigin::tune ||
      owner_state(study->owner, this_host()) != OwnerState::unknown) {
    return {};
  }
  return failure(ErrorCode::invalid_argument,
                 "study " + study->name + " is run by " + study->owner +
                     " on another host, and a store in a file is for one host; keep studies for "
                     "several hosts in a database of PostgreSQL (docs/guides/cluster.md)");
}

Result<OpenSource> open_source(const WorkOptions& options) {
  OpenSource source;
  if (!options.daemon.address.empty()) {
    const auto access = daemon_access(options.daemon);
    HOCKET_TRY(access);
    source.trials = std::make_unique<HttpTrialSource>(*access);
    return source;
  }
  auto store = open_existing(options.store);
  HOCKET_TRY(store);
  HOCKET_TRY(check_host(options, **store));
  source.store = std::move(*store);
  source.trials = std::make_unique<StoreTrialSource>(*source.store);
  return source;
}

/// Returns why `text` is no address of a daemon; empty if it is one.
std::string wrong_address(const std::string& text) {
  const auto address = parse_daemon_address(text);
  return address ? std::string() : address.error().message;
}

Result<int> work(const WorkOptions& options, VerbContext& context) {
  const HarmlessSignal unread_pipe(SIGPIPE);
  const auto lease_ns = duration_option(options.lease, "--lease");
  HOCKET_TRY(lease_ns);
  const auto idle_ns = duration_option(options.idle, "--idle");
  HOCKET_TRY(idle_ns);
  const auto source = open_source(options);
  HOCKET_TRY(source);
  const auto in_slurm = slurm_worker_name(process_environment);
  const std::string number = rank_on_host();
  // Its trials are jobs of their own, whichever launcher started this worker.
  forget_rank();
  CancelToken cancel;
  const InterruptGuard guard(cancel);
  const SteadyClock clock;
  WorkLines lines(context.err, options.study);
  const WorkerOptions worker{.study = options.study,
                             .name = in_slurm ? *in_slurm : own_worker_name(),
                             .host = this_host().name,
                             .joins = true,
                             .is_slurm_task = in_slurm.has_value(),
                             .lease_ns = *lease_ns,
                             .idle_limit_ns = *idle_ns,
                             .time_left_ns = [&clock] {
                               return slurm_time_left_ns(process_environment, system_unix_ns(),
                                                         clock);
                             }};
  // The number tells the workers of a launcher apart, the process those that joined by hand.
  const std::string label = in_slurm
                                ? worker_label(this_host().name, *in_slurm)
                                : worker_label(this_host().name, "p" + std::to_string(getpid()));
  const auto end = run_worker(*source->trials, worker,
                              command_runners(clock, cancel, {{"HOCKET_WORKER", number}}, label),
                              lines, clock, cancel, wait_unless_cancelled(cancel));
  HOCKET_TRY(end);
  if (options.json) {
    context.out << json_text({{"study", options.study},
                              {"worker", worker.name},
                              {"trials", end->trials},
                              {"reason", end->reason}})
                << '\n';
    return kDone;
  }
  context.out << "ran " << end->trials << (end->trials == 1 ? " trial" : " trials") << ": "
              << end->reason << '\n';
  return kDone;
}

}  // namespace

void add_work(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<WorkOptions>();
  auto* verb = program.add_subcommand("work", "run trials of a study that `hocket tune` shares");
  verb->add_option("STUDY", options->study, "its name or number")->required();
  auto* store = verb->add_option(
      "--store", options->store,
      "the study's store: a file, or a URI of PostgreSQL (default: $HOCKET_STORE, else "
      "$XDG_STATE_HOME/hocket/hocket.db)");
  // An address that is empty by mistake must not mean the store.
  verb->add_option("--daemon", options->daemon.address,
                   "a daemon on the study's store, http://HOST:PORT or https://HOST:PORT, instead "
                   "of the store; HOCKET_DAEMON is not used")
      ->check(CLI::Validator(wrong_address, ""))
      ->excludes(store);
  add_plain_token_option(*verb, options->daemon);
  verb->add_option("--lease", options->lease,
                   "after so long without a word from this worker its trial goes to another: 10s, "
                   "5m")
      ->capture_default_str();
  verb->add_option("--idle", options->idle, "leave when no trial has come for so long")
      ->capture_default_str();
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(kWorkFooter);
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return work(*options, c); }; });
}

}  // namespace hocket
