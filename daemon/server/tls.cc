#include <utility>  // must precede Boost 1.74's awaitable.hpp

#include <filesystem>
#include <functional>
#include <system_error>

#include "core/base/json.h"
#include "core/files/private_file.h"
#include "daemon/server/tls.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;

constexpr std::int64_t kMostPemBytes = 1 << 20;

tl::unexpected<Error> unusable(std::string_view what, const std::string& file,
                               const std::string& reason) {
  return failure(ErrorCode::invalid_argument, "TLS: the " + std::string(what) + " in '" + file +
                                                  "' cannot be used: " + reason +
                                                  "; name a readable PEM file that holds it");
}

/// Reads what a shell gives as `<(…)`, or a file, for which `read` is called.
Result<std::string> read_pem(const std::string& path,
                             const std::function<Result<std::string>()>& read) {
  std::error_code error;
  return std::filesystem::is_fifo(path, error) ? read_file(path, kMostPemBytes) : read();
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
  const auto certificate = read_pem(files.certificate_file, [&] {
    return read_regular_file(files.certificate_file, kMostPemBytes);
  });
  if (!certificate)
    return unusable("certificate", files.certificate_file, certificate.error().message);
  context.use_certificate_chain(asio::buffer(*certificate), error);
  if (error) return unusable("certificate", files.certificate_file, error.message());
  auto key = read_pem(files.key_file, [&] {
    return read_private_file(files.key_file, kMostPemBytes, Links::followed);
  });
  if (!key) return unusable("key", files.key_file, key.error().message);
  context.use_private_key(asio::buffer(*key), ssl::context::pem, error);
  OPENSSL_cleanse(key->data(), key->size());
  if (error) return unusable("key", files.key_file, error.message());
  if (SSL_CTX_check_private_key(context.native_handle()) != 1) {
    return failure(ErrorCode::invalid_argument, "TLS: the key in '" + files.key_file +
                                                    "' does not belong to the certificate "
                                                    "in '" +
                                                    files.certificate_file + "'");
  }
  return context;
}

}  // namespace hocket
