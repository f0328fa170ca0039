#include "core/hardware/host_hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/host/topology_probe.h"

namespace hocket {
namespace {

const std::string kNodes = "/sys/devices/system/node";

/// A host's files by their paths.
class Host {
 public:
  explicit Host(const std::string& cpuinfo) {
    texts["/proc/cpuinfo"] = cpuinfo;
    texts["/proc/self/cgroup"] = "0::/\n";
    texts[kNodes + "/node0/cpulist"] = "0-3\n";
    texts[kNodes + "/node1/cpulist"] = "4-7\n";
  }

  Topology read() const {
    KernelFiles files;
    files.text = [this](const std::string& path) {
      const auto found = texts.find(path);
      return found == texts.end() ? std::string() : found->second;
    };
    files.names = [](const std::string& path) {
      return path == kNodes ? std::vector<std::string>{"node0", "node1", "node", "online", "nodex"}
                            : std::vector<std::string>();
    };
    files.memory_bytes = (std::int64_t{24} << 30) - (std::int64_t{300} << 20);
    files.processors = 6;
    return read_hardware(files);
  }

  std::map<std::string, std::string> texts;
};

/// Two sockets of two cores of two hardware threads each; both sockets number their cores alike.
std::string two_sockets() {
  std::string text;
  for (int number = 0; number < 8; ++number) {
    text += "processor\t: " + std::to_string(number) +
            "\nmodel name\t: A CPU: of 2 words \nphysical id\t: " + std::to_string(number / 4) +
            "\ncore id\t\t: " + std::to_string(number % 4 / 2) + "\nflags\t\t: a b\n\n";
  }
  return text;
}

TEST(HostHardware, CountsAWholeHost) {
  const Topology found = Host(two_sockets()).read();
  EXPECT_EQ(found.cpu_model, "A CPU: of 2 words");
  EXPECT_EQ(found.sockets, 2);
  EXPECT_EQ(found.numa_nodes, 2);
  EXPECT_EQ(found.cores, 4);
  EXPECT_EQ(found.hardware_threads, 8);
  EXPECT_EQ(found.memory_gib, 24);
  EXPECT_EQ(found.link, Topology().link);
  EXPECT_TRUE(found.library_versions.empty());
}

TEST(HostHardware, CountsWhatItsControlGroupMayUse) {
  Host host(two_sockets());
  host.texts["/sys/fs/cgroup/cpuset.cpus.effective"] = "0-1,3\n";
  const Topology found = host.read();
  EXPECT_EQ(found.sockets, 1);
  EXPECT_EQ(found.numa_nodes, 1);
  EXPECT_EQ(found.cores, 2);
  EXPECT_EQ(found.hardware_threads, 3);
}

TEST(HostHardware, AGroupWithoutAListHasThatOfTheGroupsAboveIt) {
  Host host(two_sockets());
  host.texts["/proc/self/cgroup"] = "0::/slurm/job_7/step_0\n";
  host.texts["/sys/fs/cgroup/slurm/job_7/cpuset.cpus.effective"] = "4-5\n";
  host.texts["/sys/fs/cgroup/slurm/cpuset.cpus.effective"] = "0-7\n";
  EXPECT_EQ(host.read().hardware_threads, 2);
  host.texts.erase("/sys/fs/cgroup/slurm/job_7/cpuset.cpus.effective");
  EXPECT_EQ(host.read().hardware_threads, 8);
}

TEST(HostHardware, ReadsControlGroupsOfTheFirstVersion) {
  Host host(two_sockets());
  host.texts["/proc/self/cgroup"] = "12:cpuset,cpu:/batch/1\n3:memory:/other\nnonsense\n0::/user\n";
  host.texts["/sys/fs/cgroup/cpuset/batch/1/cpuset.cpus"] = "2,6-7\n";
  host.texts["/sys/fs/cgroup/cpuset.cpus.effective"] = "0-7\n";
  const Topology found = host.read();
  EXPECT_EQ(found.hardware_threads, 3);
  EXPECT_EQ(found.sockets, 2);
}

TEST(HostHardware, AListWithoutAProcessorOfTheHostSaysNothing) {
  Host host(two_sockets());
  for (const char* list : {"100-101\n", "", "\n", "x", "3-", "-", "1-99999999999999999999"}) {
    host.texts["/sys/fs/cgroup/cpuset.cpus.effective"] = list;
    EXPECT_EQ(host.read().hardware_threads, 8) << list;
  }
}

TEST(HostHardware, AKernelThatSaysLittleIsNoError) {
  const Topology arm =
      Host("processor\t: 0\nBogoMIPS\t: 50\n\nprocessor\t: 1\nBogoMIPS\t: 50\n").read();
  EXPECT_EQ(arm.cpu_model, "unknown CPU");
  EXPECT_EQ(arm.sockets, 1);
  EXPECT_EQ(arm.cores, 2);
  EXPECT_EQ(arm.hardware_threads, 2);
  for (const char* nothing : {"", "\n\n", "processor", "processor\t: x\nmodel name\t: of none"}) {
    const Topology found = Host(nothing).read();
    EXPECT_EQ(found.cpu_model, "unknown CPU");
    EXPECT_EQ(found.sockets, 1);
    EXPECT_EQ(found.numa_nodes, 1);
    EXPECT_EQ(found.cores, 6);
    EXPECT_EQ(found.hardware_threads, 6);
  }
}

// Settings that a job stores under the one are found by `hocket fetch` under the other.
TEST(HostHardware, IsWhatHwlocSaysOfThisHost) {
  const auto expected = probe_topology();
  ASSERT_TRUE(expected) << expected.error().message;
  Topology found = read_hardware(kernel_files());
  found.library_versions = expected->library_versions;
  EXPECT_EQ(to_json(found), to_json(*expected));
}

}  // namespace
}  // namespace hocket
