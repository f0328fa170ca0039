#include "core/greeting/client_side.h"

#include "core/greeting/rendezvous_secret.h"

namespace hocket::greeting {
namespace {

/// Receives the text of a refusal; an error in any case.
Result<void> read_refusal(const Channel& channel, const Outcome& outcome, const std::string& peer,
                          bool& try_again) {
  if (!is_refusal(outcome)) {
    try_again = false;
    return failure(ErrorCode::unavailable,
                   peer + " answers what no server of this version does; see what listens there");
  }
  std::string text(outcome.text_bytes, '\0');
  HOCKET_TRY(channel.read(text.data(), text.size()));
  return failure(error_of(outcome, text).in(peer));
}

}  // namespace

Result<void> greet_server(const Channel& channel, const Protocol& protocol,
                          const std::string& secret, const std::string& peer,
                          std::string_view details, bool& try_again) {
  try_again = true;
  Greeting server;
  HOCKET_TRY(channel.read(&server.opening, sizeof server.opening));
  if (const auto understood = check_opening(protocol, server.opening, peer); !understood) {
    try_again = false;
    return understood;
  }
  HOCKET_TRY(channel.read(&server.outcome, sizeof server - sizeof server.opening));
  if (!is_welcome(server.outcome)) return read_refusal(channel, server.outcome, peer, try_again);
  Introduction own{.opening = opening_of(protocol),
                   .has_secret = secret.empty() ? 0U : 1U,
                   .nonce = random_nonce()};
  own.proof = prove(secret, ProofOf::client, server, own, details);
  const std::string message = std::string(message_bytes(own)).append(details);
  HOCKET_TRY(channel.write(message.data(), message.size()));
  Verdict verdict;
  HOCKET_TRY(channel.read(&verdict, sizeof verdict));
  try_again = false;
  if (!is_welcome(verdict.outcome)) return read_refusal(channel, verdict.outcome, peer, try_again);
  if (equal(verdict.proof, prove(secret, ProofOf::server, server, own, details))) return {};
  return invalid(peer + " does not know " + kRendezvousSecretVariable +
                 " of this rank; see what listens there");
}

}  // namespace hocket::greeting
