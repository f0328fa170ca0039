#include "core/sharing/signature.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <memory>

#include "core/base/check.h"
#include "core/sharing/sha256.h"

namespace hocket {
namespace {

constexpr std::size_t kSignatureBytes = kSignatureDigits / 2;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Memory = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Digest = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

Memory memory_of(std::string_view text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

/// Has no passphrase, so that OpenSSL asks nobody on the terminal.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

Result<Key> ed25519(EVP_PKEY* read, std::string_view kind, std::string_view remedy) {
  Key key(read, EVP_PKEY_free);
  if (key && EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_ED25519) return key;
  ERR_clear_error();  // connections of this thread would take it for theirs
  return invalid("it is no " + std::string(kind) + " Ed25519 key in PEM; " + std::string(remedy));
}

std::string key_id(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int bytes = i2d_PUBKEY(key, &der);
  HOCKET_CHECK(bytes > 0, "OpenSSL writes a key that it has read");
  std::string id =
      sha256_hex({reinterpret_cast<const char*>(der), static_cast<std::size_t>(bytes)});
  OPENSSL_free(der);
  return id;
}

/// Returns the value of a hexadecimal digit in lower case.
int digit_value(char digit) {
  return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

Result<std::array<unsigned char, kSignatureBytes>> bytes_of(std::string_view digits) {
  if (digits.size() != kSignatureDigits ||
      digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return invalid("the signature is not " + std::to_string(kSignatureDigits) +
                   " hexadecimal digits");
  }
  std::array<unsigned char, kSignatureBytes> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(16 * digit_value(digits[2 * i]) +
                                          digit_value(digits[2 * i + 1]));
  }
  return bytes;
}

}  // namespace

Result<Signature> sign(std::string_view text, std::string_view private_key) {
  const Memory memory = memory_of(private_key);
  const auto key =
      ed25519(PEM_read_bio_PrivateKey(memory.get(), nullptr, no_passphrase, nullptr),
              "private, unencrypted", "make one: openssl genpkey -algorithm ed25519 -out KEY.pem");
  HOCKET_TRY(key);
  const Digest digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string value(kSignatureBytes, '\0');
  std::size_t bytes = value.size();
  const bool is_signed =
      EVP_DigestSignInit(digest.get(), nullptr, nullptr, nullptr, key->get()) == 1 &&
      EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(value.data()), &bytes,
                     reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  HOCKET_CHECK(is_signed && bytes == kSignatureBytes, "OpenSSL signs with a key that it has read");
  return Signature{key_id(key->get()), hex_text(value)};
}

Result<void> verify(std::string_view text, const Signature& signature,
                    std::string_view public_key) {
  const Memory memory = memory_of(public_key);
  const auto key = ed25519(PEM_read_bio_PUBKEY(memory.get(), nullptr, no_passphrase, nullptr),
                           "public", "openssl pkey -in KEY.pem -pubout -out PUB.pem writes it");
  HOCKET_TRY(key);
  const auto bytes = bytes_of(signature.value);
  HOCKET_TRY(bytes);
  if (const std::string id = key_id(key->get()); id != signature.key) {
    return invalid("the signature is by another key, " + signature.key.substr(0, 12) +
                   "…, in place of " + id.substr(0, 12) + "…");
  }
  const Digest digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const bool is_valid =
      EVP_DigestVerifyInit(digest.get(), nullptr, nullptr, nullptr, key->get()) == 1 &&
      EVP_DigestVerify(digest.get(), bytes->data(), bytes->size(),
                       reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  if (is_valid) return {};
  ERR_clear_error();
  return invalid("the signature is wrong: what is signed was altered");
}

}  // namespace hocket
