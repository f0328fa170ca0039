#include "cli/verbs/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "cli/verbs/verb.h"

namespace hocket {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  hocket tune -- hocket run --ranks 2 -- ./train     tune the schedule of a hocket job\n"
    "  hocket tune --param THREADS=int:1..16 -- ./work    tune anything: {THREADS}, $THREADS\n"
    "  hocket tune --resume                               go on with an interrupted study\n"
    "  hocket fetch --workload train                      what was learned\n"
    "  hocket torch -- torchrun train.py                  tune a PyTorch job while it trains\n"
    "  hocket serve                                       for a team: jobs ask it, and improve\n"
    "  hocket simulate step.json --sweep order=fifo,static   predict a step without running it\n"
    "`hocket VERB --help` says more.\n";

struct Verb {
  std::string_view name;  ///< with _ for -
  void (*add)(CLI::App& program, VerbAction& action);
  BehindDashes behind_dashes;
};

#define HOCKET_VERB_ROW(name, behind_dashes) {#name, add_##name, BehindDashes::behind_dashes},
constexpr Verb kVerbs[] = {HOCKET_VERBS(HOCKET_VERB_ROW)};
#undef HOCKET_VERB_ROW

/// Says of every --store that its value is a file; a URI is typed as it is.
void name_stores(CLI::App& app) {
  if (auto* store = app.get_option_no_throw("--store")) store->type_name("FILE");
  for (CLI::App* verb : app.get_subcommands({})) name_stores(*verb);
}

}  // namespace

std::unique_ptr<CLI::App> make_program(VerbAction& action) {
  auto program =
      std::make_unique<CLI::App>("hocket: schedules, measures and tunes training jobs", "hocket");
  program->set_version_flag("--version", "hocket " HOCKET_VERSION);
  program->footer(kExamples);
  program->require_subcommand(1);
  for (const Verb& verb : kVerbs) verb.add(*program, action);
  name_stores(*program);
  return program;
}

bool takes_command(std::string_view verb) {
  std::string name(verb);
  std::ranges::replace(name, '-', '_');
  return std::ranges::any_of(kVerbs, [&](const Verb& row) {
    return row.name == name && row.behind_dashes == BehindDashes::command;
  });
}

}  // namespace hocket
