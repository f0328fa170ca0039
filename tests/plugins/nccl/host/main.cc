// nccl_host: processes that load NCCL tuner and profiler plugins as NCCL 2.28.9 does and run a
// workload with them, without a GPU. Prints the result as a line of JSON. The exit status is 0, 3
// after a mismatch between ranks, 4 after a rank died, 5 after the time limit, 6 after a violation
// of the interface, 2 for wrong usage and 1 for other errors.

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "tests/plugins/nccl/host/report.h"

int main(int argc, char** argv) {
  using namespace hocket::nccl_host;
  try {
    int status = 0;
    const auto options = parse_options(argc, argv, status);
    if (!options) return status;
    SharedArena arena(shared_bytes(*options));
    SharedRun shared = prepare_run(arena, *options);
    const RunEnd end = supervise(*options, shared);
    print_findings(shared, *options);
    const std::string line = describe(shared, *options, end);
    std::cout << line << std::endl;
    if (!options->json_path.empty()) {
      std::ofstream file(options->json_path);
      file << line << "\n";
      if (!file.flush()) throw std::runtime_error("cannot write " + options->json_path);
    }
    return status_of(shared, *options, end);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nccl_host: %s\n", error.what());
    return 1;
  }
}
