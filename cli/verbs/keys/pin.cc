// hocket pin: holds a key's configuration so that tuning does not change it.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/verbs/keys/key_change.h"
#include "cli/verbs/verb.h"
#include "core/base/json_members.h"
#include "core/base/plain_text.h"
#include "core/base/text.h"

namespace hocket {
namespace {

struct PinOptions : KeyChangeOptions {
  std::int64_t version = 0;  ///< 0: the current one
  bool off = false;
};

/// Says which version is pinned, since the request may leave that open, and until when.
std::string meaning_of(const PinOptions& options, const nlohmann::json& answer) {
  if (options.off) return "studies and live tuning may change it again";
  const auto version = integer_member(answer, "version");
  const std::string stays =
      version > 0 ? "version " + std::to_string(version) + " stays in force"
                  : std::string("jobs keep their own default, for there is no version");
  return stays + ": what studies and live tuning find is recorded as held, until `hocket pin " +
         plain_line(shell_quoted(options.key)) + " --off`";
}

Result<int> pin(const PinOptions& options, VerbContext& context) {
  nlohmann::json body = {{"pinned", !options.off}};
  if (options.version > 0) body["version"] = options.version;
  return change_key(
      options, "/pin", [&](HttpClient&, const std::string&) { return body; }, context,
      [&](const nlohmann::json& answer) { return meaning_of(options, answer); });
}

}  // namespace

void add_pin(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<PinOptions>();
  auto* verb =
      add_key_change(program, "pin", "keep a key's version, whatever tuning finds", *options);
  verb->add_option("--version", options->version,
                   "this one, which becomes the current one (default: the one that jobs get now)")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  verb->add_flag("--off", options->off, "let tuning change it again");
  verb->footer("Example:\n  hocket pin gpt2-6x256 --version 12\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return pin(*options, c); }; });
}

}  // namespace hocket
