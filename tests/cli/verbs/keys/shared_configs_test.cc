// Tests `hocket configs export` and `hocket configs import`, with stores and with a daemon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "archive/promotions/shared_promotions.h"
#include "cli/inputs/access/daemon_access.h"
#include "core/protocol/job_message.h"
#include "tests/cli/answer.h"
#include "tests/core/sharing/sample_shared_configs.h"
#include "tests/daemon/running_daemon.h"
#include "tests/scoped_environment.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Words = std::vector<std::string>;

class SharedConfigVerbs : public ::testing::Test {
 protected:
  Answer ask(Words words, const Words& place) const {
    words.insert(words.begin(), "configs");
    words.insert(words.end(), place.begin(), place.end());
    return ask_hocket(words);
  }
  Words store(const std::string& name) const { return {"--store", folder_.file(name)}; }

  std::string key_file(const std::string& name, const char* text, mode_t mode) const {
    const std::string path = folder_.write(name, text);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }

  const ScopedEnvironment no_daemon_{"HOCKET_DAEMON", nullptr};
  const TemporaryFolder folder_;
  const std::string file_ = folder_.write(
      "a.json", shared_configs_text({shared_schedule(), shared_command()}, "").value());
};

TEST_F(SharedConfigVerbs, AFileGoesThroughAStoreUnchanged) {
  const auto imported = ask({"import", file_}, store("new/hocket.db"));
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_THAT(imported.out, AllOf(HasSubstr("imported"), HasSubstr("from site cluster-a, measured "
                                                                   "2023-11-14 by a study")));
  EXPECT_THAT(ask({"import", file_}, store("new/hocket.db")).out, HasSubstr("same"));
  const auto exported =
      ask({"export", "-o", folder_.file("b.json"), "--site", "b"}, store("new/hocket.db"));
  EXPECT_EQ(exported.status, 0) << exported.err;
  EXPECT_THAT(exported.err, HasSubstr("wrote 2 configurations to"));
  EXPECT_EQ(read_bytes(folder_.file("b.json")), read_bytes(file_));
  EXPECT_EQ(ask({"export"}, store("new/hocket.db")).out, read_bytes(file_));
  const auto one = ask({"export", "--workload", "gpt2"}, store("new/hocket.db"));
  EXPECT_EQ(one.out, shared_configs_text({shared_schedule()}, "").value());
  EXPECT_EQ(ask({"export", "gpt2"}, store("new/hocket.db")).out, one.out);
  EXPECT_EQ(ask({"export", "--topology", "none"}, store("new/hocket.db")).status, 2);
}

TEST_F(SharedConfigVerbs, ADaemonTakesAndGivesTheSameFile) {
  const auto stored = open_store_in_memory();
  const RunningDaemon daemon(*stored);
  const Words place = {"--daemon", daemon.url()};
  const auto dry = ask({"import", file_, "--dry-run", "--json"}, place).json();
  ASSERT_THAT(dry["configs"], SizeIs(2));
  EXPECT_EQ(dry["configs"][0]["action"], "imported");
  EXPECT_THAT(must(stored->promotions({})), SizeIs(0));
  EXPECT_EQ(ask({"import", file_}, place).status, 0);
  EXPECT_THAT(must(stored->promotions({})), SizeIs(2));
  EXPECT_EQ(ask({"export"}, place).out, read_bytes(file_));
  EXPECT_EQ(ask({"export", "--workload", "gpt2"}, place).out,
            shared_configs_text({shared_schedule()}, "").value());
  EXPECT_THAT(ask_hocket({"versions", "gpt2", "--daemon", daemon.url()}).out,
              AllOf(HasSubstr("imported"), HasSubstr("site cluster-a, measured")));
  EXPECT_THAT(ask({}, place).out, HasSubstr("gpt2"));
  const JobDescription job{
      .id = "job-1", .topology = shared_topology(), .workload = shared_schedule().workload};
  const auto version = must(stored->promotions({.key = ConfigKey{fingerprint(job.topology),
                                                                 fingerprint(job.workload)}}))
                           .at(0)
                           .id;
  HttpClient client({.address = must(parse_daemon_address(daemon.url()))});
  must(ask_daemon(
      client, "POST", "/v1/jobs",
      to_json(JobDescription{
          .id = job.id, .topology = job.topology, .workload = job.workload, .version = version})));
  EXPECT_THAT(ask_hocket({"jobs", "--daemon", daemon.url()}).out,
              ContainsRegex(std::to_string(version) +
                            " +imported from site cluster-a, measured 2023-11-14"));
}

TEST_F(SharedConfigVerbs, WhatIsImportedIsWhatJobsFetch) {
  ask({"import", file_}, store("hocket.db"));
  const auto topology = fingerprint(shared_topology());
  const auto fetched = ask_hocket({"fetch", "--workload", "gpt2", "--topology", topology, "--store",
                                   folder_.file("hocket.db")});
  EXPECT_EQ(fetched.json()["streams"], 2);
  EXPECT_THAT(fetched.err, AllOf(HasSubstr("imported by "), HasSubstr(" from site cluster-a"),
                                 HasSubstr("20.0 % better than the default")));
  const auto setting = ask_hocket({"fetch", "--workload", "/opt/train.py", "--topology", topology,
                                   "--store", folder_.file("hocket.db"), "--format", "env"});
  EXPECT_THAT(setting.out, AllOf(HasSubstr("BUCKET_MB=25"), HasSubstr("MODE=ring")));
}

