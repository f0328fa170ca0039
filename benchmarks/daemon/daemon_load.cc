// Puts a load on hocket's daemon and on a bare server (benchmarks/daemon/bare_server.h), in turn,
// and prints what both did with it. The kinds of load are subcommands: fetch, watch,
// cluster and jobs.

#include <CLI/CLI.hpp>

#include "benchmarks/daemon/load_kinds.h"
#include "benchmarks/daemon/server_process.h"

int main(int argc, char** argv) {
  hocket::raise_open_files();
  int status = 0;
  CLI::App app("Loads hocket's daemon and a bare server in turn");
  hocket::add_fetch(app, status);
  hocket::add_watch(app, status);
  hocket::add_cluster(app, status);
  hocket::add_jobs(app, status);
  app.require_subcommand(1);
  CLI11_PARSE(app, argc, argv);
  return status;
}
