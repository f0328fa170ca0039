// hocket top: shows the jobs that a daemon knows while they train, or what the ranks on this
// machine run.

#include <poll.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/inputs/access/daemon_access.h"
#include "cli/output/terminal.h"
#include "cli/output/value_text.h"
#include "cli/process/interrupt.h"
#include "cli/verbs/verb.h"
#include "cli/views/top/ranks_view.h"
#include "cli/views/top/top_data.h"
#include "cli/views/top/top_view.h"
#include "core/base/text.h"
#include "core/host/shown_ranks.h"
#include "store/open.h"
#include "tuner/trial/cancel.h"

namespace hocket {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

struct TopOptions {
  DaemonChoice daemon;
  std::string interval = "2s";
  std::int64_t count = 0;
  bool once = false;
  bool ranks = false;
  std::vector<std::int64_t> pids = {};
};

constexpr std::size_t kTopTextLimitBytes = 400;
constexpr std::size_t kPrintedColumns = 200;
constexpr std::int64_t kLeastIntervalNs = 100'000'000, kMostIntervalNs = 3'600'000'000'000;

SteadyTime now() {
  return std::chrono::steady_clock::now();
}

/// Returns whether the request may succeed when repeated.
bool may_pass(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::timed_out;
}

class Picture {
 public:
  virtual ~Picture() = default;

  /// Looks at what there is now.
  virtual Result<void> refresh() = 0;
  virtual std::vector<std::string> lines(const TopSize& size) const = 0;
};

/// The latest data of a daemon; kept while that is unreachable.
class JobsPicture final : public Picture {
 public:
  JobsPicture(HttpClient& client, std::string daemon) : client_(client) {
    shown_.daemon = std::move(daemon);
  }

  Result<void> refresh() override {
    auto data = fetch_top(client_);
    if (data) {
      shown_.data = std::move(*data);
      shown_.trouble.clear();
      since_.reset();
      return {};
    }
    if (!since_) since_ = now();
    shown_.trouble = printable(data.error().message, kTopTextLimitBytes);
    return failure(data.error());
  }

  std::vector<std::string> lines(const TopSize& size) const override {
    TopShown shown = shown_;
    shown.at_unix_ns = system_unix_ns();
    if (since_) shown.trouble_since_ns = std::chrono::nanoseconds(now() - *since_).count();
    return top_lines(shown, size);
  }

 private:
  HttpClient& client_;
  TopShown shown_;
  std::optional<SteadyTime> since_;  ///< start of the current outage
};

/// Keeps the ranks of these processes alone, and says which of them have none.
void choose(const std::vector<std::int64_t>& pids, ShownRanks& found) {
  std::erase_if(found.ranks, [&](const ShownRank& rank) {
    return std::ranges::find(pids, rank.pid) == pids.end();
  });
  found.problems.clear();
  for (const std::int64_t pid : pids) {
    if (std::ranges::find(found.ranks, pid, &ShownRank::pid) != found.ranks.end()) continue;
    found.problems.push_back("process " + std::to_string(pid) +
                             " shows no lanes: it is gone, another user's, or no job on hocket's "
                             "scheduler of this version");
  }
}

/// The ranks on this machine, as they were when it looked last.
class RanksPicture final : public Picture {
 public:
  /// Only these processes; none: all.
  explicit RanksPicture(std::vector<std::int64_t> pids) : pids_(std::move(pids)) {}

  Result<void> refresh() override {
    shown_.found = shown_ranks();
    shown_.at_unix_ns = system_unix_ns();
    shown_.at_coarse_ns = coarse_monotonic_ns();
    if (!pids_.empty()) choose(pids_, shown_.found);
    return {};
  }

  std::vector<std::string> lines(const TopSize& size) const override {
    return rank_lines(shown_, size);
  }

