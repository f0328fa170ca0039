#pragma once

// The secret by which the ranks of a job know one another at their rendezvous. It never travels:
// each side proves that it has it by an HMAC-SHA256 over random numbers of both. Any thread.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hocket {

/// Environment variable with the secret, the same text on every rank. Unset or empty: no secret.
inline constexpr const char* kRendezvousSecretVariable = "HOCKET_RENDEZVOUS_SECRET";

/// Returns a new secret of 64 hexadecimal digits.
std::string random_rendezvous_secret();

using Nonce = std::array<std::uint8_t, 32>;
using SecretProof = std::array<std::uint8_t, 32>;

Nonce random_nonce();

enum class ProofOf { server, client };

/// Returns the proof by one side of a connection. The sides' proofs differ, so that neither can
/// send the other's back.
SecretProof prove(std::string_view secret, ProofOf side, const Nonce& server, const Nonce& client);

/// Compares in a time that does not depend on the content.
bool equal(const SecretProof& a, const SecretProof& b);

}  // namespace hocket
