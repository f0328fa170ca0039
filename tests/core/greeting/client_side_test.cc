// The client's side of a greeting, with a server that sends what a test tells it to.

#include "core/greeting/client_side.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "core/greeting/rendezvous_secret.h"
#include "tests/core/greeting/test_protocol.h"

namespace hocket::greeting {
namespace {

using testing::HasSubstr;

template <class Message>
std::string text_of(const Message& message) {
  return std::string(message_bytes(message));
}

/// A client that has read what a server said, and what it has written.
struct Met {
  Result<void> outcome;
  bool try_again = false;
  std::string written;
  std::size_t longest_read = 0;
};

Met meet(std::string said, const std::string& secret = {}, std::string_view details = {}) {
  Met met;
  const Channel channel = {.read = [&](void* into, std::size_t bytes) -> Result<void> {
                             met.longest_read = std::max(met.longest_read, bytes);
                             if (said.size() < bytes)
                               return failure(ErrorCode::unavailable, "it is gone");
                             std::memcpy(into, said.data(), bytes);
                             said.erase(0, bytes);
                             return {};
                           },
                           .write = [&](const void* from, std::size_t bytes) -> Result<void> {
                             met.written.append(static_cast<const char*>(from), bytes);
                             return {};
                           }};
  met.outcome = greet_server(channel, kTestProtocol, secret, "it", details, met.try_again);
  return met;
}

std::string greeting_bytes(const Outcome& outcome = {}) {
  return text_of(Greeting{.opening = opening_of(kTestProtocol), .outcome = outcome});
}

TEST(GreetingClient, AClientWithoutASecretIsLetInAndSendsItsDetails) {
  const Met met = meet(greeting_bytes() + text_of(Verdict{}), "", "details");
  EXPECT_TRUE(met.outcome);
  ASSERT_EQ(met.written.size(), sizeof(Introduction) + 7);
  Introduction sent;
  std::memcpy(&sent, met.written.data(), sizeof sent);
  EXPECT_EQ(sent.opening.magic, kTestProtocol.magic);
  EXPECT_EQ(sent.opening.version, kTestProtocol.version);
  EXPECT_EQ(sent.has_secret, 0U);
  EXPECT_EQ(sent.proof, SecretProof{});
  EXPECT_EQ(met.written.substr(sizeof sent), "details");
}

TEST(GreetingClient, AnotherVersionIsFinalAndIsToldNothing) {
  const Met met = meet(text_of(Opening{kTestProtocol.magic, 3}), "secret");
  ASSERT_FALSE(met.outcome);
  EXPECT_THAT(met.outcome.error().message, HasSubstr("it speaks version 3 of its protocol"));
  EXPECT_FALSE(met.try_again);
  EXPECT_EQ(met.written, "");
}

TEST(GreetingClient, AServerThatIsFullOrGoneMayBeTriedAgain) {
  const Met full =
      meet(refusing_greeting(kTestProtocol, {ErrorCode::unavailable, "full"}), "secret");
  ASSERT_FALSE(full.outcome);
  EXPECT_EQ(full.outcome.error(), (Error{ErrorCode::unavailable, "it: full"}));
  EXPECT_TRUE(full.try_again);
  EXPECT_EQ(full.written, "");
  for (const std::string& said : {std::string(), greeting_bytes().substr(0, 20), greeting_bytes()})
    EXPECT_TRUE(meet(said).try_again) << said.size();
}

TEST(GreetingClient, ARefusalIsFinalAndSaysWhy) {
  const Refusal refusal = refusal_of({ErrorCode::invalid_argument, "who\nare you"});
  const Met met =
      meet(greeting_bytes() + text_of(Verdict{.outcome = refusal.outcome}) + refusal.text);
  ASSERT_FALSE(met.outcome);
  EXPECT_EQ(met.outcome.error(), (Error{ErrorCode::invalid_argument, "it: who are you"}));
  EXPECT_FALSE(met.try_again);
}

TEST(GreetingClient, AnImpossibleOutcomeIsNotRead) {
  for (const Outcome& outcome : {Outcome{99, 1}, Outcome{1, kLongestText + 1}, Outcome{kDone, 1}}) {
    for (const std::string& said :
         {greeting_bytes(outcome), greeting_bytes() + text_of(Verdict{.outcome = outcome})}) {
      const Met met = meet(said + std::string(kLongestText + 1, 'x'));
      ASSERT_FALSE(met.outcome);
      EXPECT_THAT(met.outcome.error().message, HasSubstr("see what listens there"));
      EXPECT_FALSE(met.try_again);
      EXPECT_LE(met.longest_read, sizeof(Greeting)) << "the claimed length is not reserved";
    }
  }
}

TEST(GreetingClient, AServerThatLetsEverybodyInDoesNotHaveTheSecret) {
  const Met met = meet(greeting_bytes() + text_of(Verdict{}), "secret", "me");
  ASSERT_FALSE(met.outcome);
  EXPECT_THAT(met.outcome.error().message, HasSubstr("it does not know HOCKET_RENDEZVOUS_SECRET"));
  EXPECT_FALSE(met.try_again);
  Introduction sent;
  ASSERT_EQ(met.written.size(), sizeof sent + 2);
  std::memcpy(&sent, met.written.data(), sizeof sent);
  EXPECT_EQ(sent.has_secret, 1U);
  EXPECT_EQ(sent.proof,
            prove("secret", ProofOf::client, {.opening = opening_of(kTestProtocol)}, sent, "me"));
}

TEST(GreetingClient, UsesANewNonceEachTime) {
  const std::string said = greeting_bytes() + text_of(Verdict{});
  EXPECT_NE(meet(said).written, meet(said).written);
}

TEST(GreetingClient, SendsNoPartOfItsSecret) {
  const std::string secret = "a secret that is long enough to be found";
  const std::string sent = meet(greeting_bytes(), secret).written;
  for (std::size_t i = 0; i + 4 <= secret.size(); ++i)
    EXPECT_EQ(sent.find(secret.substr(i, 4)), std::string::npos);
}

TEST(GreetingClient, DoesNotBelieveAServerThatReflectsItsProof) {
  std::string said = greeting_bytes();
  const Channel channel = {.read = [&](void* into, std::size_t bytes) -> Result<void> {
                             std::memcpy(into, said.data(), bytes);
                             said.erase(0, bytes);
                             return {};
                           },
                           .write = [&](const void* from, std::size_t) -> Result<void> {
                             Introduction sent;
                             std::memcpy(&sent, from, sizeof sent);
                             said = text_of(Verdict{.proof = sent.proof});
                             return {};
                           }};
  bool try_again = false;
  EXPECT_FALSE(greet_server(channel, kTestProtocol, "secret", "it", {}, try_again));
}

}  // namespace
}  // namespace hocket::greeting
