#include "core/host/accelerator_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class AcceleratorProbeTest : public testing::Test {
 protected:
  void add(const std::string& bus_address, const std::string& information) {
    std::filesystem::create_directories(folder_.path() / "gpus" / bus_address);
    folder_.write("gpus/" + bus_address + "/information", information);
  }
  std::vector<std::string> found() const { return probe_accelerators(folder_.path()); }

  TemporaryFolder folder_;
};

TEST_F(AcceleratorProbeTest, FindsTheModelsInTheOrderOfTheBus) {
  add("0000:db:00.0", "Model: \t\t NVIDIA H100 PCIe\nIRQ:   \t\t 21\n");
  add("0000:1b:00.0", "Model: \t\t NVIDIA H200\nIRQ:   \t\t 20\nGPU UUID: \t GPU-0\n");
  EXPECT_THAT(found(), ElementsAre("NVIDIA H200", "NVIDIA H100 PCIe"));
}

TEST(AcceleratorName, HasEachModelOnce) {
  EXPECT_EQ(accelerator_name({}), "");
  EXPECT_EQ(accelerator_name({"NVIDIA H200", "NVIDIA H200"}), "NVIDIA H200");
  EXPECT_EQ(accelerator_name({"B", "A", "B"}), "A, B");
}

TEST_F(AcceleratorProbeTest, FindsNoneWithoutADriver) {
  EXPECT_THAT(found(), IsEmpty());
  folder_.write("gpus", "");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(AcceleratorProbeTest, LeavesOutWhatTellsNoModel) {
  add("0000:01:00.0", "");
  add("0000:02:00.0", "Model: \t \nIRQ: 1\n");
  add("0000:03:00.0", "Models: many\nModel: Tesla T4 \n");
  std::filesystem::create_directories(folder_.path() / "gpus" / "0000:04:00.0");
  EXPECT_THAT(found(), ElementsAre("Tesla T4"));
  add("0000:05:00.0", "Model: " + std::string(1 << 20, 'x'));
  EXPECT_LE(found().back().size(), 256u);
}

}  // namespace
}  // namespace hocket
