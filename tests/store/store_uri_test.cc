#include "store/store_uri.h"

#include <gmock/gmock.h>

#include <array>
#include <random>
#include <string>

#include "tests/rounds.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(StoreUri, IsKnownByItsScheme) {
  EXPECT_TRUE(is_postgres_uri("postgresql://host/db"));
  EXPECT_TRUE(is_postgres_uri("postgres://"));
  for (const char* path :
       {"", "store.db", "/a/postgresql://x", "postgresql", "sqlite://x", "./host=db", "/a/b:c@d",
        "runs/2026-11-28T10:00.db", "a=b.db", "ghost=1.db", "me@host.db"}) {
    EXPECT_FALSE(is_postgres_uri(path)) << path;
    EXPECT_FALSE(is_connection_text(path)) << path;
    EXPECT_EQ(shown_store(path), path);
  }
}

TEST(StoreUri, AConnectionThatIsNoUriIsNeitherTakenForAPathNorShown) {
  for (const char* text : {"host=db password=secret",
                           "password=secret",
                           "dbname=x user=y password='secret'",
                           "user=ada\tPASSWORD = secret",
                           "password= secret",
                           "sslpassword=secret host=x",
                           "postgresql:/ada:secret@db/x",
                           "postgresql:ada:secret@db",
                           "postgres:secret",
                           "POSTGRESQL://ada:secret@db/x",
                           "Postgres://ada:secret@db/x",
                           "postgressql://ada:secret@db",
                           "postgre://ada:secret@db/x",
                           "pgsql://ada:secret@db/x",
                           "psql://ada:secret@db/x",
                           "ada:secret@db/x",
                           "ada:secret@db:5432/x",
                           "mysql://ada:secret@db/x",
                           "jdbc:postgresql://db/x?user=ada&password=secret",
                           "x?host=db&password=secret"}) {
    EXPECT_TRUE(is_connection_text(text)) << text;
    EXPECT_FALSE(is_postgres_uri(text)) << text;
    EXPECT_EQ(shown_store(text), "***") << text;
    const auto checked = check_store_name(text);
    EXPECT_EQ(code_of(checked), ErrorCode::invalid_argument) << text;
    EXPECT_THAT(message_of(checked), Not(HasSubstr("secret"))) << text;
    EXPECT_THAT(message_of(checked), HasSubstr("postgresql://USER@HOST/DATABASE")) << text;
  }
  EXPECT_TRUE(check_store_name("postgresql://ada@db/x?password=y"));
  EXPECT_TRUE(check_store_name("a=b.db"));
  EXPECT_THAT(message_of(check_store_name("sqlite://x")), HasSubstr("named by sqlite://"));
}

TEST(StoreUri, IsShownWithoutItsPasswords) {
  const std::array<std::array<const char*, 2>, 20> cases = {{
      {"postgresql://", "postgresql://"},
      {"postgresql://db/x", "postgresql://db/x"},
      {"postgresql://ada:pw/x", "postgresql://ada:***/x"},
      {"postgresql://a:1,b:2,c/x", "postgresql://a:1,b:2,c/x"},
      {"postgresql://ada:7,8pw", "postgresql://ada:7,8pw"},
      {"postgresql://[::1]:5432,[::2]:pw/x", "postgresql://[::1]:5432,[::2]:***/x"},
      {"postgresql://ada@db/x", "postgresql://ada@db/x"},
      {"postgresql://ada:pw@db/x", "postgresql://ada:***@db/x"},
      {"postgres://ada:@db/x", "postgres://ada:***@db/x"},
      {"postgresql://:pw@", "postgresql://:***@"},
      {"postgresql://ada:p:w@db:5432/x?a=b", "postgresql://ada:***@db:5432/x?a=b"},
      {"postgresql://ada:p?w@db/x", "postgresql://ada:***@db/x"},
      {"postgresql://ada:p/w@db/x", "postgresql://ada:***@db/x"},
      {"postgresql://ada:p@w@db/x", "postgresql://ada:***@db/x"},
      {"postgresql://db/x?user=ada&password=pw&a=b", "postgresql://db/x?user=ada&password=***&a=b"},
      {"postgresql://db/x?password=pw", "postgresql://db/x?password=***"},
      {"postgresql://db/x?sslpassword=pw&passfile=/f",
       "postgresql://db/x?sslpassword=***&passfile=/f"},
      {"postgresql://db/x?p%61ssword=pw", "postgresql://db/x?p%61ssword=***"},
      {"postgresql://db/x?application_name=a@b", "postgresql://db/x?application_name=a@b"},
      {"postgresql://ada:pw@db/x?password=p@w", "postgresql://ada:***@db/x?password=***"},
  }};
  for (const auto& [uri, shown] : cases) EXPECT_EQ(shown_store(uri), shown) << uri;
}

