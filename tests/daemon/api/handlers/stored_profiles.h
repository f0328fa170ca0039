#pragma once

// A daemon over a store with a profile. One thread.

#include <string>

#include "tests/archive/profiles/profiled_job.h"
#include "tests/daemon/assembled.h"

namespace hocket {

struct StoredProfiles {
  ProfiledJob job;
  std::string name = job.add().name;
  SetClock clock;
  Assembled daemon{*job.store, clock};

  int status(const std::string& method, const std::string& target, const std::string& body = "") {
    return daemon.call(method, target, body).status;
  }
};

}  // namespace hocket
