#include "core/sharing/shared_configs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/sharing/sha256.h"
#include "tests/core/sharing/sample_shared_configs.h"
#include "tests/mutate.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string text_of(const std::vector<SharedConfig>& configs, std::string_view key = "") {
  const auto text = shared_configs_text(configs, key);
  EXPECT_TRUE(text) << text.error().message;
  return text.value_or("");
}

std::string why_refused(const std::string& text) {
  const auto read = read_shared_configs(text);
  return read ? "accepted" : read.error().message;
}

/// Returns the file after `edit`, with the digests that somebody who wants to be believed computes.
std::string edited(const SharedConfig& config, const std::function<void(json&)>& edit) {
  json document = json::parse(text_of({config}));
  json& entry = document["configs"][0];
  edit(entry);
  entry.erase("sha256");
  entry["sha256"] = sha256_hex(entry.dump());
  document.erase("sha256");
  document["sha256"] = sha256_hex(document.dump());
  return document.dump();
}

TEST(SharedConfigs, AreReadAsTheyWereWrittenAndWrittenAgainAsTheSameBytes) {
  for (std::uint64_t seed = 1; seed <= rounds(40); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto configs = random_shared_configs(random);
    const std::string text = text_of(configs);
    std::ranges::shuffle(configs, random);
    EXPECT_EQ(text_of(configs), text);
    const auto read = read_shared_configs(text);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->configs.size(), configs.size());
    EXPECT_EQ(text_of(read->configs), text);
    for (const SharedConfig& config : configs) {
      EXPECT_EQ(std::ranges::count(read->configs, config), 1);
      const auto found = find_shared_config(text, key_of(config));
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ(*found, config);
    }
    SharedConfig other = configs.front();
    other.topology.cores += 1;
    EXPECT_EQ(find_shared_config(text, key_of(other)).value(), std::nullopt);
  }
}

TEST(SharedConfigs, ChangedBytesAreRefusedOrMeanTheSame) {
  const std::vector<SharedConfig> configs = {shared_schedule(), shared_command()};
  const std::string text = text_of(configs, kTestPrivateKey);
  const std::string sha256 = read_shared_configs(text).value().sha256;
  for (std::uint64_t seed = 1; seed <= rounds(400); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::string changed = mutate(text, random);
    const auto read = read_shared_configs(changed);
    if (!read) {
      EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
      continue;
    }
    EXPECT_EQ(read->sha256, sha256);
    EXPECT_EQ(text_of(read->configs), text_of(configs));
  }
}

TEST(SharedConfigs, AnEntryForOtherHardwareOrVersionsIsNotOfItsKey) {
  for (const auto& edit : std::vector<std::function<void(json&)>>{
           [](json& entry) { entry["topology"]["library_versions"]["gloo"] = "2"; },
           [](json& entry) { entry["topology"]["cores"] = 8; },
           [](json& entry) { entry["workload"]["name"] = "bert"; }}) {
    EXPECT_THAT(why_refused(edited(shared_schedule(), edit)),
                AllOf(HasSubstr("entry 1 of the file"), HasSubstr("its key is not that of")));
  }
}

TEST(SharedConfigs, OnlyDeclaredFieldsWithValuesOfTheirRangesAreAccepted) {
  const struct {
    SharedConfig config;
    std::function<void(json&)> edit;
    std::string why;
  } cases[] = {
      {shared_schedule(), [](json& e) { e["config"]["LD_PRELOAD"] = "x.so"; }, "LD_PRELOAD"},
      {shared_schedule(), [](json& e) { e["config"]["streams"] = 1000; }, "streams"},
      {shared_schedule(), [](json& e) { e["config"] = json::object(); }, "at least one value"},
      {shared_schedule(), [](json& e) { e["config"] = json::array(); }, "object"},
      {shared_command(), [](json& e) { e["config"]["BUCKET_MB"] = 101; }, "BUCKET_MB"},
      {shared_command(), [](json& e) { e["config"]["MODE"] = "mesh"; }, "MODE"},
      {shared_command(), [](json& e) { e["config"]["OTHER"] = 1; }, "OTHER"},
      {shared_command(), [](json& e) { e["parameters"][0]["name"] = "A B"; }, "name"},
      {shared_schedule(), [](json& e) { e["site"] = std::string(101, 'x'); }, "site"},
      {shared_schedule(), [](json& e) { e["site"] = "a\x1b[2J"; }, "site"},
      {shared_schedule(), [](json& e) { e["extra"] = 1; }, "extra"},
      {shared_schedule(), [](json& e) { e["topology"]["host"] = "b7"; }, "host"},
      {shared_schedule(), [](json& e) { e["evidence"]["kind"] = "guess"; }, "kind"},
      {shared_schedule(), [](json& e) { e["evidence"]["trials"] = -1; }, "trials"},
      {shared_schedule(), [](json& e) { e["evidence"]["gain_interval"]["low"] = 0.9; }, "interval"},
      {shared_schedule(), [](json& e) { e["evidence"].erase("value"); }, "value"},
      {shared_schedule(), [](json& e) { e["workload"]["tensors"][0]["bytes"] = -1; }, "bytes"},
  };
  for (const auto& each : cases)
    EXPECT_THAT(why_refused(edited(each.config, each.edit)), HasSubstr(each.why));
  EXPECT_EQ(why_refused(edited(shared_command(), [](json&) {})), "accepted");
}