 private:
  const std::vector<std::int64_t> pids_;
  RanksShown shown_;
};

/// Draws the picture, and again after each change of the screen's size, until `until` or the
/// interrupt.
void show(const Picture& picture, TerminalScreen& screen, SteadyTime until,
          const CancelToken& interrupted) {
  for (;;) {
    const TerminalSize size = screen.size();
    screen.draw(picture.lines({size.columns, size.rows}));
    pollfd files[] = {{interrupted.fd(), POLLIN, 0}, {screen.resized_fd(), POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now()).count();
    if (left <= 0 || poll(files, 2, static_cast<int>(left)) == 0 || interrupted.cancelled()) return;
  }
}

/// Prints the picture, with an empty line between two pictures.
void print(const Picture& picture, std::ostream& out, std::int64_t printed) {
  if (printed > 0) out << '\n';
  for (const auto& line : picture.lines({.width = kPrintedColumns})) out << line << '\n';
  out << std::flush;
}

Result<int> follow(Picture& picture, std::int64_t interval_ns, std::int64_t count,
                   VerbContext& context, const CancelToken& interrupted) {
  std::optional<TerminalScreen> screen;
  for (std::int64_t printed = 0;; ++printed) {
    const SteadyTime until = now() + std::chrono::nanoseconds(interval_ns);
    const auto asked = picture.refresh();
    if (interrupted.cancelled()) return kInterrupted;
    // Ends on an error that repeating cannot resolve, and on any error if only one picture is
    // wanted.
    if (!asked && (count == 1 || !may_pass(asked.error()))) return failure(asked.error());
    if (count == 0 && !screen && is_terminal(context.out)) screen.emplace(context.out);
    if (screen) {
      show(picture, *screen, until, interrupted);
    } else {
      print(picture, context.out, printed);
      if (printed + 1 == count || !context.out) return kDone;
      pollfd file = {interrupted.fd(), POLLIN, 0};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now()).count();
      if (left > 0) (void)poll(&file, 1, static_cast<int>(left));
    }
    if (interrupted.cancelled()) return kInterrupted;
  }
}

Result<int> top(const TopOptions& options, VerbContext& context) {
  const auto interval_ns = parse_duration(options.interval);
  if (!interval_ns) return failure(interval_ns.error().in("--interval"));
  if (*interval_ns < kLeastIntervalNs || *interval_ns > kMostIntervalNs) {
    return failure(ErrorCode::invalid_argument,
                   "--interval: expected 100ms to 1h, found " +
                       printable(options.interval, kTopTextLimitBytes));
  }
  const std::int64_t count = options.once ? 1 : options.count;
  if (options.ranks) {
    RanksPicture picture(options.pids);
    const InterruptThread interrupt([] {});
    return follow(picture, *interval_ns, count, context, interrupt.interrupted());
  }
  auto access = daemon_access(options.daemon);
  HOCKET_TRY(access);
  const std::string daemon = to_string(access->address);
  HttpClient client(std::move(*access));
  JobsPicture picture(client, daemon);
  const InterruptThread interrupt([&] { client.end_by(deadline_after_ns(0)); });
  return follow(picture, *interval_ns, count, context, interrupt.interrupted());
}

}  // namespace

void add_top(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<TopOptions>();
  auto* verb =
      program.add_subcommand("top", "watch the jobs of a daemon, or the ranks here, as they train");
  add_daemon_option(*verb, options->daemon);
  verb->add_option("--interval", options->interval, "time between two looks")
      ->capture_default_str();
  auto* once = verb->add_flag("--once", options->once, "print one table, and end");
  verb->add_option("--count", options->count, "print so many tables, and end; 0: never")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000))
      ->excludes(once);
  auto* ranks =
      verb->add_flag("--ranks", options->ranks,
                     "what each lane of the ranks on this machine runs, without a daemon");
  ranks->excludes(verb->get_option("--daemon"));
  verb->add_option("--pid", options->pids, "only the ranks of these processes")
      ->needs(ranks)
      ->check(CLI::PositiveNumber);
  verb->footer("Examples:\n  hocket top --interval 5s\n  hocket top --ranks --once\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return top(*options, c); }; });
}

}  // namespace hocket
