// Tests the connection to a server on a port: TLS with the server's certificate, passwords, and
// what a user is told when one of them is wrong.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <thread>

#include "store/config_source.h"
#include "store/open.h"
#include "tests/scoped_environment.h"
#include "tests/store/fixtures.h"
#include "tests/store/postgres/heard_changes.h"
#include "tests/store/postgres/server.h"
#include "tests/temporary_folder.h"
#include "tests/tls_identity.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// No message may contain the middle of the password, which no encoding changes.
constexpr const char* kSecret = "GEHEIM";
constexpr const char* kPassword = "a@GEHEIM/b:100%";
constexpr const char* kPasswordInUri = "a%40GEHEIM%2Fb%3A100%25";
constexpr const char* kPasswordInFile = "a@GEHEIM/b\\:100%";

const TlsIdentity& server_identity() {
  static const TlsIdentity identity("DNS:db.example");
  return identity;
}

/// A server as on another host: it has a port, a certificate for "db.example", and a user with a
/// password.
PostgresServer& remote_server() {
  static PostgresServer server({.is_durable = true,
                                .certificate = server_identity().certificate_text(),
                                .key = server_identity().key_text()});
  [[maybe_unused]] static const std::string user =
      server.sql("public", std::string("CREATE ROLE ") + PostgresServer::kSecuredUser +
                               " LOGIN PASSWORD '" + kPassword + "'");
  return server;
}

class PostgresConnection : public testing::Test {
 protected:
  PostgresConnection() {
    server_.sql(schema_, "GRANT ALL ON SCHEMA " + schema_ + " TO " + PostgresServer::kSecuredUser);
  }

  /// Returns the URI of the store, with `password` in it unless that is empty.
  std::string uri(const std::string& parameters, const std::string& password = "",
                  const std::string& host = "db.example") const {
    const std::string secret = password.empty() ? "" : ":" + password;
    return "postgresql://" + std::string(PostgresServer::kSecuredUser) + secret + "@" + host + ":" +
           std::to_string(server_.port()) +
           "/postgres?hostaddr=127.0.0.1&options=-csearch_path%3D" + schema_ + parameters;
  }
  std::string verified(const std::string& root) const {
    return "&sslmode=verify-full&sslrootcert=" + root;
  }

