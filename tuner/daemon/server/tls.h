#pragma once

// The server's side of TLS. Pure but for reading the files.

#include <boost/asio/ssl/context.hpp>

#include "core/base/result.h"
#include "tuner/daemon/server/server.h"

namespace hocket {

/// TLS 1.2 or later with the certificate and its key. Errors name the file.
Result<boost::asio::ssl::context> make_tls(const TlsFiles& files);

}  // namespace hocket
