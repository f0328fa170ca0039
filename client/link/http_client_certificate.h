#pragma once

// The names for which a certificate is valid, as people read them. Pure; thread-safe.

#include <openssl/x509.h>

#include <string>

namespace hocket {

/// Returns "tuner.example.org, 127.0.0.1" from the certificate's subjectAltName, at most the first
/// few; empty without such names.
std::string certificate_names(const X509* certificate);

}  // namespace hocket
