#include "core/step/tool_knob.h"

#include <gtest/gtest.h>

#include <string>

namespace hocket {
namespace {

TEST(ToolKnob, HasTheToolInFrontOfItsName) {
  for (const char* name :
       {"xla.xla_gpu_x", "deepspeed.zero_optimization.overlap_comm", "a.b", "_.A1"})
    EXPECT_TRUE(is_tool_knob(name)) << name;
  for (const char* name : {"", ".", "a", "a.", ".a", "a..b", "a.1", "1.a", "a.b-c", "a.b c",
                           "job.x", "regions.x.streams", "a.b\n", "a.$b"})
    EXPECT_FALSE(is_tool_knob(name)) << name;
  EXPECT_TRUE(is_tool_knob("a." + std::string(126, 'b')));
  EXPECT_FALSE(is_tool_knob("a." + std::string(127, 'b')));
}

}  // namespace
}  // namespace hocket
