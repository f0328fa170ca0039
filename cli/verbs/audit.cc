// hocket audit: prints who changed which configuration or study.

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/inputs/command_line.h"
#include "cli/inputs/daemon_access.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "core/base/printable_text.h"

namespace hocket {
namespace {

struct AuditOptions {
  DaemonChoice daemon;
  std::string subject;
  std::int64_t after = -1, limit = 50;
  bool json = false;
};

constexpr std::size_t kAuditTextLimitBytes = 100;

Result<int> show_audit(const AuditOptions& options, Context& context) {
  HOCKET_TRY(no_command(context.command, "audit"));
  auto access = daemon_access(options.daemon);
  HOCKET_TRY(access);
  HttpClient client(std::move(*access));
  std::string target = "/v1/audit?limit=" + std::to_string(options.limit);
  if (options.after >= 0) target += "&after=" + std::to_string(options.after);
  if (!options.subject.empty()) {
    // A key may be abbreviated; a study is given by its full name.
    const auto key = find_key(client, options.subject);
    if (!key && key.error().code != ErrorCode::not_found) return failure(key.error());
    target += "&subject=" + url_encoded(key ? *key : options.subject);
  }
  const auto answer = ask_daemon(client, "GET", target);
  HOCKET_TRY(answer);
  if (options.json) {
    context.out << json_text(*answer) << '\n';
    return kDone;
  }
  Table table({"id", "time", "who", "what", "subject", "detail"});
  for (const auto& entry : list_member(*answer, "entries")) {
    const auto detail = entry.find("detail");
    table.add({std::to_string(integer_member(entry, "id")),
               time_text(integer_member(entry, "at_ns")),
               printable(text_member(entry, "actor"), kAuditTextLimitBytes),
               printable(text_member(entry, "action"), kAuditTextLimitBytes),
               printable(short_key(text_member(entry, "subject")), kAuditTextLimitBytes),
               detail == entry.end() ? "" : printable(json_text(*detail), kAuditTextLimitBytes)});
  }
  table.print(context.out);
  return kDone;
}

}  // namespace

void add_audit(CLI::App& program, Action& action) {
  auto options = std::make_shared<AuditOptions>();
  auto* verb = program.add_subcommand("audit", "show who changed which configuration");
  verb->add_option("SUBJECT", options->subject, "a key or a study (default: all)");
  add_daemon_option(*verb, options->daemon);
  verb->add_option("--after", options->after, "entries with a higher id, oldest first")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  verb->add_option("--limit", options->limit, "at most so many, the newest")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer("Example:\n  hocket audit gpt2-6x256\n");
  verb->callback(
      [options, &action] { action = [options](Context& c) { return show_audit(*options, c); }; });
}

}  // namespace hocket
