#pragma once

// The server's side of TLS. Reads files, otherwise pure; any thread.

#include <boost/asio/ssl/context.hpp>

#include "core/base/result.h"
#include "daemon/server/server.h"

namespace hocket {

/// Returns a context for TLS 1.2 or later with the certificate and its key. Errors name the file.
/// The key must be one that only its owner can use (core/files/private_file.h); both may be links
/// or pipes.
Result<boost::asio::ssl::context> make_tls(const TlsFiles& files);

}  // namespace hocket
