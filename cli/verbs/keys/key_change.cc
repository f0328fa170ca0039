#include "cli/verbs/keys/key_change.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/inputs/access/key_name.h"
#include "cli/output/value_text.h"
#include "core/base/json_members.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kReasonLimitBytes = 400;

}  // namespace

CLI::App* add_key_change(CLI::App& program, const std::string& name, const std::string& help,
                         KeyChangeOptions& options) {
  auto* verb = program.add_subcommand(name, help);
  verb->add_option("KEY", options.key, "a key, its beginning, or a workload's name")->required();
  add_daemon_option(*verb, options.daemon);
  verb->add_flag("--json", options.json, "print JSON");
  return verb;
}

Result<int> change_key(const KeyChangeOptions& options, const std::string& suffix,
                       const RequestBody& body, VerbContext& context,
                       const AnswerMeaning& meaning) {
  auto access = daemon_access(options.daemon);
  HOCKET_TRY(access);
  HttpClient client(std::move(*access));
  const auto key = find_key(client, options.key);
  HOCKET_TRY(key);
  const Result<nlohmann::json> document = body(client, *key);
  HOCKET_TRY(document);
  const auto answer = ask_daemon(client, "PUT", "/v1/configs/" + *key + suffix, *document);
  HOCKET_TRY(answer);
  print_key_answer(*answer, options.json ? "" : key_name(client, *key), options.json, context);
  if (meaning && !options.json) context.out << context.placed(meaning(*answer)) << '\n';
  return kDone;
}

void print_key_answer(const nlohmann::json& answer, const std::string& name, bool as_json,
                      VerbContext& context) {
  if (as_json) {
    context.out << json_text(answer) << '\n';
    return;
  }
  context.out << name;
  const auto version = integer_member(answer, "version");
  if (version > 0) context.out << " version " << version;
  if (version == 0) context.out << " has no version";
  if (const auto stage = text_member(answer, "stage"); !stage.empty())
    context.out << ' ' << printable(stage, kReasonLimitBytes);
  if (const auto origin = text_member(answer, "origin"); !origin.empty()) {
    context.out << " (" << printable(origin, kReasonLimitBytes) << ")";
  }
  if (flag_member(answer, "pinned")) context.out << ", pinned";
  if (flag_member(answer, "frozen")) context.out << ", frozen";
  context.out << '\n' << std::flush;
  if (const auto reason = text_member(answer, "no_job_can_change"); !reason.empty()) {
    context.err << "hocket: no running job can change to it ("
                << printable(reason, kReasonLimitBytes)
                << "); `hocket audit` says what becomes of it" << std::endl;
  }
}

}  // namespace hocket