  /// Writes a file for PGPASSFILE.
  std::string password_file(const std::string& name, const std::string& password,
                            mode_t mode = 0600) const {
    std::string path = folder_.write(name, "db.example:" + std::to_string(server_.port()) +
                                               ":postgres:secured:" + password + "\n");
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  /// Returns why a store cannot be opened, in words that have no password.
  std::string refusal(const std::string& uri) const {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto writer = open_store(uri);
    const auto reader = open_store(uri, {.read_only = true});
    const auto source = open_config_source(uri);
    const auto found = source->find(sample_topology(), sample_workload(), 60'000'000'000);
    const std::string printed =
        testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
    EXPECT_EQ(code_of(writer), ErrorCode::unavailable);
    EXPECT_EQ(message_of(writer), message_of(reader));
    for (const std::string& text : {message_of(writer), message_of(found), printed}) {
      EXPECT_THAT(text, Not(HasSubstr(kSecret)));
    }
    EXPECT_THAT(message_of(found), HasSubstr("cannot be reached"));
    EXPECT_THAT(server_.log(), Not(HasSubstr(kSecret)));
    return message_of(writer);
  }

  /// Returns whether the connections of the user are encrypted, "t" or "f"; both if that differs.
  std::string encryption() const {
    return server_.sql(schema_,
                       "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
                       "WHERE usename = 'secured' ORDER BY ssl");
  }

  PostgresServer& server_ = remote_server();
  const std::string local_ = server_.new_schema();
  const std::string schema_ = local_.substr(local_.rfind("%3D") + 3);
  const TemporaryFolder folder_;
  const ScopedEnvironment home_{"HOME", folder_.path().c_str()};
  const ScopedEnvironment no_file_{"PGPASSFILE", nullptr};
  const std::string root_ = folder_.write("root.crt", server_identity().certificate_text());
};

TEST_F(PostgresConnection, AServerWithTheRightCertificateIsReadAndWrittenOverTls) {
  const auto store = must(open_store(uri(verified(root_), kPasswordInUri)));
  must(store->create_study(sample_study("a")));
  EXPECT_EQ(encryption(), "t\n");
  EXPECT_EQ(must(store->studies()).size(), 1u);
  EXPECT_EQ(must(must(open_store(local_))->study("a")).name, "a") << "it is in the database";
}

TEST_F(PostgresConnection, TlsIsUsedUnasked) {
  const auto store = must(open_store(uri("", kPasswordInUri)));
  EXPECT_EQ(encryption(), "t\n");
}

TEST_F(PostgresConnection, AServerWithAnotherRootOrNameIsRefused) {
  const TlsIdentity other("DNS:db.example");
  const std::string other_root = folder_.write("other.crt", other.certificate_text());
  EXPECT_THAT(refusal(uri(verified(other_root), kPasswordInUri)),
              AllOf(HasSubstr("secured:***@db.example"), HasSubstr("certificate verify failed")));
  EXPECT_THAT(refusal(uri(verified(root_), kPasswordInUri, "other.example")),
              HasSubstr("certificate for \"db.example\" does not match host name "
                        "\"other.example\""));
  EXPECT_THAT(refusal(uri(verified("/nowhere.crt"), kPasswordInUri)),
              HasSubstr("root certificate file \"/nowhere.crt\" does not exist"));
  EXPECT_TRUE(open_store(uri(verified(root_), kPasswordInUri))) << "all else was right";
}

TEST_F(PostgresConnection, AServerThatWantsTlsSaysSoToThoseWithout) {
  EXPECT_THAT(refusal(uri("&sslmode=disable", kPasswordInUri)),
              AllOf(HasSubstr("user \"secured\""), HasSubstr("no encryption")));
}

TEST_F(PostgresConnection, AServerWithoutTlsIsRefusedWhereItIsRequired) {
  server_.sql(schema_, "ALTER SYSTEM SET ssl = off");
  server_.stop();
  server_.start();
  const std::string message = refusal(uri(verified(root_), kPasswordInUri));
  server_.sql(schema_, "ALTER SYSTEM RESET ssl");
  server_.stop();
  server_.start();
  EXPECT_THAT(message, HasSubstr("server does not support SSL, but SSL was required"));
}

TEST_F(PostgresConnection, ThePasswordComesFromAFileOrTheUri) {
  const std::string file = password_file("passwords", kPasswordInFile);
  const std::string parameters = verified(root_);
  EXPECT_TRUE(open_store(uri(parameters + "&passfile=" + file)));
  EXPECT_TRUE(open_store(uri(parameters, kPasswordInUri)));
  EXPECT_TRUE(open_store(uri(parameters + "&password=" + kPasswordInUri)));
  EXPECT_FALSE(open_store(uri(parameters)));
  const ScopedEnvironment variable("PGPASSFILE", file.c_str());
  EXPECT_TRUE(open_store(uri(parameters)));
}

TEST_F(PostgresConnection, RootAndPasswordAreFoundInTheHomeFolder) {
  std::filesystem::create_directory(folder_.path() / ".postgresql");
  const std::string uri = this->uri("&sslmode=verify-full");
  folder_.write(".postgresql/root.crt", server_identity().certificate_text());
  EXPECT_THAT(refusal(uri), HasSubstr("no password supplied"));
  password_file(".pgpass", kPasswordInFile);
  EXPECT_TRUE(open_store(uri));
}

TEST_F(PostgresConnection, AWrongPasswordIsToldWithWhereItCameFrom) {
  const std::string parameters = verified(root_);
  const std::string file = password_file("wrong", "GEHEIMNIS");
  const auto rejected = HasSubstr("password authentication failed for user \"secured\"");
  EXPECT_THAT(refusal(uri(parameters + "&passfile=" + file)),
              AllOf(rejected, HasSubstr("password retrieved from file \"" + file + "\"")));
  EXPECT_THAT(refusal(uri(parameters, "GEHEIMNIS")), rejected);
  EXPECT_THAT(refusal(uri(parameters + "&password=GEHEIMNIS")), rejected);
  EXPECT_THAT(refusal(uri(parameters)), HasSubstr("no password supplied"));
  const std::string readable = password_file("readable", kPasswordInFile, 0644);
  EXPECT_THAT(refusal(uri(parameters + "&passfile=" + readable)), HasSubstr("no password supplied"))
      << "a file that others may read is not used";
}

TEST_F(PostgresConnection, ChangesAndClaimsComeOverTls) {
  const std::string uri = this->uri(verified(root_), kPasswordInUri);
  const auto store = must(open_store(uri)), other = must(open_store(uri));
  must(store->upsert_topology(sample_topology()));
  must(store->upsert_workload(sample_workload()));
  HeardChanges heard;
  const auto listener = must(store->listen(heard.callback()));
  const ConfigKey key{fingerprint(sample_topology()), fingerprint(sample_workload())};
  std::vector<std::optional<KeyChange>> expected;
  for (int i = 0; i < 20; ++i) {
    const auto id =
        must(other->promote({.topology_id = 1, .workload_id = 1, .origin = PromotionOrigin::push}))
            .id;
    expected.emplace_back(KeyChange{key, id, PromotionStage::released});
  }
  EXPECT_EQ(heard.first(expected.size()), expected);
  auto claim = must(store->claim_key(1, 1));
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim->is_held());
  EXPECT_FALSE(must(other->claim_key(1, 1))) << "one has it";
  claim.reset();
  EXPECT_TRUE(must(other->claim_key(1, 1)));
  EXPECT_EQ(encryption(), "t\n");
}

TEST_F(PostgresConnection, AServerThatGoesAwayIsNoticedAndConnectedToAgain) {
  const auto store = must(open_store(uri(verified(root_), kPasswordInUri)));
  must(store->upsert_topology(sample_topology()));
  must(store->upsert_workload(sample_workload()));
  HeardChanges heard;
  const auto listener = must(store->listen(heard.callback()));
  const auto claim = must(store->claim_key(1, 1));
  server_.stop();
  EXPECT_FALSE(claim->is_held());
  const auto away = store->create_study(sample_study("a"));
  EXPECT_EQ(code_of(away), ErrorCode::unavailable);
  EXPECT_THAT(message_of(away), AllOf(HasSubstr("cannot be reached"), Not(HasSubstr(kSecret))));
  server_.start();
  must(store->create_study(sample_study("b")));
  server_.kill();
  server_.start();
  EXPECT_EQ(must(store->studies()).size(), 1u);
  EXPECT_FALSE(claim->is_held());
  EXPECT_TRUE(must(store->claim_key(1, 1)));
  EXPECT_THAT(heard.first(1), ElementsAre(std::nullopt)) << "it may have missed something";
  EXPECT_EQ(encryption(), "t\n");
}

}  // namespace
}  // namespace hocket
