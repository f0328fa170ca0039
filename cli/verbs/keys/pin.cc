// hocket pin: holds a key's configuration so that tuning does not change it.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/verbs/keys/key_change.h"
#include "cli/verbs/verb.h"

namespace hocket {
namespace {

struct PinOptions : KeyChangeOptions {
  std::int64_t version = 0;  ///< 0: the current one
  bool off = false;
};

Result<int> pin(const PinOptions& options, VerbContext& context) {
  nlohmann::json body = {{"pinned", !options.off}};
  if (options.version > 0) body["version"] = options.version;
  return change_key(
      options, "/pin", [&](HttpClient&, const std::string&) { return body; }, context);
}

}  // namespace

void add_pin(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<PinOptions>();
  auto* verb =
      add_key_change(program, "pin", "keep a key's version, whatever tuning finds", *options);
  verb->add_option("--version", options->version, "this one, instead of the current one")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  verb->add_flag("--off", options->off, "let tuning change it again");
  verb->footer("Example:\n  hocket pin gpt2-6x256 --version 12\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return pin(*options, c); }; });
}

}  // namespace hocket
