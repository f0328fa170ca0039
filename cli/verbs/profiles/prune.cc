// hocket prune: removes the files that killed processes of hocket have left over.

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/files/own_files.h"
#include "cli/inputs/command_line.h"
#include "cli/inputs/store_access.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "core/base/printable_text.h"
#include "store/open.h"

namespace hocket {
namespace {

constexpr std::size_t kPruneTextLimitBytes = 400;

struct LeftOverOptions {
  std::string store;
  bool dry_run = false, json = false;
};

struct Cleaning {
  std::vector<OwnFile> removed;  ///< or what would be
  std::vector<std::string> notes;
};

Cleaning clean(const OwnPlaces& places, bool dry_run) {
  Cleaning cleaning;
  for (OwnFile& file : find_own_files(places, {::geteuid(), system_unix_ns()})) {
    if (file.state != OwnState::left_over) continue;
    const auto removed = dry_run ? Result<bool>(true) : remove_left_over(file, places);
    if (!removed) {
      cleaning.notes.push_back(removed.error().message);
    } else if (*removed) {
      cleaning.removed.push_back(std::move(file));
    } else {
      cleaning.notes.push_back(file.path +
                               " stays: it is in use, or has files that hocket did "
                               "not write");
    }
  }
  return cleaning;
}

void print_cleaning(const Cleaning& cleaning, bool dry_run, std::ostream& out) {
  if (cleaning.removed.empty()) {
    out << "nothing to remove\n";
    return;
  }
  Table table({dry_run ? "would go" : "removed", "size", "path"});
  for (const OwnFile& file : cleaning.removed) {
    table.add({std::string(to_string(file.kind)),
               value_text(static_cast<double>(file.bytes), Unit::bytes),
               printable(file.path, kPruneTextLimitBytes)});
  }
  table.print(out);
}

nlohmann::json cleaning_json(const Cleaning& cleaning, bool dry_run) {
  auto removed = nlohmann::json::array();
  for (const OwnFile& file : cleaning.removed) {
    removed.push_back({{"what", to_string(file.kind)}, {"bytes", file.bytes}, {"path", file.path}});
  }
  return {{"removed", std::move(removed)}, {"notes", cleaning.notes}, {"dry_run", dry_run}};
}

Result<int> prune_left_over(const LeftOverOptions& options, Context& context) {
  HOCKET_TRY(no_command(context.command, "prune"));
  const auto store = store_path(options.store);
  HOCKET_TRY(store);
  const Cleaning cleaning = clean(own_places(*store, process_environment), options.dry_run);
  if (options.json) {
    context.out << json_text(cleaning_json(cleaning, options.dry_run)) << '\n';
  } else {
    print_cleaning(cleaning, options.dry_run, context.out);
  }
  for (const auto& note : cleaning.notes) {
    context.err << "note: " << printable(note, kPruneTextLimitBytes) << std::endl;
  }
  return cleaning.notes.empty() ? kDone : kFailed;
}

}  // namespace

void add_prune(CLI::App& program, Action& action) {
  auto options = std::make_shared<LeftOverOptions>();
  auto* verb = program.add_subcommand("prune", "remove files that killed processes left over");
  verb->add_flag("--dry-run", options->dry_run, "say what would go, and remove nothing");
  verb->add_option("--store", options->store, "the store: a file, or a URI of PostgreSQL");
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "Removes what `hocket doctor` calls left over: folders for temporary files at once,\n"
      "unfinished files and traces without a profile a day after their last change.\n"
      "Exit status 1 when something could not be removed. Studies and profiles stay:\n"
      "`hocket studies rm`, `hocket profiles rm` and `hocket profiles prune` remove those.\n"
      "Example:\n  hocket prune --dry-run\n");
  verb->callback([options, &action] {
    action = [options](Context& c) { return prune_left_over(*options, c); };
  });
}

}  // namespace hocket
