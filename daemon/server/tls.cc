#include <utility>  // must precede Boost 1.74's awaitable.hpp

#include "daemon/server/tls.h"

namespace hocket {
namespace {

namespace ssl = boost::asio::ssl;

tl::unexpected<Error> unusable(std::string_view what, const std::string& file,
                               const boost::system::error_code& error) {
  return failure(ErrorCode::invalid_argument, "TLS: the " + std::string(what) + " in '" + file +
                                                  "' cannot be used: " + error.message() +
                                                  "; name a readable PEM file that holds it");
}

}  // namespace

Result<ssl::context> make_tls(const TlsFiles& files) {
  ssl::context context(ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  // Releases the buffers of idle connections.
  SSL_CTX_set_mode(context.native_handle(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context.native_handle(), SSL_OP_NO_RENEGOTIATION);
  // Makes an encrypted key an error instead of prompting on the terminal.
  context.set_password_callback([](std::size_t, ssl::context::password_purpose) { return ""; });
  boost::system::error_code error;
  context.use_certificate_chain_file(files.certificate_file, error);
  if (error) return unusable("certificate", files.certificate_file, error);
  context.use_private_key_file(files.key_file, ssl::context::pem, error);
  if (error) return unusable("key", files.key_file, error);
  if (SSL_CTX_check_private_key(context.native_handle()) != 1) {
    return failure(ErrorCode::invalid_argument, "TLS: the key in '" + files.key_file +
                                                    "' does not belong to the certificate "
                                                    "in '" +
                                                    files.certificate_file + "'");
  }
  return context;
}

}  // namespace hocket
