#pragma once

// The environment variable through which NVTX finds its tool. For tests of one thread.

#include <cstdlib>
#include <string>

namespace hocket {

/// Sets NVTX's environment variable for its lifetime.
class NvtxVariable {
 public:
  explicit NvtxVariable(const std::string& value) { setenv(kName, value.c_str(), 1); }
  ~NvtxVariable() { unsetenv(kName); }

  static constexpr const char* kName = "NVTX_INJECTION64_PATH";
};

}  // namespace hocket