TEST(StoreUri, IsRefusedWhereAPasswordIsNotEncoded) {
  for (const char* uri : {"postgresql://ada:s/cret@db/x", "postgresql://ada:s@cret@db/x"}) {
    const auto checked = check_postgres_uri(uri);
    EXPECT_THAT(message_of(checked), HasSubstr("%2F for /"));
    EXPECT_THAT(message_of(checked), Not(HasSubstr("cret")));
  }
  EXPECT_THAT(message_of(check_postgres_uri("postgresql://ada:cret/x")),
              testing::AllOf(HasSubstr("a password ends with @"), Not(HasSubstr("cret"))));
  for (const char* uri :
       {"postgresql://ada:s%2Fcret@db/x", "postgresql:///x?host=/tmp", "postgres://"}) {
    EXPECT_TRUE(check_postgres_uri(uri)) << uri;
  }
}

/// Neither a password before the host nor one among the parameters is shown, whatever is around it.
TEST(StoreUri, NeverShowsAPassword) {
  std::mt19937 random(1);
  const auto draw = [&](const std::string& characters, std::size_t most) {
    std::string text;
    for (std::size_t i = random() % (most + 1); i > 0; --i) {
      text += characters[random() % characters.size()];
    }
    return text;
  };
  const std::string plain = "abz%2F09-_.~";
  for (int i = 0; i < static_cast<int>(rounds(20'000)); ++i) {
    const std::string secret = "SECRET" + draw(plain + ":?&=#+ ", 6) + "HIDDEN";
    const std::string in_front = draw(plain, 5) + ":" + secret + "@" + draw(plain + ":,[]", 8) +
                                 "/" + draw(plain, 5) + "?" + draw(plain + "=&", 12);
    const std::string behind = draw(plain, 8) + "/" + draw(plain, 5) + "?" + draw(plain + "=", 8) +
                               "&" + draw("asl", 3) + "password=" + "SECRET" +
                               draw(plain + ":?=@/+ ", 6) + "HIDDEN" + "&" + draw(plain + "=&", 8);
    for (const std::string& rest : {in_front, behind}) {
      const std::string uri = "postgresql://" + rest;
      const std::string shown = shown_store(uri);
      ASSERT_EQ(shown.find("SECRET"), std::string::npos) << uri << " is shown as " << shown;
      ASSERT_EQ(shown.find("HIDDEN"), std::string::npos) << uri << " is shown as " << shown;
      ASSERT_TRUE(is_postgres_uri(shown));
      ASSERT_EQ(shown_store(shown), shown);
    }
  }
}

TEST(StoreUri, AnyTextIsShownInOneWay) {
  std::mt19937 random(2);
  for (int i = 0; i < static_cast<int>(rounds(20'000)); ++i) {
    std::string uri = "postgres://";
    for (std::size_t n = random() % 30; n > 0; --n) uri += "ab:/@?&=%\0\xff[]"[random() % 14];
    const std::string shown = shown_store(uri);
    ASSERT_EQ(shown_store(shown), shown) << uri;
    (void)check_postgres_uri(uri);
  }
}

}  // namespace
}  // namespace hocket
