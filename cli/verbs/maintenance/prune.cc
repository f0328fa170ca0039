// hocket prune: removes the files that killed processes of hocket have left over, and what of the
// store has expired.

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>

#include "archive/studies/owner.h"
#include "cli/files/own_files.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/notes.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/maintenance/retention_options.h"
#include "cli/verbs/verb.h"
#include "core/base/text.h"
#include "daemon/retention/retention.h"
#include "store/open.h"

namespace hocket {
namespace {

constexpr std::size_t kPruneTextLimitBytes = 400;

struct LeftOverOptions {
  std::string store;
  bool dry_run = false, json = false;
  RetentionOptions retention;
};

struct Cleaning {
  std::vector<OwnFile> removed;  ///< removed files, or with --dry-run those to remove
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
  TextTable table({dry_run ? "would go" : "removed", "size", "path"});
  for (const OwnFile& file : cleaning.removed) {
    table.add({std::string(to_string(file.kind)),
               value_text(static_cast<double>(file.bytes), ObjectiveUnit::bytes),
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

/// Returns what the policy removes from the store, or with `dry_run` what it would remove.
Result<RetentionRemoval> remove_expired_rows(const LeftOverOptions& options,
                                             const std::string& path,
                                             const RetentionPolicy& policy) {
  const auto store =
      options.dry_run ? open_for_reading(options.store) : open_existing(options.store);
  HOCKET_TRY(store);
  const auto rows = retention_rows(**store, policy);
  HOCKET_TRY(rows);
  RetentionDecision decision = what_to_remove(policy, *rows, system_unix_ns());
  if (!options.dry_run) return remove_expired(**store, path, decision, actor_text());
  RetentionRemoval removal{.studies = std::move(decision.studies),
                           .profiles = {.removed = std::move(decision.profiles)},
                           .unread = std::move(decision.unread)};
  if (decision.audit_before_ns) {
    const auto count = count_audit(**store, *decision.audit_before_ns);
    HOCKET_TRY(count);
    removal.audit_entries = *count;
  }
  return removal;
}

void print_removal(const RetentionRemoval& removal, bool dry_run, std::ostream& out) {
  const auto& profiles = removal.profiles.removed;
  if (removal.studies.empty() && removal.audit_entries == 0 && profiles.empty()) {
    out << "nothing in the store has expired\n";
    return;
  }
  TextTable table({dry_run ? "would go" : "removed", "name", "why"});
  for (const ExpiredStudy& study : removal.studies) {
    table.add({"study", study.name, study.reason});
  }
  if (removal.audit_entries > 0) {
    const std::string unit = removal.audit_entries == 1 ? " entry" : " entries";
    table.add(
        {"audit", std::to_string(removal.audit_entries) + unit, "older than the policy keeps"});
  }
  for (const PruneDecision& decision : profiles) {
    table.add({"profile", decision.profile.name, decision.reason});
  }
  table.print(out);
}

void add_to(nlohmann::json& document, const RetentionRemoval& removal) {
  auto studies = nlohmann::json::array();
  for (const ExpiredStudy& study : removal.studies) {
    studies.push_back({{"study", study.name}, {"id", study.id}, {"reason", study.reason}});
  }
  document["studies"] = std::move(studies);
  document["audit_entries"] = removal.audit_entries;
  const auto profiles = to_json(removal.profiles);
  document["profiles"] = profiles.at("removed");
  document["freed_bytes"] = profiles.at("freed_bytes");
  if (!removal.unread.empty()) document["unreadable"] = removal.unread;
}

Result<int> prune_left_over(const LeftOverOptions& options, VerbContext& context) {
  const auto policy = retention_policy(options.retention);
  HOCKET_TRY(policy);
  const auto store = store_path(options.store);
  HOCKET_TRY(store);
  std::optional<RetentionRemoval> removal;
  if (!policy->keeps_everything()) {
    auto removed = remove_expired_rows(options, *store, *policy);
    HOCKET_TRY(removed);
    removal = std::move(*removed);
  }
  Cleaning cleaning = clean(own_places(*store, process_environment), options.dry_run);
  if (removal) {
    for (const auto* notes : {&removal->notes, &removal->profiles.notes}) {
      cleaning.notes.insert(cleaning.notes.end(), notes->begin(), notes->end());
    }
    if (removal->error) cleaning.notes.push_back(removal->error->message);
  }
  if (options.json) {
    auto document = cleaning_json(cleaning, options.dry_run);
    if (removal) add_to(document, *removal);
    context.out << json_text(document) << '\n';
  } else {
    if (removal) print_removal(*removal, options.dry_run, context.out);
    print_cleaning(cleaning, options.dry_run, context.out);
  }
  if (removal) print_notes(context.err, removal->unread);
  for (const auto& note : cleaning.notes) {
    context.err << "note: " << printable(note, kPruneTextLimitBytes) << std::endl;
  }
  return cleaning.notes.empty() ? kDone : kFailed;
}

}  // namespace

void add_prune(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<LeftOverOptions>();
  auto* verb = program.add_subcommand(
      "prune", "remove what killed processes left over, and what has expired");
  verb->add_flag("--dry-run", options->dry_run, "say what would go, and remove nothing");
  add_store_option(*verb, options->store);
  verb->add_flag("--json", options->json, "print JSON");
  add_retention_options(*verb, options->retention);
  verb->footer(
      "Removes what `hocket doctor` calls left over: folders for temporary files at once,\n"
      "unfinished files and traces without a profile a day after their last change.\n"
      "Exit status 1 when something could not be removed. What is in the store stays, unless one "
      "of\n"
      "--keep-studies, --keep-audit, --keep-profiles and --max-profile-bytes is given. A study "
      "that\n"
      "runs, one whose version is in force or staged, and a profile that `hocket profiles keep` "
      "has\n"
      "marked stay in any case. `hocket serve` has the same options, and removes every hour.\n"
      "Examples:\n  hocket prune --dry-run\n  hocket prune --keep-studies 90d --keep-audit 52w\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return prune_left_over(*options, c); };
  });
}

}  // namespace hocket
