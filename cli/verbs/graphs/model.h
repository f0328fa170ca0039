#pragma once

// hocket graph model: prints the graph of a model. One thread.

#include "cli/base/context.h"

namespace CLI {
class App;
}

namespace hocket {

/// Declares the verb below `graph`, as add_graph() does (cli/verbs/verb.h).
void add_graph_model(CLI::App& graph, VerbAction& action);

}  // namespace hocket
