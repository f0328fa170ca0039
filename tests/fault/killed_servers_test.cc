// Jobs whose gradients parameter servers sum, while a server or a rank is killed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/step/schedule_config.h"
#include "tests/fault/gpt2_job.h"
#include "tests/fault/slow_link.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;

/// By which every process has ended.
constexpr auto kServersLimit = std::chrono::minutes(1);

/// A random job, and the process of it that a test kills.
struct Kill {
  explicit Kill(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto up_to = [&](int most) { return 1 + static_cast<int>(random() % most); };
    ranks = 1 + up_to(2);
    servers = up_to(2);
    is_server = up_to(2) == 1;
    number = up_to(is_server ? servers : ranks) - 1;
    after_iterations = up_to(25);
    order = up_to(2) == 1 ? CollectiveOrder::fifo : CollectiveOrder::negotiated;
    is_emulated = up_to(2) == 1;
  }

  std::string text() const {
    return std::string(is_server ? "server " : "rank ") + std::to_string(number) + " of " +
           std::to_string(ranks) + " ranks and " + std::to_string(servers) + " servers after " +
           std::to_string(after_iterations) + " iterations, order " +
           std::string(to_string(order)) + (is_emulated ? ", emulated links" : "");
  }
  bool is_killed_rank(int rank) const { return !is_server && rank == number; }
  bool is_killed_server(int server) const { return is_server && server == number; }

  int ranks = 2, servers = 1;
  bool is_server = false;
  int number = 0;
  /// At least one: ranks that are still connecting wait until their time limit.
  int after_iterations = 1;
  CollectiveOrder order = CollectiveOrder::fifo;
  bool is_emulated = false;
};

/// Servers and ranks as processes that nobody but the test ends.
class ServedJob {
 public:
  /// On one host, or with the servers on host 1 of `hosts` and the ranks on host 0, which the
  /// calling thread has entered.
  ServedJob(const TemporaryFolder& folder, const Kill& kill, const SlowLink* hosts = nullptr)
      : folder_(folder), hosts_(hosts) {
    std::filesystem::create_directories(folder_.file("servers"));
    for (int server = 0; server < kill.servers; ++server) start(server, kill);
    Gpt2JobOptions options{
        .ranks = kill.ranks,
        .arguments = {"--steps", "100000", "--d-model", "64", "--batch", "1", "--sequence", "32",
                      "--warmup", "1"},
        .environment = {{"HOCKET_SERVERS", addresses()}, {"HOCKET_CONFIG", config(kill.order)}}};
    if (kill.is_emulated)
      options.arguments.insert(options.arguments.end(), {"--link", "1gbit,20us"});
    if (hosts) {
      options.rendezvous = "tcp://" + SlowLink::address(0) + ":29642";
      options.arguments.insert(options.arguments.end(), {"--timeout", "2"});
    }
    job_ = std::make_unique<Gpt2Job>(folder, options);
  }

  Gpt2Job& job() { return *job_; }
  Child& server(int number) { return *servers_[static_cast<std::size_t>(number)]; }
  std::string server_name(int number) const {
    return "parameter server " + std::to_string(number) + " (" +
           addresses_[static_cast<std::size_t>(number)] + ")";
  }
  std::string server_errors(int number) const {
    return read_file(file("err", number)).value_or("");
  }

 private:
  void start(int server, const Kill& kill) {
    ChildOptions options;
    options.argv = {
        HOCKET_BIN "/hocket", "param-server",         "--ranks",   std::to_string(kill.ranks),
        "--server",           std::to_string(server), "--servers", std::to_string(kill.servers)};
    if (hosts_) {
      const auto launcher = hosts_->launcher(1);
      options.argv.insert(options.argv.begin(), launcher.begin(), launcher.end());
      options.argv.insert(options.argv.end(),
                          {"--listen", SlowLink::address(1) + ":0", "--insecure"});
    }
    options.out_path = file("out", server);
    options.err_path = file("err", server);
    servers_.push_back(std::make_unique<Child>(options));
    std::string address;
    EXPECT_TRUE(eventually([&] {
      address = read_file(file("out", server)).value_or("");
      return address.ends_with('\n');
    }));
    addresses_.push_back(address.substr(0, address.find('\n')));
  }

