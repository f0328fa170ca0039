// hocket freeze: leaves the running jobs of a key unchanged.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/verbs/keys/key_change.h"
#include "cli/verbs/verb.h"

namespace hocket {
namespace {

struct FreezeOptions : KeyChangeOptions {
  bool off = false;
};

Result<int> freeze(const FreezeOptions& options, VerbContext& context) {
  const nlohmann::json body = {{"frozen", !options.off}};
  return change_key(
      options, "/freeze", [&](HttpClient&, const std::string&) { return body; }, context);
}

}  // namespace

void add_freeze(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<FreezeOptions>();
  auto* verb = add_key_change(program, "freeze", "leave a key's running jobs alone", *options);
  verb->add_flag("--off", options->off, "no longer");
  verb->footer("Example:\n  hocket freeze gpt2-6x256\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return freeze(*options, c); }; });
}

}  // namespace hocket
