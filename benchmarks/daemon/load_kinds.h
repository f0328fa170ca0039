#pragma once

// The kinds of load of daemon_load, each a subcommand. Its exit status goes to `status`.

#include <CLI/CLI.hpp>

namespace hocket {

void add_fetch(CLI::App& app, int& status);
void add_watch(CLI::App& app, int& status);
void add_cluster(CLI::App& app, int& status);
void add_jobs(CLI::App& app, int& status);

}  // namespace hocket
