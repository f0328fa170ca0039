#include "job/network/job_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "core/servers/emulated_servers.h"
#include "core/servers/parameter_server.h"
#include "tests/scoped_environment.h"

namespace hocket {
namespace {

using testing::HasSubstr;

std::string network_refusal(const NetworkOptions& options) {
  const auto ok = validate(options);
  return ok ? "" : ok.error().message;
}

TEST(NetworkOptions, OfServersNeedLinksToEmulate) {
  EXPECT_EQ(network_refusal({}), "");
  EXPECT_EQ(network_refusal({.link = "1gbit", .server_link = "2gbit"}), "");
  EXPECT_EQ(network_refusal({.link = "1gbit", .colocated_servers = true}), "");
  EXPECT_THAT(network_refusal({.server_link = "2gbit"}),
              HasSubstr("--server-link: links are emulated"));
  EXPECT_THAT(network_refusal({.colocated_servers = true}),
              HasSubstr("--colocated-servers: links are emulated"));
  EXPECT_THAT(network_refusal({.link = "1gbit", .server_link = "2gbit", .colocated_servers = true}),
              HasSubstr("leave out one"));
}

/// Connects the only rank of a job.
class Network : public ::testing::Test {
 protected:
  /// Starts a parameter server, which the job's environment names until the end of the test.
  void start_server(const std::string& secret = "") {
    servers_variable_.reset();
    server_ = ParameterServer::listen({.secret = secret}).value();
    const std::string address = "127.0.0.1:" + std::to_string(server_->port());
    servers_variable_ = std::make_unique<ScopedEnvironment>("HOCKET_SERVERS", address.c_str());
  }

  Result<JobNetwork> connect(const NetworkOptions& options) { return connect_job(options, clock_); }

  /// Returns the name of the network, or the error.
  std::string name(const NetworkOptions& options) {
    const auto network = connect(options);
    return network ? network->name() : "error: " + network.error().message;
  }

  /// Does the same with a server that no rank has left.
  std::string name_with_server(const NetworkOptions& options) {
    start_server();
    return name(options);
  }

  SteadyClock clock_;
  const ScopedEnvironment no_servers_{"HOCKET_SERVERS", nullptr};
  std::unique_ptr<ScopedEnvironment> servers_variable_;
  std::unique_ptr<ParameterServer> server_;
};

TEST_F(Network, OfOneRankIsLocalUnlessItsLinkIsEmulated) {
  EXPECT_EQ(name({}), "local");
  EXPECT_EQ(name({.link = "500mbit,50us"}), "emulated 500mbit,50us");
  EXPECT_THAT(name({.link = "fast"}), HasSubstr("error: "));
  const auto plain = connect({});
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->servers());
  EXPECT_FALSE(plain->emulated_link());
  const auto emulated = connect({.link = "8kbit"});
  ASSERT_TRUE(emulated);
  ASSERT_TRUE(emulated->emulated_link());
  EXPECT_NE(dynamic_cast<EmulatedLink*>(&emulated->collective()), nullptr);
}

TEST_F(Network, WithoutServersRefusesWhatIsAboutThem) {
  EXPECT_THAT(name({.link = "1gbit", .server_link = "2gbit"}),
              HasSubstr("--server-link: the job has no parameter servers"));
  EXPECT_THAT(name({.link = "1gbit", .colocated_servers = true}),
              HasSubstr("--colocated-servers: the job has no parameter servers"));
}

TEST_F(Network, NamesItsServersAndTheLinksToThem) {
  EXPECT_EQ(name_with_server({}), "local, parameter servers: 1");
  EXPECT_EQ(name_with_server({.link = "1gbit"}), "emulated 1gbit, parameter servers: 1 on 1gbit");
  EXPECT_EQ(name_with_server({.link = "1gbit", .server_link = "2gbit"}),
            "emulated 1gbit, parameter servers: 1 on 2gbit");
  EXPECT_EQ(name_with_server({.link = "1gbit", .colocated_servers = true}),
            "emulated 1gbit, parameter servers: 1 on hosts of ranks");
  EXPECT_THAT(name_with_server({.link = "1gbit", .server_link = "fast"}),
              HasSubstr("error: --server-link: "));
}

TEST_F(Network, ReachesItsServersOverEmulatedLinksOrDirectly) {
  for (const char* link : {"", "1gbit"}) {
    start_server();
    const auto network = connect({.link = link});
    ASSERT_TRUE(network) << network.error().message;
    ASSERT_TRUE(network->servers());
    EXPECT_EQ(network->servers()->servers(), 1);
    EXPECT_EQ(network->emulated_server_links().has_value(), *link != '\0');
    EXPECT_EQ(dynamic_cast<EmulatedServers*>(network->servers()) != nullptr, *link != '\0');
  }
}

TEST_F(Network, ProvesItsSecretToServers) {
  start_server("between us ranks");
  EXPECT_THAT(name({}), HasSubstr("error: "));
  const ScopedEnvironment secret("HOCKET_RENDEZVOUS_SECRET", "between us ranks");
  EXPECT_EQ(name({}), "local, parameter servers: 1");
}

}  // namespace
}  // namespace hocket
