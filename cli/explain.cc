// hocket explain: what a search has learned, and why it tried what it tried.

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/command_line.h"
#include "cli/explanation_view.h"
#include "cli/verb.h"

namespace hocket {
namespace {

struct ExplainOptions {
  ExplanationSource source;
  bool json = false;
};

constexpr const char* kExplainFooter =
    "Each trial is left out once, to compare what the others predict with what was measured.\n"
    "docs/formats/explanation.md says what the JSON holds.\n"
    "Examples:\n"
    "  hocket explain gpt2-1\n"
    "  hocket explain --table sweep.csv --objective-column iteration_ns --json\n";

Result<int> explain_verb(const ExplainOptions& options, Context& context) {
  if (auto ok = no_command(context.command, "explain"); !ok) return failure(ok.error());
  const auto explained = explain_source(options.source, "explain");
  if (!explained) return failure(explained.error());
  if (options.json) {
    context.out << json_text(to_json(*explained)) << '\n';
  } else {
    print_explanation(context.out, *explained);
  }
  return kDone;
}

}  // namespace

void add_explain(CLI::App& program, Action& action) {
  auto options = std::make_shared<ExplainOptions>();
  auto* verb = program.add_subcommand("explain", "show what a search learned, and why it tried it");
  add_source(*verb, options->source);
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(kExplainFooter);
  verb->callback(
      [options, &action] { action = [options](Context& c) { return explain_verb(*options, c); }; });
}

}  // namespace hocket