TEST_F(SharedConfigVerbs, WhatASiteShipsIsFetchedWhereNothingIsKnown) {
  const ScopedEnvironment site("HOCKET_SITE_CONFIGS", file_.c_str());
  const auto topology = fingerprint(shared_topology());
  const auto fetch = [&](const Words& form, const Words& place) {
    Words words = {"fetch", "--topology", topology};
    words.insert(words.end(), form.begin(), form.end());
    words.insert(words.end(), place.begin(), place.end());
    return ask_hocket(words);
  };
  const Words gpt2 = {"--workload", "gpt2"};
  const Words train = {"--workload", "/opt/train.py", "--format", "env"};
  const auto own = must(open_store(folder_.file("own.db")));
  const auto in_memory = open_store_in_memory();
  const RunningDaemon daemon(*in_memory);
  const Words at_daemon = {"--daemon", daemon.url()};
  for (const Words& place : {store("none.db"), store("own.db"), at_daemon}) {
    EXPECT_EQ(fetch(gpt2, place).json()["streams"], 2);
    EXPECT_THAT(fetch(gpt2, place).err, HasSubstr("from site cluster-a"));
    EXPECT_THAT(fetch(train, place).out, HasSubstr("BUCKET_MB=25"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.file("none.db")));
  // A known version comes first, and also that jobs keep their default.
  for (Store* const known : {own.get(), in_memory.get()}) {
    const NewPromotion pushed{
        .topology_id = must(known->upsert_topology(shared_topology())),
        .workload_id = must(known->upsert_workload(shared_schedule().workload)),
        .config = shared_schedule("gpt2", 7).config,
        .origin = PromotionOrigin::push};
    must(known->promote(pushed));
  }
  for (const Words& place : {store("own.db"), at_daemon})
    EXPECT_EQ(fetch(gpt2, place).json()["streams"], 7);
  for (const Words& place : {store("own.db"), at_daemon}) {
    Words back = {"rollback", "gpt2", "--to", "default"};
    back.insert(back.end(), place.begin(), place.end());
    EXPECT_EQ(ask_hocket(back).status, 0);
    EXPECT_NE(fetch(gpt2, place).status, 0);
    EXPECT_THAT(fetch(train, place).out, HasSubstr("BUCKET_MB=25"));
  }
}

TEST_F(SharedConfigVerbs, ADryRunMakesNoStore) {
  const auto dry = ask({"import", file_, "--dry-run"}, store("hocket.db"));
  EXPECT_EQ(dry.status, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("imported"));
  EXPECT_THAT(dry.err, HasSubstr("nothing was changed"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("hocket.db")));
}

TEST_F(SharedConfigVerbs, WhoTrustsAKeyTakesOnlyWhatItHasSigned) {
  const std::string key = key_file("key.pem", kTestPrivateKey, 0600);
  const std::string trusted = key_file("key.pub", kTestPublicKey, 0644);
  const std::string other = key_file("other.pub", kOtherPublicKey, 0644);
  const std::string made = folder_.file("signed.json");
  ask({"import", file_}, store("hocket.db"));
  EXPECT_EQ(ask({"export", "-o", made, "--sign", key}, store("hocket.db")).status, 0);
  EXPECT_EQ(ask({"import", made, "--trust", trusted}, store("b.db")).status, 0);
  EXPECT_THAT(ask({"import", made, "--trust", other}, store("c.db")).err,
              HasSubstr("by another key"));
  EXPECT_THAT(ask({"import", file_, "--trust", trusted}, store("c.db")).err,
              HasSubstr("it is not signed"));
  EXPECT_THAT(ask({"import", made}, store("c.db")).err, HasSubstr("signature is not checked"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("d.db")));
  key_file("key.pem", kTestPrivateKey, 0644);
  EXPECT_THAT(ask({"export", "--sign", key}, store("hocket.db")).err, HasSubstr("chmod 600"));
  EXPECT_THAT(ask({"export", "--sign", trusted}, store("hocket.db")).err, HasSubstr("chmod 600"));
}

TEST_F(SharedConfigVerbs, AFileThatIsNotRightIsRefusedBeforeAnythingIsMade) {
  std::string damaged = read_bytes(file_);
  damaged.replace(damaged.find("cluster-a"), 9, "cluster-b");
  const struct {
    std::string file, why;
  } cases[] = {{folder_.write("damaged", damaged), "its digest is wrong"},
               {folder_.write("none.json", "{}"), "\"format\""},
               {folder_.write("empty", ""), "is not valid JSON"},
               {folder_.file("missing"), "missing"}};
  for (const auto& each : cases) {
    const auto answer = ask({"import", each.file}, store("hocket.db"));
    EXPECT_EQ(answer.status, 2) << answer.err;
    EXPECT_THAT(answer.err, HasSubstr(each.why));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.file("hocket.db")));
}

}  // namespace
}  // namespace hocket
