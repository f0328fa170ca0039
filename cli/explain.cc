// hocket explain: what a search has learned, and why it tried what it tried.

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/command_line.h"
#include "cli/explanation_view.h"
#include "cli/store_access.h"
#include "cli/verb.h"

namespace hocket {
namespace {

struct Options {
  std::string study, store, table;
  RecordedTableOptions columns;
  bool json = false;
};

constexpr const char* kFooter =
    "Each trial is left out once, to compare what the others predict with what was measured.\n"
    "docs/formats/explanation.md says what the JSON holds.\n"
    "Examples:\n"
    "  hocket explain gpt2-1\n"
    "  hocket explain --table sweep.csv --objective-column iteration_ns --json\n";

Result<Explained> explanation_of(const Options& options) {
  if (options.study.empty() == options.table.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "explain: expected either a study or --table TABLE; `hocket studies` lists the "
                   "studies");
  }
  if (!options.table.empty()) return explain_table(options.table, options.columns);
  const auto store = open_for_reading(options.store);
  if (!store) return failure(store.error());
  return explain_study(**store, options.study);
}

Result<int> explain_verb(const Options& options, Context& context) {
  if (auto ok = no_command(context.command, "explain"); !ok) return failure(ok.error());
  const auto explained = explanation_of(options);
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
  auto options = std::make_shared<Options>();
  options->columns.objective_column = "value";
  auto* verb = program.add_subcommand("explain", "show what a search learned, and why it tried it");
  verb->add_option("STUDY", options->study, "its name or number");
  verb->add_option("--store", options->store, "the store's file");
  verb->add_option("--table", options->table, "a recorded sweep instead of a study");
  verb->add_option("--objective-column", options->columns.objective_column,
                   "the column of the table that was minimised")
      ->capture_default_str();
  verb->add_option("--ignore-column", options->columns.ignored_columns,
                   "a column that is no parameter; repeat it")
      ->allow_extra_args(false);
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(kFooter);
  verb->callback(
      [options, &action] { action = [options](Context& c) { return explain_verb(*options, c); }; });
}

}  // namespace hocket
