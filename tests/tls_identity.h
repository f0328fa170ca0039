#pragma once

// A self-signed certificate and its key, for TLS servers in tests. One thread.

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace hocket {

struct TlsIdentity {
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key{EVP_EC_gen("P-256"), EVP_PKEY_free};
  std::unique_ptr<X509, void (*)(X509*)> certificate{X509_new(), X509_free};

  /// The certificate is for `names`, such as "DNS:tuner,IP:127.0.0.1", and for an hour.
  explicit TlsIdentity(const char* names) {
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_set_pubkey(certificate.get(), key.get());
    X509_NAME* const name = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(certificate.get(), name);
    for (const auto& [kind, text] : {std::pair{NID_subject_alt_name, names},
                                     std::pair{NID_basic_constraints, "critical,CA:TRUE"}}) {
      X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, text);
      X509_add_ext(certificate.get(), extension, -1);
      X509_EXTENSION_free(extension);
    }
    X509_sign(certificate.get(), key.get(), EVP_sha256());
  }

  /// Return the content of a PEM file.
  std::string certificate_text() const {
    return text([&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); });
  }
  std::string key_text() const {
    return text([&](BIO* out) {
      return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }

 private:
  static std::string text(const std::function<int(BIO*)>& write) {
    const std::unique_ptr<BIO, int (*)(BIO*)> out(BIO_new(BIO_s_mem()), BIO_free);
    HOCKET_CHECK(write(out.get()) == 1, "OpenSSL writes what it has made");
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out.get(), &bytes);
    return {bytes, static_cast<std::size_t>(size)};
  }
};

}  // namespace hocket
