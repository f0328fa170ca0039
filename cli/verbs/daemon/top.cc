// hocket top: shows the jobs that a daemon knows while they train.

#include <poll.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>

#include "cli/inputs/access/daemon_access.h"
#include "cli/output/terminal.h"
#include "cli/output/value_text.h"
#include "cli/process/interrupt.h"
#include "cli/verbs/verb.h"
#include "cli/views/top_data.h"
#include "cli/views/top_view.h"
#include "core/base/text.h"
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

/// The latest data; kept while the daemon is unreachable.
class Picture {
 public:
  Picture(HttpClient& client, std::string daemon) : client_(client) {
    shown_.daemon = std::move(daemon);
  }

  Result<void> refresh() {
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

  TopShown shown() const {
    TopShown shown = shown_;
    shown.at_unix_ns = system_unix_ns();
    if (since_) shown.trouble_since_ns = std::chrono::nanoseconds(now() - *since_).count();
    return shown;
  }

 private:
  HttpClient& client_;
  TopShown shown_;
  std::optional<SteadyTime> since_;  ///< start of the current outage
};

/// Draws the picture, and again after each change of the screen's size, until `until` or the
/// interrupt.
void show(const Picture& picture, TerminalScreen& screen, SteadyTime until,
          const CancelToken& interrupted) {
  for (;;) {
    const TerminalSize size = screen.size();
    screen.draw(top_lines(picture.shown(), {size.columns, size.rows}));
    pollfd files[] = {{interrupted.fd(), POLLIN, 0}, {screen.resized_fd(), POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now()).count();
    if (left <= 0 || poll(files, 2, static_cast<int>(left)) == 0 || interrupted.cancelled()) return;
  }
}

/// Prints the picture, with an empty line between two pictures.
void print(const Picture& picture, std::ostream& out, std::int64_t printed) {
  if (printed > 0) out << '\n';
  for (const auto& line : top_lines(picture.shown(), {.width = kPrintedColumns})) {
    out << line << '\n';
  }
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
  auto access = daemon_access(options.daemon);
  HOCKET_TRY(access);
  const std::string daemon = to_string(access->address);
  HttpClient client(std::move(*access));
  Picture picture(client, daemon);
  const InterruptThread interrupt([&] { client.end_by(deadline_after_ns(0)); });
  return follow(picture, *interval_ns, options.once ? 1 : options.count, context,
                interrupt.interrupted());
}

}  // namespace

void add_top(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<TopOptions>();
  auto* verb = program.add_subcommand("top", "watch the jobs that a daemon knows as they train");
  add_daemon_option(*verb, options->daemon);
  verb->add_option("--interval", options->interval, "time between two looks")
      ->capture_default_str();
  auto* once = verb->add_flag("--once", options->once, "print one table, and end");
  verb->add_option("--count", options->count, "print so many tables, and end; 0: never")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000))
      ->excludes(once);
  verb->footer("Example:\n  hocket top --interval 5s\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return top(*options, c); }; });
}

}  // namespace hocket
