#pragma once

// Incremental parser for HTTP/1.1 requests: bytes go in through space() and received(), requests
// come out of next(). Enforces limits, and asks whether to pass a request on before it reads the
// body; uses no sockets and no clock. For one thread.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "daemon/http/http_message.h"
#include "daemon/http/request_origin.h"
#include "daemon/http/service.h"

namespace hocket {

struct ParsedRequest {
  ServiceRequest request = {};  ///< HEAD becomes GET; the peer is left empty
  bool is_head = false;
  AfterResponse after = AfterResponse::close;  ///< requested by the client
};

/// Returns the response that refuses a request; nothing if it is passed on. Called once for each
/// complete header.
using HeadCheck = std::function<std::optional<ServiceResponse>(const RequestHead&)>;

class RequestParser {
 public:
  RequestParser(std::size_t header_bytes, std::size_t body_bytes, HeadCheck check);
  ~RequestParser();

  /// Returns the buffer for the next bytes; never empty. Valid until the next call.
  std::span<char> space();
  /// Reports that `bytes` bytes were written to space().
  void received(std::size_t bytes);

  enum class State {
    needs_more,
    needs_continue,  ///< the client expects a 100 response before it sends the body; reported once
    complete,        ///< take() returns the request
    refused,         ///< refusal() returns the response; nothing after it can be parsed
  };
  State next();

  ParsedRequest take();
  const ServiceResponse& refusal() const;

  /// Returns whether a request has begun and is incomplete.
  bool is_within_request() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hocket
