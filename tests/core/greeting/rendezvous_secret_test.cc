#include "core/greeting/rendezvous_secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace hocket {
namespace {

TEST(RendezvousSecret, IsNewEachTime) {
  const std::string secret = random_rendezvous_secret();
  EXPECT_THAT(secret, testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_NE(secret, random_rendezvous_secret());
  EXPECT_NE(random_nonce(), random_nonce());
}

TEST(RendezvousSecret, AProofIsOfOneSecretSideAndConversation) {
  const greeting::Greeting server = {.opening = {1, 2}, .nonce = random_nonce()};
  const greeting::Introduction client = {
      .opening = {1, 2}, .has_secret = 1, .nonce = random_nonce()};
  greeting::Greeting other_server = server, other_protocol = server;
  other_server.nonce = client.nonce;
  other_protocol.opening = {2, 2};
  greeting::Introduction other_client = client, newer_client = client;
  other_client.nonce = server.nonce;
  newer_client.opening = {1, 3};
  const std::set<SecretProof> proofs = {
      prove("one", ProofOf::server, server, client, "me"),
      prove("one", ProofOf::client, server, client, "me"),
      prove("two", ProofOf::client, server, client, "me"),
      prove("one", ProofOf::client, other_server, client, "me"),
      prove("one", ProofOf::client, other_protocol, client, "me"),
      prove("one", ProofOf::client, server, other_client, "me"),
      prove("one", ProofOf::client, other_server, other_client, "me"),
      prove("one", ProofOf::client, server, newer_client, "me"),
      prove("one", ProofOf::client, server, client, "you"),
      prove("", ProofOf::client, server, client, "me"),
  };
  EXPECT_EQ(proofs.size(), 10U);
  EXPECT_EQ(*proofs.begin(), SecretProof{}) << "without a secret";
}

TEST(RendezvousSecret, ComparesEveryByteAndNotTheProofItCovers) {
  greeting::Introduction client;
  const SecretProof proof = prove("one", ProofOf::client, {}, client, "");
  client.proof = proof;
  EXPECT_TRUE(equal(proof, prove("one", ProofOf::client, {}, client, "")));
  for (std::size_t i = 0; i < proof.size(); ++i) {
    SecretProof other = proof;
    other[i] ^= 1;
    EXPECT_FALSE(equal(other, proof)) << i;
  }
}

}  // namespace
}  // namespace hocket
