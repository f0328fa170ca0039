#include <utility>  // must precede Boost 1.74's awaitable.hpp

#include <filesystem>
#include <functional>
#include <system_error>

#include "core/base/json.h"
#include "core/files/private_file.h"
#include "daemon/server/tls.h"

#include <openssl/err.h>
#include <openssl/pemerr.h>
#include <openssl/x509err.h>

namespace hocket {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;

constexpr std::int64_t kMostPemBytes = 1 << 20;

/// Returns why OpenSSL could not use a readable file.
std::string reason_of(const boost::system::error_code& error) {
  switch (ERR_GET_REASON(static_cast<unsigned long>(error.value()))) {
    case PEM_R_NO_START_LINE:
    case ERR_R_PEM_LIB:
    case ERR_R_UNSUPPORTED:
      return "it holds none in PEM form, which begins with -----BEGIN";
    case PEM_R_BAD_PASSWORD_READ:
    case PEM_R_BAD_DECRYPT:
      return "it is encrypted; `openssl pkey -in FILE -out PLAIN` decrypts it";
    default:
      return error.message();
  }
}

tl::unexpected<Error> unusable(std::string_view what, const std::string& file,
                               const std::string& reason) {
  return failure(ErrorCode::invalid_argument, "TLS: the " + std::string(what) + " in '" + file +
                                                  "' cannot be used: " + reason +
                                                  "; name a readable PEM file that holds it");
}

tl::unexpected<Error> no_pair(const TlsFiles& files) {
  return failure(ErrorCode::invalid_argument, "TLS: the key in '" + files.key_file +
                                                  "' does not belong to the certificate in '" +
                                                  files.certificate_file +
                                                  "'; give the two that were made together");
}

bool is_mismatch(const boost::system::error_code& error) {
  const int reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
  return reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH;
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
  if (error) return unusable("certificate", files.certificate_file, reason_of(error));
  auto key = read_pem(files.key_file, [&] {
    return read_private_file(files.key_file, kMostPemBytes, Links::followed);
  });
  if (!key) return unusable("key", files.key_file, key.error().message);
  context.use_private_key(asio::buffer(*key), ssl::context::pem, error);
  OPENSSL_cleanse(key->data(), key->size());
  if (error && is_mismatch(error)) return no_pair(files);
  if (error) return unusable("key", files.key_file, reason_of(error));
  if (SSL_CTX_check_private_key(context.native_handle()) != 1) return no_pair(files);
  return context;
}

}  // namespace hocket
