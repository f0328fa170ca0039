// Tests the client over TLS, with certificates made here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <string>

#include "tests/temporary_folder.h"
#include "tests/tuner/client/fake_daemon.h"
#include "tuner/client/link/http_client.h"
#include "tuner/client/link/http_client_certificate.h"

namespace hocket {
namespace {

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

/// A self-signed certificate for `names` ("IP:127.0.0.1"), and its key.
struct Identity {
  Owned<EVP_PKEY> key{EVP_EC_gen("P-256"), EVP_PKEY_free};
  Owned<X509> certificate{X509_new(), X509_free};

  explicit Identity(const char* names) {
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

  void write(const std::string& path) const {
    const Owned<FILE> file(std::fopen(path.c_str(), "w"), [](FILE* f) { std::fclose(f); });
    PEM_write_X509(file.get(), certificate.get());
  }
};

/// Answers one request per connection, as `identity`.
std::function<void(FakeDaemon::Peer&)> serving(const Identity& identity) {
  return [&identity](FakeDaemon::Peer& peer) {
    const Owned<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    SSL_CTX_use_certificate(context.get(), identity.certificate.get());
    SSL_CTX_use_PrivateKey(context.get(), identity.key.get());
    const Owned<SSL> tls(SSL_new(context.get()), SSL_free);
    SSL_set_fd(tls.get(), peer.socket());
    char bytes[4096];
    if (SSL_accept(tls.get()) != 1 || SSL_read(tls.get(), bytes, sizeof bytes) <= 0) return;
    const std::string answer = http_answer(200, "{}");
    SSL_write(tls.get(), answer.data(), static_cast<int>(answer.size()));
    peer.wait_until_gone();
  };
}

Result<HttpResponse> get(const FakeDaemon& daemon, std::string ca_file) {
  DaemonAccess access = daemon.access();
  access.address.tls = true;
  access.ca_file = std::move(ca_file);
  return HttpClient(access).send({}, deadline_after_ns(20'000'000'000));
}

TEST(HttpClientTls, SpeaksToADaemonWhoseCertificateItTrusts) {
  const TemporaryFolder folder;
  const std::string ca_file = folder.file("ca.pem");
  const Identity identity("DNS:tuner,IP:127.0.0.1");
  identity.write(ca_file);
  const FakeDaemon daemon(serving(identity));
  const auto response = get(daemon, ca_file);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "{}");
}

TEST(HttpClientTls, RefusesADaemonThatItDoesNotTrustOrThatHasAnotherName) {
  const TemporaryFolder folder;
  const std::string ca_file = folder.file("ca.pem"), others = folder.file("others.pem");
  const Identity here("IP:127.0.0.1"), elsewhere("DNS:elsewhere,IP:127.0.0.2");
  here.write(others);
  elsewhere.write(ca_file);
  const FakeDaemon right(serving(here)), wrong(serving(elsewhere));
  for (const auto& response : {get(right, ""), get(right, ca_file), get(wrong, ca_file)}) {
    ASSERT_FALSE(response);
    EXPECT_THAT(response.error().message, ::testing::HasSubstr("TLS failed"));
  }
  EXPECT_THAT(get(right, folder.write("empty.pem", "")).error().message,
              ::testing::HasSubstr("HOCKET_CA_FILE: cannot read certificates"));
  EXPECT_THAT(get(right, ca_file).error().message, ::testing::HasSubstr("not trusted: self"));
  EXPECT_THAT(get(wrong, ca_file).error().message,
              ::testing::HasSubstr("TLS failed: its certificate is not for 127.0.0.1: it is for "
                                   "elsewhere, 127.0.0.2; "));
  const FakeDaemon plain([](FakeDaemon::Peer& peer) {
    peer.write(http_answer(200, "{}"));
    peer.wait_until_gone();
  });
  EXPECT_THAT(get(plain, "").error().message, ::testing::HasSubstr("TLS failed"));
}

TEST(HttpClientTls, ACertificateWithoutNamesSaysSo) {
  const TemporaryFolder folder;
  const std::string ca_file = folder.file("ca.pem");
  const Identity nobody("email:root@example.org");
  nobody.write(ca_file);
  const FakeDaemon daemon(serving(nobody));
  EXPECT_THAT(get(daemon, ca_file).error().message,
              ::testing::HasSubstr("is not for 127.0.0.1: it has no name of a host"));
}

TEST(HttpClientTls, FewNamesOfACertificateAreShown) {
  std::string names = "DNS:a,IP:::1";
  for (int i = 0; i < 20; ++i) names += ",DNS:n" + std::to_string(i);
  const Identity many(names.c_str());
  const std::string text = certificate_names(many.certificate.get());
  EXPECT_TRUE(text.ends_with("n7, …")) << text;
  EXPECT_THAT(text, ::testing::HasSubstr(", ::1, "));
}

}  // namespace
}  // namespace hocket
