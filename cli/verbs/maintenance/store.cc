// hocket store: copies a whole store, as from a file to a database that several hosts share.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "store/copy_store.h"
#include "store/store_uri.h"

namespace hocket {
namespace {

struct StoreCopyOptions {
  std::string from, to;
  bool json = false;
};

nlohmann::json copied_json(const std::vector<CopiedTable>& tables) {
  auto list = nlohmann::json::array();
  for (const CopiedTable& table : tables) {
    list.push_back({{"table", table.name}, {"rows", table.rows}});
  }
  return list;
}

Result<int> copy_whole_store(const StoreCopyOptions& options, VerbContext& context) {
  const auto copied = copy_store(options.from, options.to);
  HOCKET_TRY(copied);
  std::int64_t rows = 0, traces = 0;
  for (const CopiedTable& table : *copied) {
    rows += table.rows;
    if (table.name == "profile_ranks") traces = table.rows;
  }
  if (options.json) {
    context.out << json_text({{"from", shown_store(options.from)},
                              {"to", shown_store(options.to)},
                              {"tables", copied_json(*copied)},
                              {"rows", rows}})
                << '\n';
  } else {
    TextTable table({"table", "rows"});
    for (const CopiedTable& each : *copied) table.add({each.name, std::to_string(each.rows)});
    table.print(context.out);
    context.out << '\n' << rows << " rows copied and compared\n";
  }
  if (traces > 0) {
    context.err << "note: trace files stay where they are; the copied profiles name them by their "
                   "paths"
                << std::endl;
  }
  return kDone;
}

}  // namespace

void add_store(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<StoreCopyOptions>();
  auto* store = program.add_subcommand("store", "copy a whole store");
  store->require_subcommand(1);
  auto* copy = store->add_subcommand("copy", "copy a store with all ids into an empty one");
  copy->add_option("from", options->from, "a store: a file, or a URI of PostgreSQL")->required();
  copy->add_option("to", options->to, "an empty one, which is created if it is missing")
      ->required();
  copy->add_flag("--json", options->json, "print JSON");
  copy->footer(
      "All or nothing is copied, as the store is at one moment, and compared row by row.\n"
      "Trace files stay where they are. docs/guides/cluster.md says how to make a database.\n"
      "Example:\n"
      "  hocket store copy ~/.local/state/hocket/hocket.db postgresql://hocket@db/hocket\n");
  copy->callback([options, &action] {
    action = [options](VerbContext& c) { return copy_whole_store(*options, c); };
  });
}

}  // namespace hocket
