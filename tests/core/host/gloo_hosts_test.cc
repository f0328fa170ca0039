// Gloo between hosts: two network namespaces with two ranks each, joined by a veth pair. Without
// root it makes them inside a user namespace; skips itself where the kernel gives neither.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/host/gloo_collective.h"
#include "tests/core/host/collective_laws.h"

namespace hocket {
namespace {

constexpr int kRanks = 4, kRanksPerHost = 2;
constexpr const char* kAddresses[] = {"192.0.2.1", "192.0.2.2"};

bool shell(const std::string& command) {
  return std::system(("( " + command + " ) >/dev/null 2>&1").c_str()) == 0;
}

/// Two namespaces that reach each other; gone with the object. Their names are of this process.
class TwoHosts {
 public:
  TwoHosts() {
    const std::string veth[] = {"hk" + own_ + "a", "hk" + own_ + "b"};
    made_ = shell("ip netns add " + name(0) + " && ip netns add " + name(1)) &&
            shell("ip link add " + veth[0] + " netns " + name(0) + " type veth peer name " +
                  veth[1] + " netns " + name(1));
    for (int host = 0; host < 2 && made_; ++host) {
      const std::string ip = "ip -n " + name(host) + " ";
      made_ = shell(ip + "addr add " + kAddresses[host] + "/30 dev " + veth[host]) &&
              shell(ip + "link set lo up") && shell(ip + "link set " + veth[host] + " up");
    }
  }
  ~TwoHosts() {
    for (const int host : {0, 1}) shell("ip netns del " + name(host));
  }
  TwoHosts(const TwoHosts&) = delete;

  bool made() const { return made_; }
  /// Moves the calling thread, and the threads that it starts, to `host`.
  bool enter(int host) const {
    const int fd = open(("/run/netns/" + name(host)).c_str(), O_RDONLY | O_CLOEXEC);
    const bool entered = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
    if (fd >= 0) close(fd);
    return entered;
  }

 private:
  std::string name(int host) const { return "hocket" + own_ + (host == 0 ? "a" : "b"); }

  const std::string own_ = std::to_string(getpid());
  bool made_ = false;
};

/// Runs a rank's process; returns its exit status.
int run_rank(const TwoHosts& hosts, int rank, std::uint64_t seed) {
  if (!hosts.enter(rank / kRanksPerHost)) return 10;
  const auto collective =
      connect_gloo({.ranks = {.rank = rank,
                              .world_size = kRanks,
                              .rendezvous = "tcp://" + std::string(kAddresses[0]) + ":29600",
                              .local_rank = rank % kRanksPerHost,
                              .ranks_per_host = kRanksPerHost}});
  if (!collective) {
    std::fprintf(stderr, "rank %d: %s\n", rank, collective.error().message.c_str());
    return 11;
  }
  expect_laws_of_random_works(**collective, seed, 40);
  expect_chains_are_sums(**collective, seed + 1000);
  expect_messages_arrive(**collective, seed + 2000, 40);
  return testing::Test::HasFailure() ? 12 : 0;
}

const std::string kNamespaces =
    "unshare --user --map-root-user --mount --net sh -c 'mount -t tmpfs none /run && \"$@\"' sh ";

TEST(GlooHosts, ChainsOfCollectivesAreSumsBetweenHosts) {
  if (geteuid() != 0) {
    if (!shell(kNamespaces + "true")) {
      GTEST_SKIP() << "making network namespaces needs root, or user namespaces";
    }
    const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    EXPECT_EQ(std::system((kNamespaces + "'" + self +
                           "' --gtest_filter=" + test->test_suite_name() + "." + test->name())
                              .c_str()),
              0);
    return;
  }
  if (!shell("command -v ip")) GTEST_SKIP() << "ip (package iproute2) is missing";
  const TwoHosts hosts;
  if (!hosts.made()) GTEST_SKIP() << "this machine does not let root make network namespaces";
  const std::uint64_t seed = std::random_device()();
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(fork());
    ASSERT_GE(ranks.back(), 0);
    if (ranks.back() == 0) _exit(run_rank(hosts, rank, seed));
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    int status = 0;
    waitpid(ranks[static_cast<std::size_t>(rank)], &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << "rank " << rank << " ended by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "rank " << rank << ", seed " << seed;
  }
}

}  // namespace
}  // namespace hocket
