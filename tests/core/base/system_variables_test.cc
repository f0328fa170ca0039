#include "core/base/system_variables.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(SystemVariables, AreThoseByWhichProgramsFindOthers) {
  for (const char* name :
       {"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "HOME", "IFS", "SHELL", "BASH_ENV",
        "CUDA_VISIBLE_DEVICES", "LOCAL_RANK", "MASTER_PORT", "SLURM_PROCID", "LUA_PATH"}) {
    EXPECT_NE(system_variable_use(name), "") << name;
  }
}

TEST(SystemVariables, AreNotThoseThatTuneAJob) {
  for (const char* name : {"", "BUCKET", "NCCL_ALGO", "OMP_NUM_THREADS", "PATHS", "MY_PATH", "LD",
                           "SLURM", "CUDA_DEVICE_MAX_CONNECTIONS", "MALLOC_ARENA_MAX", "RANKS"}) {
    EXPECT_EQ(system_variable_use(name), "") << name;
  }
}

}  // namespace
}  // namespace hocket
