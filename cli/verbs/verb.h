#pragma once

// Declarations shared by the program's verbs. Each verb is one file with one function, which
// declares the verb's options and, if the verb was chosen, sets the action to perform. One thread.

#include "cli/base/context.h"

namespace CLI {
class App;
}

namespace hocket {

void add_run(CLI::App& program, Action& action);
void add_param_server(CLI::App& program, Action& action);
void add_tune(CLI::App& program, Action& action);
void add_work(CLI::App& program, Action& action);
void add_studies(CLI::App& program, Action& action);
void add_trials(CLI::App& program, Action& action);
void add_best(CLI::App& program, Action& action);
void add_fetch(CLI::App& program, Action& action);
void add_with(CLI::App& program, Action& action);
void add_torch(CLI::App& program, Action& action);
void add_simulate(CLI::App& program, Action& action);
void add_replay(CLI::App& program, Action& action);
void add_explain(CLI::App& program, Action& action);
void add_plot(CLI::App& program, Action& action);
void add_tape(CLI::App& program, Action& action);
void add_topology(CLI::App& program, Action& action);
void add_serve(CLI::App& program, Action& action);
void add_web(CLI::App& program, Action& action);
void add_jobs(CLI::App& program, Action& action);
void add_configs(CLI::App& program, Action& action);
void add_watch(CLI::App& program, Action& action);
void add_push(CLI::App& program, Action& action);
void add_pin(CLI::App& program, Action& action);
void add_freeze(CLI::App& program, Action& action);
void add_rollback(CLI::App& program, Action& action);
void add_audit(CLI::App& program, Action& action);
void add_versions(CLI::App& program, Action& action);
void add_top(CLI::App& program, Action& action);
void add_profile(CLI::App& program, Action& action);
void add_profiles(CLI::App& program, Action& action);
void add_traces(CLI::App& program, Action& action);
void add_store(CLI::App& program, Action& action);
void add_doctor(CLI::App& program, Action& action);
void add_prune(CLI::App& program, Action& action);
void add_stragglers(CLI::App& program, Action& action);
void add_completion(CLI::App& program, Action& action);
void add_manual(CLI::App& program, Action& action);

}  // namespace hocket
