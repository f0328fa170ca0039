#include <utility>  // must precede Boost 1.74's awaitable.hpp

#include "daemon/server/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <filesystem>

#include "core/files/owned_path.h"
#include "tests/daemon/raw_client.h"
#include "tests/daemon/running_server.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
using ::testing::HasSubstr;

/// Writes a key and a self-signed certificate.
TlsFiles make_files(const hocket::TemporaryFolder& folder, const std::string& name) {
  TlsFiles files = {folder.file(name + ".crt"), folder.file(name + ".key")};
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  EXPECT_GT(X509_sign(certificate, key, EVP_sha256()), 0);
  FILE* file = fopen(files.certificate_file.c_str(), "w");
  PEM_write_X509(file, certificate);
  fclose(file);
  file = fopen(files.key_file.c_str(), "w");
  EXPECT_EQ(fchmod(fileno(file), 0600), 0);
  PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  fclose(file);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return files;
}

/// Returns the first message of a client that supports at most TLS 1.1: a record with a ClientHello
/// (RFC 4346, section 7.4.1.2) that offers TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA.
std::string hello_of_tls_1_1() {
  const std::string random(32, 'r');
  const std::string hello = "\x03\x02" + random + std::string("\0\0\x02\xc0\x09\x01\0", 7);
  const char bytes = static_cast<char>(hello.size());
  return std::string("\x16\x03\x01\0", 4) + static_cast<char>(bytes + 4) +
         std::string("\x01\0\0", 3) + bytes + hello;
}

class TlsClient {
 public:
  TlsClient(std::uint16_t port, const std::string& trusted, long most_version = TLS1_3_VERSION)
      : context_(asio::ssl::context::tls_client), stream_(io_, context_) {
    SSL_set_max_proto_version(stream_.native_handle(), most_version);
    context_.load_verify_file(trusted);
    stream_.set_verify_mode(asio::ssl::verify_peer);
    stream_.next_layer().connect({asio::ip::address_v4::loopback(), port});
    stream_.handshake(asio::ssl::stream_base::client, error);
  }

  void close() { stream_.next_layer().close(); }
  void send(const std::string& text) { asio::write(stream_, asio::buffer(text)); }
  std::string read_until(const std::string& end) {
    const auto bytes = asio::read_until(stream_, asio::dynamic_buffer(received_), end, error);
    std::string text = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return text;
  }

  boost::system::error_code error;

 private:
  asio::io_context io_;
  asio::ssl::context context_;
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
  std::string received_;
};

