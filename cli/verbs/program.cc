#include "cli/verbs/program.h"

#include <CLI/CLI.hpp>

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

/// Says of every --store that its value is a file; a URI is typed as it is.
void name_stores(CLI::App& app) {
  if (auto* store = app.get_option_no_throw("--store")) store->type_name("FILE");
  for (CLI::App* verb : app.get_subcommands({})) name_stores(*verb);
}

}  // namespace

std::unique_ptr<CLI::App> make_program(Action& action) {
  auto program =
      std::make_unique<CLI::App>("hocket: schedules, measures and tunes training jobs", "hocket");
  program->set_version_flag("--version", "hocket " HOCKET_VERSION);
  program->footer(kExamples);
  program->require_subcommand(1);
  for (const auto add :
       {add_tune,     add_work,       add_run,      add_param_server, add_studies,  add_trials,
        add_best,     add_fetch,      add_with,     add_torch,        add_simulate, add_replay,
        add_explain,  add_plot,       add_tape,     add_topology,     add_serve,    add_web,
        add_jobs,     add_configs,    add_watch,    add_push,         add_pin,      add_freeze,
        add_rollback, add_audit,      add_versions, add_top,          add_profile,  add_profiles,
        add_traces,   add_stragglers, add_store,    add_doctor,       add_prune,    add_completion,
        add_manual}) {
    add(*program, action);
  }
  name_stores(*program);
  return program;
}

}  // namespace hocket
