#include "core/greeting/rendezvous_secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <vector>

#include "core/base/check.h"

namespace hocket {

Nonce random_nonce() {
  Nonce nonce;
  HOCKET_CHECK(RAND_bytes(nonce.data(), nonce.size()) == 1, "the system gives random numbers");
  return nonce;
}

std::string random_rendezvous_secret() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : random_nonce()) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

SecretProof prove(std::string_view secret, ProofOf side, const Nonce& server, const Nonce& client) {
  const std::string_view label =
      side == ProofOf::server ? "hocket rendezvous server" : "hocket rendezvous client";
  std::vector<std::uint8_t> message(label.begin(), label.end());
  message.insert(message.end(), server.begin(), server.end());
  message.insert(message.end(), client.begin(), client.end());
  SecretProof proof;
  unsigned length = 0;
  const bool made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                         message.data(), message.size(), proof.data(), &length) != nullptr;
  HOCKET_CHECK(made && length == proof.size(), "HMAC-SHA256 is available");
  return proof;
}

bool equal(const SecretProof& a, const SecretProof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace hocket
