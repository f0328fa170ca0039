#pragma once

// The secret by which the processes of a job know one another, and the proofs that they have it. It
// never travels: a proof is an HMAC-SHA256 over random numbers of both sides. Any thread.

#include <string>
#include <string_view>

#include "core/greeting/messages.h"

namespace hocket {

/// Environment variable with the secret, the same text on every rank. Unset or empty: no secret.
inline constexpr const char* kRendezvousSecretVariable = "HOCKET_RENDEZVOUS_SECRET";

/// Returns a new secret of 64 hexadecimal digits.
std::string random_rendezvous_secret();

Nonce random_nonce();

enum class ProofOf { server, client };

/// Returns the proof by one side of a connection; zeros without a secret. It covers all that both
/// sides have sent before the client's proof and the client's `details`, so it holds for one
/// connection of one protocol only. The sides' proofs differ, so that neither can send the other's
/// back.
SecretProof prove(std::string_view secret, ProofOf side, const greeting::Greeting& server,
                  const greeting::Introduction& client, std::string_view details);

/// Compares in a time that does not depend on the content.
bool equal(const SecretProof& a, const SecretProof& b);

}  // namespace hocket
