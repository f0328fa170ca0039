// Tests the client over TLS, with certificates made here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <memory>
#include <string>

#include "client/link/http_client.h"
#include "client/link/http_client_certificate.h"
#include "tests/client/fake_daemon.h"
#include "tests/temporary_folder.h"
#include "tests/tls_identity.h"

namespace hocket {
namespace {

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

/// Answers one request per connection, as `identity`.
std::function<void(FakeDaemon::Peer&)> serving(const TlsIdentity& identity) {
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
  const TlsIdentity identity("DNS:tuner,IP:127.0.0.1");
  const std::string ca_file = folder.write("ca.pem", identity.certificate_text());
  const FakeDaemon daemon(serving(identity));
  const auto response = get(daemon, ca_file);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "{}");
}

TEST(HttpClientTls, RefusesADaemonThatItDoesNotTrustOrThatHasAnotherName) {
  const TemporaryFolder folder;
  const TlsIdentity here("IP:127.0.0.1"), elsewhere("DNS:elsewhere,IP:127.0.0.2");
  const std::string ca_file = folder.write("ca.pem", elsewhere.certificate_text());
  const FakeDaemon right(serving(here)), wrong(serving(elsewhere));
  for (const auto& response : {get(right, ""), get(right, ca_file), get(wrong, ca_file)}) {
    ASSERT_FALSE(response);
    EXPECT_THAT(response.error().message, ::testing::HasSubstr("TLS failed"));
  }
  EXPECT_THAT(get(right, folder.write("empty.pem", "")).error().message,
              ::testing::HasSubstr("empty.pem has no certificate that can be read: no start line"));
  EXPECT_THAT(get(right, folder.file("none.pem")).error().message,
              ::testing::AllOf(::testing::HasSubstr("HOCKET_CA_FILE: "),
                               ::testing::HasSubstr("none.pem: No such file")));
  const std::string pipe = folder.file("pipe.pem");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(get(right, pipe).error().message, ::testing::HasSubstr("it is a named pipe"));
  EXPECT_THAT(get(right, ca_file).error().message, ::testing::HasSubstr("not trusted: self"));
  EXPECT_THAT(get(wrong, ca_file).error().message,
              ::testing::HasSubstr("TLS failed: its certificate is not for 127.0.0.1: it is for "
                                   "elsewhere, 127.0.0.2; "));
  const FakeDaemon plain([](FakeDaemon::Peer& peer) {
    peer.write(http_answer(200, "{}"));
    peer.wait_until_gone();
  });
  EXPECT_THAT(get(plain, "").error().message,
              ::testing::AllOf(::testing::HasSubstr("TLS failed"),
                               ::testing::HasSubstr("http:// in place of https://")));
}

TEST(HttpClientTls, ARequestWithoutTlsHintsAtIt) {
  const FakeDaemon silent([](FakeDaemon::Peer& peer) { (void)peer.read(); });
  const FakeDaemon alert([](FakeDaemon::Peer& peer) {
    (void)peer.read();
    peer.write(std::string("\x15\x03\x01\0\x02\x02\x46", 7));
  });
  for (const FakeDaemon* each : {&silent, &alert}) {
    const auto response = HttpClient(each->access()).send({}, deadline_after_ns(20'000'000'000));
    ASSERT_FALSE(response);
    EXPECT_THAT(response.error().message, ::testing::HasSubstr("https:// in place of http://"));
  }
}

TEST(HttpClientTls, ACertificateWithoutNamesSaysSo) {
  const TemporaryFolder folder;
  const TlsIdentity nobody("email:root@example.org");
  const std::string ca_file = folder.write("ca.pem", nobody.certificate_text());
  const FakeDaemon daemon(serving(nobody));
  EXPECT_THAT(get(daemon, ca_file).error().message,
              ::testing::HasSubstr("is not for 127.0.0.1: it has no name of a host"));
}

TEST(HttpClientTls, FewNamesOfACertificateAreShown) {
  std::string names = "DNS:a,IP:::1";
  for (int i = 0; i < 20; ++i) names += ",DNS:n" + std::to_string(i);
  const TlsIdentity many(names.c_str());
  const std::string text = certificate_names(many.certificate.get());
  EXPECT_TRUE(text.ends_with("n7, …")) << text;
  EXPECT_THAT(text, ::testing::HasSubstr(", ::1, "));
}

}  // namespace
}  // namespace hocket
