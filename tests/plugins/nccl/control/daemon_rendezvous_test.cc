#include "plugins/nccl/control/daemon_rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fault/daemon_process.h"
#include "tests/scoped_environment.h"
#include "tests/temporary_folder.h"

namespace hocket::nccl {
namespace {

TEST(DaemonRendezvous, WhatOneHostPublishesAnotherFinds) {
  const TemporaryFolder folder;
  DaemonProcess daemon({.store = folder.file("store.db"), .log = folder.file("log")});
  ASSERT_TRUE(daemon.listens());
  const ScopedEnvironment library("HOCKET_CLIENT_LIBRARY",
                                  HOCKET_NCCL_PLUGIN_FOLDER "/libhocket_client.so.1");
  const ScopedEnvironment url("HOCKET_DAEMON", daemon.url().c_str());
  std::vector<std::string> said;
  DaemonRendezvous one([&](const std::string& line) { said.push_back(line); });
  DaemonRendezvous other([&](const std::string& line) { said.push_back(line); });
  EXPECT_EQ(other.find("nccl-1"), std::nullopt);
  EXPECT_EQ(other.find("nccl-1"), std::nullopt);
  ASSERT_EQ(said.size(), 1u) << "it is said once";
  EXPECT_THAT(said[0], ::testing::HasSubstr("has left a text"));
  EXPECT_TRUE(one.publish("nccl-1", "1 00 192.0.2.1 4000"));
  EXPECT_EQ(other.find("nccl-1"), "1 00 192.0.2.1 4000");
}

TEST(DaemonRendezvous, WithoutADaemonNothingIsFoundAndThatIsSaid) {
  const ScopedEnvironment library("HOCKET_CLIENT_LIBRARY",
                                  HOCKET_NCCL_PLUGIN_FOLDER "/libhocket_client.so.1");
  const ScopedEnvironment url("HOCKET_DAEMON", nullptr);
  std::vector<std::string> said;
  DaemonRendezvous rendezvous([&](const std::string& line) { said.push_back(line); });
  EXPECT_FALSE(rendezvous.publish("nccl-1", "text"));
  EXPECT_EQ(rendezvous.find("nccl-1"), std::nullopt);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], ::testing::HasSubstr("HOCKET_DAEMON"));
}

}  // namespace
}  // namespace hocket::nccl
