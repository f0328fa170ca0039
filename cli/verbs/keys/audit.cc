// hocket audit: prints who changed which configuration or study.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/promotions/version_json.h"
#include "cli/inputs/access/key_source.h"
#include "cli/output/notes.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "cli/views/setting_change.h"
#include "core/base/json_members.h"
#include "core/base/text.h"

namespace hocket {
namespace {

struct AuditOptions {
  KeySourceChoice source;
  std::string subject;
  std::int64_t after = -1, limit = 50;
  bool json = false;
};

constexpr std::size_t kAuditTextLimitBytes = 100, kAuditDetailLimitBytes = 300;

/// Returns the answer of GET /v1/audit, made from the store without a daemon.
Result<nlohmann::json> audit_of(KeySource& source, const AuditOptions& options,
                                const std::optional<std::string>& subject) {
  if (source.daemon) {
    std::string target = "/v1/audit?limit=" + std::to_string(options.limit);
    if (options.after >= 0) target += "&after=" + std::to_string(options.after);
    if (subject) target += "&subject=" + url_encoded(*subject);
    return ask_daemon(*source.daemon, "GET", target);
  }
  UnreadRows unread;
  const auto rows = source.store->audit({.after_id = std::max<std::int64_t>(options.after, 0),
                                         .limit = static_cast<std::uint32_t>(options.limit),
                                         .subject = subject,
                                         .newest = options.after < 0},
                                        &unread);
  HOCKET_TRY(rows);
  nlohmann::json entries = nlohmann::json::array();
  for (const AuditRow& row : *rows) entries.push_back(audit_json(row));
  nlohmann::json answer = {{"entries", std::move(entries)}};
  if (!unread.empty()) answer["unreadable"] = unread;
  return answer;
}

/// Returns what an entry says, the change of the configuration first.
std::string detail_text(const nlohmann::json& entry) {
  nlohmann::json detail = entry.value("detail", nlohmann::json::object());
  if (!detail.is_object()) return json_text(detail);
  std::string change;
  if (detail.contains("old") && detail.contains("new")) {
    const auto config = [&](const char* name) {
      return detail[name].is_object() ? detail[name] : nlohmann::json::object();
    };
    change = setting_change(config("old"), config("new")) + "; ";
    detail.erase("old");
    detail.erase("new");
  }
  return change + json_text(detail);
}

Result<int> show_audit(const AuditOptions& options, VerbContext& context) {
  auto source = open_key_source(options.source, false, context.err);
  HOCKET_TRY(source);
  std::optional<std::string> subject;
  if (!options.subject.empty()) {
    // A key may be abbreviated; a study is given by its full name.
    const auto key = find_key(*source, options.subject);
    if (!key && key.error().code != ErrorCode::not_found) return failure(key.error());
    subject = key ? *key : options.subject;
  }
  const auto answer = audit_of(*source, options, subject);
  HOCKET_TRY(answer);
  print_unreadable(context.err, *answer);
  if (options.json) {
    context.out << json_text(*answer) << '\n';
    return kDone;
  }
  TextTable table({"id", "time", "who", "what", "subject", "detail"});
  for (const auto& entry : list_member(*answer, "entries")) {
    table.add({std::to_string(integer_member(entry, "id")),
               time_text(integer_member(entry, "at_ns")),
               printable(text_member(entry, "actor"), kAuditTextLimitBytes),
               printable(text_member(entry, "action"), kAuditTextLimitBytes),
               printable(short_key(text_member(entry, "subject")), kAuditTextLimitBytes),
               printable(detail_text(entry), kAuditDetailLimitBytes)});
  }
  table.print(context.out);
  return kDone;
}

}  // namespace

void add_audit(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<AuditOptions>();
  auto* verb = program.add_subcommand("audit", "show who changed which configuration");
  verb->add_option("SUBJECT", options->subject, "a key or a study (default: all)");
  add_key_source_options(*verb, options->source);
  verb->add_option("--after", options->after, "entries with a higher id, oldest first")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  verb->add_option("--limit", options->limit, "at most so many, the newest")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer("Example:\n  hocket audit gpt2-6x256\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return show_audit(*options, c); };
  });
}

}  // namespace hocket
