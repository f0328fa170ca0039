#pragma once

// HTTP/1.1 requests out of a stream of bytes, however they are cut: bytes go in through space() and
// received(), requests come out of next(). Knows limits, but no sockets and no time. For one
// thread.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tuner/daemon/http/http_message.h"
#include "tuner/daemon/http/service.h"

namespace hocket {

struct ParsedRequest {
  Request request = {};  ///< a HEAD is a GET here; the peer is left empty
  bool is_head = false;
  AfterResponse after = AfterResponse::close;  ///< what the client asks for
};

class RequestParser {
 public:
  RequestParser(std::size_t header_bytes, std::size_t body_bytes);
  ~RequestParser();

  /// Where the next bytes may be put; never empty. Valid until the next call.
  std::span<char> space();
  /// So many bytes were put there.
  void received(std::size_t bytes);

  enum class State {
    needs_more,
    needs_continue,  ///< the client wants to be told 100 before it sends the body; said once
    complete,        ///< take() has the request
    refused,         ///< refusal() has the answer; nothing after it can be understood
  };
  State next();

  ParsedRequest take();
  const Response& refusal() const;

  /// A request has begun and is not whole.
  bool is_within_request() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hocket
