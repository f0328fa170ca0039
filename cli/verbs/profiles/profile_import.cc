// hocket profiles import: makes a profile of traces from elsewhere, or reports on them.

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/profiles/import/import_profile.h"
#include "archive/profiles/report/trace_report.h"
#include "cli/inputs/access/profile_source.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/reading_progress.h"
#include "cli/output/value_text.h"
#include "cli/verbs/profiles/profile_verbs.h"
#include "cli/views/profile_view.h"
#include "cli/views/trace_report_view.h"
#include "store/open.h"

namespace hocket {
namespace {

struct ImportOptions {
  ImportRequest request;
  std::string store;
  bool report = false, json = false, all = false;
};

/// Reports on the traces without a store.
Result<int> report_verb(const ImportOptions& options, const ImportRequest& request,
                        ReadingLine& line, VerbContext& context) {
  auto imported = read_traces(request);
  line.clear();
  HOCKET_TRY(imported);
  HOCKET_TRY(settle_ranks(*imported));
  auto notes = joined_notes(*imported);
  std::vector<RankTrace> traces;
  for (ImportedTrace& each : imported->traces) traces.push_back(std::move(each.trace));
  const TraceReport report = report_traces(std::move(traces), std::move(notes));
  if (options.json) {
    context.out << json_text(to_json(report)) << '\n';
    return kDone;
  }
  print_trace_report(context.out, report);
  if (options.all) {
    print_notes(context.out, report.notes);
  } else {
    print_kinds_of_notes(context.out, report.notes);
  }
  return kDone;
}

Result<int> profile_verb(const ImportOptions& options, ImportRequest request, ReadingLine& line,
                         VerbContext& context) {
  const auto path = store_path(options.store);
  HOCKET_TRY(path);
  const auto store = open_for_writing(options.store);
  HOCKET_TRY(store);
  if (!request.with.empty()) {
    const auto with = find_profile(**store, request.with);
    HOCKET_TRY(with);
    request.with = with->name;
  }
  const auto row = import_profile(**store, *path, request);
  line.clear();
  HOCKET_TRY(row);
  const auto summary = summarize_profile(**store, *row);
  HOCKET_TRY(summary);
  if (options.json) {
    context.out << json_text(to_json(*summary)) << '\n';
  } else {
    print_profile(context.out, *summary, options.all ? ShownDetail::all : ShownDetail::summary);
  }
  if (!request.name.empty() && row->name != request.name) {
    print_notes(context.err,
                std::vector<std::string>{"the profile is called " + row->name + ", because \"" +
                                         request.name +
                                         "\" is taken or has letters that names cannot have"});
  }
  return kDone;
}

Result<int> import_verb(const ImportOptions& options, VerbContext& context) {
  const SteadyClock clock;
  ReadingLine line(context.err, context.err_columns, clock);
  ImportRequest request = options.request;
  request.inputs.standard_input = &std::cin;
  request.inputs.on_progress = [&](const ReadingProgress& progress) {
    line.show(progress.path, progress.bytes, progress.of_bytes);
  };
  return options.report ? report_verb(options, request, line, context)
                        : profile_verb(options, request, line, context);
}

}  // namespace

void add_profile_import(CLI::App& profiles, VerbAction& action) {
  auto options = std::make_shared<ImportOptions>();
  auto* verb = profiles.add_subcommand("import", "make a profile of traces from elsewhere");
  verb->add_option("FILE", options->request.paths,
                   "a Chrome trace of PyTorch's profiler or of hocket, an SQLite export of Nsight "
                   "Systems, or a trace file of hocket, one for each rank; also packed (.gz, .zst, "
                   ".xz), an archive (.tar.gz, .zip) or a folder of them; - is standard input")
      ->type_name("FILE")
      ->required();
  auto* report =
      verb->add_flag("--report", options->report, "say what the traces show, and store nothing");
  verb->add_option("--name", options->request.name,
                   "the profile's name, with a number behind it if it is taken")
      ->excludes(report);
  verb->add_option("--step-range", options->request.step_range,
                   "the ranges that mark steps, but for a number at their end");
  verb->add_option("--communication", options->request.communication,
                   "kernels that communicate as well: a regular expression (RE2's syntax) for a "
                   "part of their names; repeat it")
      ->type_name("REGEX")
      ->allow_extra_args(false);
  verb->add_option("--with", options->request.with,
                   "a profile to take along: the files are of its other ranks")
      ->excludes(report);
  add_store_option(*verb, options->store);
  verb->add_flag("--all", options->all,
                 "a line for each rank without a trace and for each note, not their number");
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "Examples:\n  hocket profiles import rank0.json.gz rank1.json.gz --name resnet\n"
      "  hocket profiles import traces/ --report\n"
      "  hocket profiles import report.sqlite --step-range iteration\n"
      "  hocket profiles import b8/rank-1.sqlite --with gpt2-3\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return import_verb(*options, c); };
  });
}

}  // namespace hocket
