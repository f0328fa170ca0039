#pragma once

// Knobs of a program's own, for tests of the C client.

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "capi/hocket_client.h"

namespace hocket {

/// Returns the integer knob "depth" from 0 to 4, whose default is 1.
inline hocket_knob depth_knob(bool running) {
  hocket_knob knob = {};
  knob.size = sizeof knob;
  knob.name = "depth";
  knob.high = 4;
  knob.default_value = 1;
  knob.running = running ? 1 : 0;
  return knob;
}

/// Refuses a depth of 3; an `accept` of hocket_client_options.
inline int refuse_depth_3(const char* config, char* reason, std::size_t bytes, void*) {
  if (std::strstr(config, R"("depth":3)") == nullptr) return 0;
  std::snprintf(reason, bytes, "no memory for 3");
  return 1;
}

}  // namespace hocket
