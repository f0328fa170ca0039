#pragma once

// The verbs of the program, a row each. Each verb is declared by one function, in a source of the
// verb's name or of its kind: the function declares the verb's options and, if the verb was chosen,
// sets the action to perform. One thread.

#include "cli/base/context.h"

namespace CLI {
class App;
}

namespace hocket {

/// Text that a verb may have behind "--".
enum class BehindDashes { nothing, command };

/// All verbs in the order in which help lists them. A row is the verb's name, with _ for -, and
/// what it may have behind "--". The function that declares the verb is add_NAME().
#define HOCKET_VERBS(VERB)    \
  VERB(tune, command)         \
  VERB(work, nothing)         \
  VERB(knobs, nothing)        \
  VERB(run, command)          \
  VERB(param_server, nothing) \
  VERB(studies, nothing)      \
  VERB(trials, nothing)       \
  VERB(best, nothing)         \
  VERB(fetch, command)        \
  VERB(with, command)         \
  VERB(torch, command)        \
  VERB(nccl, command)         \
  VERB(demo, nothing)         \
  VERB(simulate, nothing)     \
  VERB(replay, nothing)       \
  VERB(explain, nothing)      \
  VERB(plot, nothing)         \
  VERB(tape, nothing)         \
  VERB(graph, nothing)        \
  VERB(layout, nothing)       \
  VERB(topology, nothing)     \
  VERB(serve, nothing)        \
  VERB(web, nothing)          \
  VERB(jobs, nothing)         \
  VERB(configs, nothing)      \
  VERB(watch, nothing)        \
  VERB(push, nothing)         \
  VERB(pin, nothing)          \
  VERB(freeze, nothing)       \
  VERB(rollback, nothing)     \
  VERB(audit, nothing)        \
  VERB(versions, nothing)     \
  VERB(top, nothing)          \
  VERB(profile, nothing)      \
  VERB(profiles, nothing)     \
  VERB(traces, nothing)       \
  VERB(stragglers, nothing)   \
  VERB(store, nothing)        \
  VERB(doctor, command)       \
  VERB(prune, nothing)        \
  VERB(completion, nothing)   \
  VERB(manual, nothing)

#define HOCKET_DECLARE_VERB(name, behind_dashes) \
  void add_##name(CLI::App& program, VerbAction& action);
HOCKET_VERBS(HOCKET_DECLARE_VERB)
#undef HOCKET_DECLARE_VERB

}  // namespace hocket