TEST(SharedConfigs, AnEntryIsFoundByItsKeyWhateverOthersSay) {
  const SharedConfig wanted = shared_schedule();
  const std::string key = to_string(key_of(wanted));
  // Names of other entries are that key, and look like the begin and the end of an entry.
  std::vector<SharedConfig> configs = {wanted};
  const std::string names[] = {key, "{\"key\": \"" + key + "\"", "]}\\\"{[" + key, "\\"};
  for (const std::string& name : names) configs.push_back(shared_schedule(name));
  const std::string text = text_of(configs);
  for (const SharedConfig& config : configs)
    EXPECT_EQ(find_shared_config(text, key_of(config)).value(), config);
  for (std::uint64_t seed = 1; seed <= rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto found = find_shared_config(mutate(text, random), key_of(wanted));
    EXPECT_TRUE(!found || !*found || **found == wanted);
  }
}

TEST(SharedConfigs, TwoEntriesOfOneKeyAreRefused) {
  EXPECT_THAT(shared_configs_text({shared_schedule(), shared_schedule()}, "").error().message,
              HasSubstr("two configurations have the key"));
  json document = json::parse(text_of({shared_schedule()}));
  document["configs"].push_back(document["configs"][0]);
  document.erase("sha256");
  document["sha256"] = sha256_hex(document.dump());
  EXPECT_THAT(why_refused(document.dump()), HasSubstr("entry 2 of the file: its key"));
}

TEST(SharedConfigs, AFileOfAnotherFormatOrVersionIsRefused) {
  for (const auto& [field, value] :
       {std::pair("format", json("x")), std::pair("version", json(2))}) {
    json document = json::parse(text_of({shared_schedule()}));
    document[field] = value;
    EXPECT_THAT(why_refused(document.dump()), HasSubstr(field));
  }
  EXPECT_THAT(why_refused("[]"), HasSubstr("file of configurations"));
  EXPECT_THAT(why_refused(std::string(kMaxSharedConfigsBytes + 1, ' ')), HasSubstr("at most"));
}

TEST(SharedConfigs, ASignatureIsOfTheWholeFileByOneKey) {
  const auto signed_file =
      read_shared_configs(text_of({shared_schedule()}, kTestPrivateKey)).value();
  EXPECT_TRUE(check_signature(signed_file, kTestPublicKey));
  EXPECT_THAT(check_signature(signed_file, kOtherPublicKey).error().message,
              HasSubstr("by another key"));
  EXPECT_THAT(check_signature(signed_file, kTestPrivateKey).error().message,
              HasSubstr("no public Ed25519 key"));
  EXPECT_THAT(
      check_signature(read_shared_configs(text_of({shared_schedule()})).value(), kTestPublicKey)
          .error()
          .message,
      HasSubstr("not signed"));
  // The signature of one file beside the content of another, and under another key's name.
  auto other = read_shared_configs(text_of({shared_schedule("bert")})).value();
  other.signature = signed_file.signature;
  EXPECT_THAT(check_signature(other, kTestPublicKey).error().message, HasSubstr("altered"));
  for (char& digit : other.signature->value) digit = 'g';
  EXPECT_THAT(check_signature(other, kTestPublicKey).error().message, HasSubstr("hexadecimal"));
  EXPECT_THAT(shared_configs_text({}, kTestPublicKey).error().message, HasSubstr("genpkey"));
  EXPECT_THAT(shared_configs_text({}, "no key").error().message, HasSubstr("genpkey"));
}

TEST(SharedConfigs, SayWhereTheyComeFrom) {
  EXPECT_EQ(provenance_text(shared_schedule()),
            "site cluster-a, measured 2023-11-14 by a study, "
            "sha256 " +
                digest_of(shared_schedule()).substr(0, 12));
  SharedConfig pushed = shared_schedule();
  pushed.site.clear();
  pushed.evidence = {.at_ns = 1};
  EXPECT_THAT(provenance_text(pushed), HasSubstr("a file, chosen 1970-01-01 by an operator, "));
}

TEST(Signature, IsThatOfTheStandard) {
  // RFC 8032, section 7.1, test 1.
  const auto signature = sign("", kTestPrivateKey).value();
  EXPECT_EQ(
      signature.value,
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9"
      "b46bd25bf5f0595bbe24655141438e7a100b");
  EXPECT_TRUE(verify("", signature, kTestPublicKey));
  EXPECT_FALSE(verify("x", signature, kTestPublicKey));
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace hocket
