#include "core/greeting/rendezvous_secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

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

SecretProof prove(std::string_view secret, ProofOf side, const greeting::Greeting& server,
                  const greeting::Introduction& client, std::string_view details) {
  SecretProof proof = {};
  if (secret.empty()) return proof;
  // Only the details have no fixed length, and they come last: no two conversations give one text.
  std::string said = side == ProofOf::server ? "hocket greeting server" : "hocket greeting client";
  said += greeting::message_bytes(server);
  greeting::Introduction without_proof = client;
  without_proof.proof = {};
  said += greeting::message_bytes(without_proof);
  said += details;
  unsigned length = 0;
  const bool made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                         reinterpret_cast<const unsigned char*>(said.data()), said.size(),
                         proof.data(), &length) != nullptr;
  HOCKET_CHECK(made && length == proof.size(), "HMAC-SHA256 is available");
  return proof;
}

bool equal(const SecretProof& a, const SecretProof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace hocket
