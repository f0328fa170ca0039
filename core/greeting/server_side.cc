#include "core/greeting/server_side.h"

#include <array>

#include "core/greeting/rendezvous_secret.h"

namespace hocket::greeting {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using SystemError = boost::system::system_error;

Error secret_differs(const Protocol& protocol, const std::string& how) {
  return {ErrorCode::invalid_argument,
          std::string("environment variable ") + kRendezvousSecretVariable + how +
              "; set it to the same text for " + std::string(protocol.everyone) + ", or for none"};
}

/// Checks a client's proof.
Result<void> check_secret(const Protocol& protocol, const std::string& secret,
                          const Greeting& server, const Introduction& client,
                          std::string_view details) {
  const std::string name(protocol.server);
  if (secret.empty() && client.has_secret == 0) return {};
  if (secret.empty())
    return failure(secret_differs(protocol, " is set for this rank and not for " + name));
  if (client.has_secret == 0)
    return failure(secret_differs(protocol, " is set for " + name + " and not for this rank"));
  if (equal(client.proof, prove(secret, ProofOf::client, server, client, details))) return {};
  return failure(secret_differs(protocol, " of this rank differs from " + name + "'s"));
}

/// Lets a client that was refused read why: closing at once could discard that on its way.
asio::awaitable<void> wait_for_end(tcp::socket& socket) {
  std::array<char, 512> dropped;
  error_code error;
  socket.shutdown(tcp::socket::shutdown_send, error);
  while (!error) {
    co_await socket.async_read_some(asio::buffer(dropped),
                                    asio::redirect_error(asio::use_awaitable, error));
  }
}

}  // namespace

asio::awaitable<bool> greet_client(tcp::socket& socket, const Protocol& protocol,
                                   const std::string& secret, asio::mutable_buffer details,
                                   const std::function<Result<void>()>& admit) {
  const Greeting own{.opening = opening_of(protocol), .nonce = random_nonce()};
  co_await asio::async_write(socket, asio::buffer(&own, sizeof own), asio::use_awaitable);
  Introduction client;
  co_await asio::async_read(socket, asio::buffer(&client, sizeof client.opening),
                            asio::use_awaitable);
  if (client.opening.magic != protocol.magic) throw SystemError(asio::error::no_protocol_option);
  const std::string_view said(static_cast<const char*>(details.data()), details.size());
  Result<void> welcome = check_opening(protocol, client.opening, "the rank");
  if (welcome) {
    const std::array<asio::mutable_buffer, 2> rest = {
        asio::buffer(&client, sizeof client) + sizeof client.opening, details};
    co_await asio::async_read(socket, rest, asio::use_awaitable);
    welcome = check_secret(protocol, secret, own, client, said);
  }
  if (welcome) welcome = admit();
  Refusal refusal;
  if (!welcome) refusal = refusal_of(welcome.error());
  Verdict verdict{.outcome = refusal.outcome};
  if (welcome) verdict.proof = prove(secret, ProofOf::server, own, client, said);
  const std::array<asio::const_buffer, 2> answer = {asio::buffer(&verdict, sizeof verdict),
                                                    asio::buffer(refusal.text)};
  co_await asio::async_write(socket, answer, asio::use_awaitable);
  if (!welcome) co_await wait_for_end(socket);
  co_return welcome.has_value();
}

}  // namespace hocket::greeting
