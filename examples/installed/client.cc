// The client of an installed hocket: the configuration of a job of one rank. Prints:
//
//   configuration from default

#include <cstdio>

#include "client/start/client.h"
#include "core/host/local_collective.h"

int main() {
  hocket::LocalGroup group(1);
  const auto rank = group.join(0);
  hocket::Workload workload;
  workload.name = "installed";
  const auto fetched = hocket::fetch_config(hocket::Topology{}, workload, nullptr, *rank);
  if (!fetched) {
    std::fprintf(stderr, "on_client: %s\n", fetched.error().message.c_str());
    return 1;
  }
  std::printf("configuration from %s\n", fetched->source.c_str());
}
