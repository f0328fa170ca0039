// This client against daemons of earlier versions, whose answers and events are stored
// (tests/daemon/conversations), and against one that says more than it knows.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "client/link/http_daemon_link.h"
#include "client/start/client.h"
#include "core/base/json.h"
#include "tests/client/environment.h"
#include "tests/client/fake_daemon.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using nlohmann::json;

/// Answers as stored: each request to one method and target in turn, the last answer again.
class StoredDaemon {
 public:
  StoredDaemon(json conversation, bool says_more)
      : conversation_(std::move(conversation)), says_more_(says_more) {}

  const json& conversation() const { return conversation_; }
  std::string url() const { return daemon_.url(); }
  DaemonAccess access() const { return daemon_.access(); }

 private:
  void serve(FakeDaemon::Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->is("GET /v1/watch?")) {
        peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + events());
        return peer.wait_until_gone();
      }
      const json* found = nullptr;
      for (const json& one : conversation_["said"]) {
        const std::string line = one["said"]["method"].get<std::string>() + " " +
                                 one["said"]["target"].get<std::string>() + " ";
        if (request->is(line)) found = &one["answered"];
      }
      if (found == nullptr) {
        ADD_FAILURE() << "no earlier daemon was asked this: " << request->head;
        return;
      }
      peer.write(http_answer((*found)["status"], with_more((*found)["body"]).dump()));
    }
  }

  json with_more(json body) const {
    if (says_more_ && body.is_object()) body["of_a_later_version"] = {1, 2};
    return body;
  }

  std::string events() const {
    std::string text;
    for (const json& event : conversation_["events"]) {
      text += "event: " + event["type"].get<std::string>() + "\n";
      if (event.contains("id")) text += "id: " + event["id"].dump() + "\n";
      text += "data: " + with_more(event["data"]).dump() + "\n\n";
    }
    if (says_more_) text += "event: of_a_later_version\ndata: {}\n\n";
    return text;
  }

  const json conversation_;
  const bool says_more_;
  FakeDaemon daemon_{[this](FakeDaemon::Peer& peer) { serve(peer); }};
};

TEST(EarlierDaemons, AreUnderstood) {
  int conversations = 0;
  for (const auto& file : std::filesystem::directory_iterator(HOCKET_CONVERSATIONS)) {
    for (const bool says_more : {false, true}) {
      SCOPED_TRACE(testing::Message() << file << (says_more ? ", saying more" : ""));
      std::ifstream in(file.path());
      StoredDaemon daemon(json::parse(in), says_more);
      const TemporaryFolder folder;
      const auto fetched = ask_for_config(
          sample_topology(), sample_workload(), nullptr,
          environment({{"HOCKET_DAEMON", daemon.url()}, {"XDG_CACHE_HOME", folder.path()}}));
      ASSERT_TRUE(fetched) << fetched.error().message;
      EXPECT_EQ(fetched->source, "daemon");
      EXPECT_EQ(fetched->version, 1);
      EXPECT_EQ(fetched->config.partition_bytes, 1 << 20);

      DaemonLinkOptions options{.daemon = daemon.access(), .job = {.id = "a"}};
      options.job.topology = sample_topology();
      options.job.workload = sample_workload();
      const auto link = open_daemon_link(std::move(options));
      bool has_version = false, has_candidate = false;
      while (!has_version || !has_candidate) {
        const auto message = link->take();
        if (!message) {
          std::this_thread::yield();
          continue;
        }
        if (const auto* version = std::get_if<ConfigMessage>(&*message))
          has_version = version->version >= 1;
        if (const auto* candidate = std::get_if<CandidateMessage>(&*message))
          has_candidate = candidate->trial >= 1;
      }
      ++conversations;
    }
  }
  EXPECT_GE(conversations, 2);
}

}  // namespace
}  // namespace hocket