TEST(Tls, CarriesRequestsAndEvents) {
  hocket::TemporaryFolder folder;
  ServerOptions options;
  options.tls = make_files(folder, "a");
  options.address = "0.0.0.0";  // a non-loopback address is allowed with TLS
  RunningServer server(options);
  server.service.later = [&](const ServiceRequest& request, bool) -> ServiceReply {
    if (request.target == "/watch") return EventStream{{{"topic", 0}}, server.service.hold("x")};
    return text_response(request.target + "\n");
  };
  server.start();
  TlsClient client(server.port(), options.tls->certificate_file);
  ASSERT_FALSE(client.error) << client.error.message();
  client.send(
      "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.read_until("/a\n"), HasSubstr("200 OK"));
  EXPECT_THAT(client.read_until("/b\n"), HasSubstr("200 OK"));
  client.send("GET /watch HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("text/event-stream"));
  for (int id = 1; id < 4; ++id) {
    server.feed.publish("topic", FeedEvent{id, "config", std::string(40'000, 'x')});
    EXPECT_THAT(client.read_until("\n\n"), HasSubstr("id: " + std::to_string(id)));
  }
  server.stop();
  EXPECT_EQ(server.service.closed(1).size(), 1u);
}

TEST(Tls, ALongPollIsAnsweredAndEndsWhenTheClientLeaves) {
  hocket::TemporaryFolder folder;
  ServerOptions options;
  options.tls = make_files(folder, "a");
  RunningServer server(options);
  std::atomic<int> polls = 0;
  server.service.later = [&](const ServiceRequest&, bool) -> ServiceReply {
    const auto sequence = server.feed.position("topic").sequence;
    ++polls;
    if (sequence != 1) return AwaitEvent{"topic", sequence, 3'600'000'000'000};
    return text_response("moved\n");
  };
  server.start();
  const std::string poll = "GET /poll HTTP/1.1\r\nHost: localhost\r\n\r\n";
  TlsClient client(server.port(), options.tls->certificate_file);
  client.send(poll);
  while (polls < 1) std::this_thread::yield();
  client.send(poll);
  server.feed.publish("topic", FeedEvent{1, "config", "x"});
  EXPECT_THAT(client.read_until("moved\n"), HasSubstr("200 OK"));
  EXPECT_THAT(client.read_until("moved\n"), HasSubstr("200 OK"));
  server.feed.publish("topic", FeedEvent{2, "config", "x"});
  client.send(poll);
  while (polls < 4) std::this_thread::yield();
  client.close();
  server.until([](const ServerCounts& c) { return c.open_connections == 0; });
  EXPECT_EQ(polls, 4);
}

TEST(Tls, RefusesPlainTextOldVersionsAndSilence) {
  hocket::TemporaryFolder folder;
  ServerOptions options;
  options.tls = make_files(folder, "a");
  options.limits.request_ns = 100'000'000;
  RunningServer server(options);
  RawClient plain(server.port()), old(server.port()), silent(server.port());
  plain.get("/");
  old.send(hello_of_tls_1_1());
  server.start();
  plain.read_until("no such text");                                     // possibly an alert
  const std::string alert_of_version("\x15\x03\x02\0\x02\x02\x46", 7);  // RFC 4346, section 7.2
  EXPECT_EQ(old.read_until("no such text"), alert_of_version);
  EXPECT_TRUE(silent.is_closed());
  server.until([](const ServerCounts& c) { return c.failed_handshakes == 3; });
}

TEST(Tls, TellsAClientWithoutTlsWhatThePortSpeaks) {
  const TemporaryFolder folder;
  ServerOptions options;
  options.tls = make_files(folder, "server");
  RunningServer server(options);
  server.start();
  RawClient client(server.port());
  client.get("/" + std::string(3000, 'x'));
  const RawResponse response = client.read_response();
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(response.body, HasSubstr("https://"));
  EXPECT_TRUE(client.is_closed());
}

TEST(Tls, SaysWhatIsWrongWithItsFiles) {
  hocket::TemporaryFolder folder;
  const TlsFiles good = make_files(folder, "good"), other = make_files(folder, "other");
  const std::string text = folder.write("text", "text");
  std::filesystem::permissions(text, std::filesystem::perms::owner_read);
  const std::pair<TlsFiles, const char*> cases[] = {
      {{folder.file("none"), good.key_file}, "the certificate in"},
      {{folder.file("none"), good.key_file}, "No such file or directory"},
      {{good.certificate_file, folder.file("none")}, "the key in"},
      {{good.certificate_file, folder.file("none")}, "No such file or directory"},
      {{folder.path(), good.key_file}, "folder"},
      {{text, good.key_file}, "it holds none in PEM form"},
      {{good.certificate_file, text}, "it holds none in PEM form"},
      {{good.certificate_file, other.key_file}, "does not belong to the certificate"},
  };
  for (const auto& [files, why] : cases) {
    const auto context = make_tls(files);
    ASSERT_FALSE(context);
    EXPECT_THAT(context.error().message, HasSubstr(why));
  }
}

TEST(Tls, TakesTheOldestVersionThatIsAllowed) {
  hocket::TemporaryFolder folder;
  ServerOptions options;
  options.tls = make_files(folder, "a");
  RunningServer server(options);
  server.start();
  TlsClient client(server.port(), options.tls->certificate_file, TLS1_2_VERSION);
  EXPECT_FALSE(client.error) << client.error.message();
}

TEST(Tls, ThisProgramSaysWhichVersionsNotTheSystem) {
  hocket::TemporaryFolder folder;
  const auto tls = make_tls(make_files(folder, "a"));
  ASSERT_TRUE(tls.has_value());
  SSL_CTX* context = const_cast<asio::ssl::context&>(*tls).native_handle();
  EXPECT_EQ(SSL_CTX_get_min_proto_version(context), TLS1_2_VERSION);
}

TEST(Tls, AnErrorNamesTheFile) {
  hocket::TemporaryFolder folder;
  const TlsFiles a = make_files(folder, "a"), b = make_files(folder, "b");
  EXPECT_TRUE(make_tls(a).has_value());
  const std::string none = folder.file("none"), junk = folder.write("junk", "no PEM\n");
  for (const TlsFiles& files :
       {TlsFiles{none, a.key_file}, TlsFiles{junk, a.key_file}, TlsFiles{a.certificate_file, none},
        TlsFiles{a.certificate_file, junk}, TlsFiles{a.certificate_file, b.key_file}}) {
    const auto refused = make_tls(files);
    ASSERT_FALSE(refused.has_value());
    const bool wrong_key = files.certificate_file == a.certificate_file;
    EXPECT_THAT(refused.error().message,
                HasSubstr("'" + (wrong_key ? files.key_file : files.certificate_file) + "'"));
  }
}

TEST(Tls, AKeyIsItsOwnersAlone) {
  hocket::TemporaryFolder folder;
  const TlsFiles files = make_files(folder, "a");
  for (const mode_t mode : {0640u, 0604u, 0620u, 0644u, 0666u}) {
    ASSERT_EQ(chmod(files.key_file.c_str(), mode), 0);
    const auto refused = make_tls(files);
    ASSERT_FALSE(refused) << mode;
    EXPECT_THAT(refused.error().message, HasSubstr(hocket::mode_text(mode)));
    EXPECT_THAT(refused.error().message, HasSubstr("chmod 600 " + files.key_file));
  }
  for (const mode_t mode : {0400u, 0600u}) {
    ASSERT_EQ(chmod(files.key_file.c_str(), mode), 0);
    EXPECT_TRUE(make_tls(files));
  }
  const TlsFiles linked{files.certificate_file, folder.file("link")};
  ASSERT_EQ(symlink(files.key_file.c_str(), linked.key_file.c_str()), 0);
  EXPECT_TRUE(make_tls(linked)) << "as certbot keeps its keys";
}

}  // namespace
}  // namespace hocket
