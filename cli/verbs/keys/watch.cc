// hocket watch: prints the versions of a key as they are released.

#include <poll.h>
#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <ostream>

#include "cli/inputs/access/daemon_access.h"
#include "cli/inputs/access/key_name.h"
#include "cli/output/value_text.h"
#include "cli/process/interrupt.h"
#include "cli/verbs/verb.h"
#include "client/link/event_stream_parser.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/protocol/job_message.h"
#include "store/open.h"
#include "tuner/space/params.h"
#include "tuner/trial/cancel.h"

namespace hocket {
namespace {

struct WatchOptions {
  DaemonChoice daemon;
  std::string key;
  std::int64_t count = 0;
  bool json = false;
};

constexpr std::size_t kWatchTextLimitBytes = 200;

std::string knobs_text(const ScheduleConfig& config) {
  auto document = to_json(config);
  document.erase("format");
  document.erase("version");
  return params_text(document);
}

/// Prints an event. Returns false if it is not an event of a version.
bool print_event(const ServerEvent& event, const WatchOptions& options, VerbContext& context) {
  const auto document = parse_object(event.data, "event");
  if (!document) return false;
  const auto message = daemon_message_from_json(event.type, *document);
  if (!message || !std::holds_alternative<ConfigMessage>(*message)) return false;
  if (options.json) {
    context.out << json_text(*document) << std::endl;
    return true;
  }
  const auto& config = std::get<ConfigMessage>(*message);
  context.out << time_text(system_unix_ns()) << " version " << config.version << ": "
              << knobs_text(config.config) << " (" << printable(config.origin, kWatchTextLimitBytes)
              << ")" << std::endl;
  return true;
}

/// Prints events until the interrupt or the requested count; reconnects if the connection is lost.
Result<int> follow(HttpClient& client, const std::string& key, const WatchOptions& options,
                   VerbContext& context, const CancelToken& interrupted) {
  constexpr int kAgainMs = 1000;
  std::int64_t printed = 0;
  std::string last;
  bool was_open = false;
  const auto is_done = [&] { return options.count > 0 && printed >= options.count; };
  for (;;) {
    HttpRequest request{.target = "/v1/watch?key=" + key};
    if (!last.empty()) request.headers.push_back({"Last-Event-ID", last});
    EventStreamParser parser;
    HttpClient::Stream stream;
    stream.on_open = [&] { was_open = true; };
    stream.on_bytes = [&](std::string_view bytes) {
      const auto fed = parser.feed(bytes, [&](const ServerEvent& event) {
        if (is_done()) return;
        last = event.id;
        printed += print_event(event, options, context) ? 1 : 0;
      });
      return fed.has_value() && !is_done();
    };
    const Error ended = client.stream(request, stream);
    if (interrupted.cancelled()) return kInterrupted;
    if (is_done()) return kDone;
    if (!was_open) return failure(ended);
    pollfd file = {interrupted.fd(), POLLIN, 0};
    (void)poll(&file, 1, kAgainMs);
    if (interrupted.cancelled()) return kInterrupted;
  }
}

Result<int> watch(const WatchOptions& options, VerbContext& context) {
  auto access = daemon_access(options.daemon);
  HOCKET_TRY(access);
  HttpClient client(std::move(*access));
  const auto key = find_key(client, options.key);
  HOCKET_TRY(key);
  const InterruptThread interrupt([&] { client.end_by(deadline_after_ns(0)); });
  return follow(client, *key, options, context, interrupt.interrupted());
}

}  // namespace

void add_watch(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<WatchOptions>();
  auto* verb = program.add_subcommand("watch", "print a key's versions as they are released");
  verb->add_option("KEY", options->key, "a key, its beginning, or a workload's name")->required();
  add_daemon_option(*verb, options->daemon);
  verb->add_option("--count", options->count, "end after so many; 0: never")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  verb->add_flag("--json", options->json, "print one JSON object a line");
  verb->footer("Example:\n  hocket watch gpt2-6x256\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return watch(*options, c); }; });
}

}  // namespace hocket
