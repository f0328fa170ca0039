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

TEST(RendezvousSecret, AProofIsOfOneSecretSideAndConnection) {
  const Nonce a = random_nonce(), b = random_nonce();
  const std::set<SecretProof> proofs = {
      prove("one", ProofOf::server, a, b), prove("one", ProofOf::client, a, b),
      prove("one", ProofOf::server, b, a), prove("one", ProofOf::client, b, a),
      prove("two", ProofOf::server, a, b), prove("two", ProofOf::client, a, b)};
  EXPECT_EQ(proofs.size(), 6U);
  EXPECT_TRUE(equal(prove("one", ProofOf::server, a, b), prove("one", ProofOf::server, a, b)));
  SecretProof last_differs = prove("one", ProofOf::server, a, b);
  last_differs.back() ^= 1;
  EXPECT_FALSE(equal(last_differs, prove("one", ProofOf::server, a, b)));
}

}  // namespace
}  // namespace hocket