  std::string addresses() const {
    std::string all;
    for (const std::string& address : addresses_) all += (all.empty() ? "" : ",") + address;
    return all;
  }
  static std::string config(CollectiveOrder order) {
    ScheduleConfig config;
    config.communication = Communication::parameter_server;
    config.partition_bytes = 16 << 10;
    config.comm_channels = 2;
    config.order = order;
    return to_json(config).dump();
  }
  std::string file(const std::string& name, int server) const {
    return folder_.file("servers") + "/" + name + "." + std::to_string(server);
  }

  const TemporaryFolder& folder_;
  const SlowLink* const hosts_;
  std::vector<std::unique_ptr<Child>> servers_;
  std::vector<std::string> addresses_;
  std::unique_ptr<Gpt2Job> job_;
};

void kill_one(const Kill& kill) {
  const TemporaryFolder folder;
  ServedJob all(folder, kill);
  Gpt2Job& job = all.job();
  ASSERT_TRUE(eventually([&] { return job.iterations() >= kill.after_iterations; }))
      << job.errors();
  (kill.is_server ? all.server(kill.number) : job.rank(kill.number)).signal(SIGKILL);

  const std::string dead =
      kill.is_server ? all.server_name(kill.number) : "rank " + std::to_string(kill.number);
  for (int rank = 0; rank < kill.ranks; ++rank) {
    EXPECT_EQ(job.rank(rank).wait(kServersLimit), kill.is_killed_rank(rank) ? 128 + SIGKILL : 1)
        << "rank " << rank << ": " << job.errors(rank);
  }
  bool is_named = false;
  for (int rank = 0; rank < kill.ranks; ++rank) {
    if (kill.is_killed_rank(rank)) continue;
    // The first rank to hear of it ends. What another server or rank 0 then misses may be that one.
    const bool may_hear_of_another =
        kill.is_server || kill.servers > 1 || kill.order == CollectiveOrder::negotiated;
    EXPECT_THAT(
        job.errors(rank),
        AnyOf(HasSubstr(dead), ContainsRegex(may_hear_of_another ? "rank [0-9]+ is gone" : dead)))
        << "rank " << rank;
    is_named |= job.errors(rank).find(dead) != std::string::npos;
  }
  EXPECT_TRUE(is_named) << dead << ": " << job.errors();
  for (int server = 0; server < kill.servers; ++server) {
    EXPECT_EQ(all.server(server).wait(kServersLimit),
              kill.is_killed_server(server) ? 128 + SIGKILL : 0)
        << "server " << server << ": " << all.server_errors(server);
    if (kill.is_killed_server(server)) continue;
    EXPECT_THAT(all.server_errors(server), HasSubstr("rank ")) << "server " << server;
  }
}

TEST(KilledServers, EveryOtherProcessEndsByItselfAndTheDeadOneIsNamed) {
  const std::uint64_t first = std::random_device()();
  for (std::uint64_t seed = first; seed < first + rounds(8); ++seed) {
    const Kill kill(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": killed " + kill.text());
    kill_one(kill);
    if (HasFailure()) return;
  }
}

TEST(SilentServers, AHostOfServersThatIsCutOffEndsTheRanks) {
  SlowLink hosts(1, "1gbit");
  if (!hosts.made())
    GTEST_SKIP() << "network namespaces cannot be made: it needs root and iproute2";
  ASSERT_TRUE(hosts.enter());
  const TemporaryFolder folder;
  Kill none(0);
  none.ranks = none.servers = 2;
  none.is_emulated = false;
  ServedJob all(folder, none, &hosts);
  Gpt2Job& job = all.job();
  ASSERT_TRUE(eventually([&] { return job.iterations() >= 3; })) << job.errors();
  ASSERT_TRUE(hosts.silence(1));
  for (int rank = 0; rank < none.ranks; ++rank)
    EXPECT_EQ(job.rank(rank).wait(kServersLimit), 1) << "rank " << rank << ": " << job.errors(rank);
  EXPECT_THAT(job.errors(), ContainsRegex("parameter server [01] .192.0.2.11:[0-9]+.* (has been "
                                          "silent for 2000 ms|is gone)"));
}

}  // namespace
}  // namespace hocket
