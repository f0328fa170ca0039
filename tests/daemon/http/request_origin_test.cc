#include "daemon/http/request_origin.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/mutate.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

const HostNames kNames = *HostNames::parse({"Tuner.example.org", "10.1.2.3", "[fd00::5]"});

ServedAs served_at(const char* address, bool tls = false) {
  return {.address = *parse_ip(address), .port = 7077, .tls = tls};
}

/// Returns the status of the refusal; 0 if the request is passed on.
int refused(const RequestHead& head, const ServedAs& served = served_at("127.0.0.1")) {
  const auto response = refuse_origin(head, served, kNames);
  return response ? response->status : 0;
}

std::string host_and_port(const std::string& host, int port) {
  const std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == 0 ? text : text + ":" + std::to_string(port);
}

TEST(RequestOrigin, AnswersToTheAddressAndToTheGivenNames) {
  struct Case {
    const char* arrived;
    std::vector<std::string> own, foreign;
  };
  const std::vector<std::string> given = {"tuner.example.org", "TUNER.EXAMPLE.ORG", "10.1.2.3",
                                          "fd00::5", "fd00:0::5"};
  const std::vector<std::string> loopback = {"localhost", "LocalHost", "127.0.0.1",
                                             "127.8.8.8", "::1",       "0:0:0:0:0:0:0:1"};
  const std::vector<std::string> never = {"evil.example",        "localhost.evil.example",
                                          "localhost.",          "127.0.0.1.evil.example",
                                          "example.org",         "0.0.0.0",
                                          "a.tuner.example.org", "10.1.2.4",
                                          "2130706433"};
  const Case cases[] = {{"127.0.0.1", loopback, {"192.168.0.7", "fe80::7"}},
                        {"::1", loopback, {"192.168.0.7"}},
                        {"192.168.0.7", {"192.168.0.7", "::ffff:192.168.0.7"}, loopback},
                        {"fe80::7", {"fe80::7", "fe80::7%eth0", "FE80:0::7"}, loopback}};
  for (const auto& [arrived, own, foreign] : cases) {
    SCOPED_TRACE(arrived);
    const ServedAs served = served_at(arrived);
    for (const int port : {0, 80, 7077, 65'535}) {
      for (const auto* hosts : {&own, &given}) {
        for (const auto& host : *hosts) {
          EXPECT_EQ(refused({.host = host_and_port(host, port)}, served), 0) << host;
        }
      }
      for (const auto* hosts : {&foreign, &never}) {
        for (const auto& host : *hosts) {
          EXPECT_EQ(refused({.host = host_and_port(host, port)}, served), 421) << host;
        }
      }
    }
  }
  for (const char* broken : {"", ":7077", "localhost:", "localhost:x", "localhost:70777", "[::1",
                             "::1", "[localhost", "localhost,evil.example", "evil@localhost",
                             "localhost/", "localhost:80:80", " localhost", "[::1]x"}) {
    EXPECT_EQ(refused({.host = broken}), 421) << broken;
  }
}

TEST(RequestOrigin, RefusesPagesOfOtherOrigins) {
  const std::pair<const char*, const char*> own[] = {
      {"127.0.0.1:7077", "http://127.0.0.1:7077"},
      {"127.0.0.1:7077", "http://localhost:7077"},
      {"localhost", "http://localhost:7077"},
      {"localhost:9000", "http://localhost:9000"},  // a forwarded port
      {"[::1]:7077", "http://[::1]:7077"},
      {"tuner.example.org", "https://tuner.example.org"},  // a proxy with TLS
      {"tuner.example.org", "http://tuner.example.org"}};
  for (const auto& [host, origin] : own) {
    EXPECT_EQ(refused({.host = host, .origin = origin}), 0) << host << " " << origin;
  }
  const char* foreign[] = {"http://evil.example",
                           "http://evil.example:7077",
                           "http://127.0.0.1:3000",
                           "http://localhost",
                           "https://localhost",
                           "null",
                           "file://",
                           "127.0.0.1:7077",
                           "http://127.0.0.1:7077.evil.example",
                           "http://127.0.0.1:7077@evil.example",
                           "http://127.0.0.1:7077/",
                           "http://127.0.0.1:7077, http://evil.example",
                           "chrome-extension://abc"};
  for (const char* origin : foreign) {
    EXPECT_EQ(refused({.host = "127.0.0.1:7077", .origin = origin}), 403) << origin;
  }
  EXPECT_EQ(refused({.host = "localhost:7077", .origin = "http://localhost:7077"},
                    served_at("127.0.0.1", /*tls=*/true)),
            403)
      << "over TLS, a page in plain text is of another origin";
  EXPECT_EQ(refused({.host = "localhost:7077", .origin = "https://localhost:7077"},
                    served_at("127.0.0.1", /*tls=*/true)),
            0);
}

TEST(RequestOrigin, RefusesWhatTheBrowserSaysComesFromElsewhere) {
  for (const char* site : {"same-origin", "none", ""}) {
    EXPECT_EQ(refused({.host = "localhost", .fetch_site = site}), 0) << site;
  }
  for (const char* site : {"cross-site", "same-site", "Same-Origin", "none, cross-site", "x"}) {
    EXPECT_EQ(refused({.host = "localhost", .fetch_site = site}), 403) << site;
  }
}

TEST(RequestOrigin, TakesNothingButJsonAndPlainBytes) {
  const auto with = [](const char* type, bool has_body) {
    return refused({.host = "localhost", .content_type = type, .has_body = has_body});
  };
  for (const char* type :
       {"application/json", "Application/JSON", "application/json; charset=utf-8",
        "application/json ;charset=utf-8", "application/octet-stream"}) {
    EXPECT_EQ(with(type, true), 0) << type;
    EXPECT_EQ(with(type, false), 0) << type;
  }
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                           "text/plain; application/json", "application/jsonx", "json",
                           "text/plain, application/json"}) {
    EXPECT_EQ(with(type, true), 415) << type;
    EXPECT_EQ(with(type, false), 415) << type << ": a form without fields";
  }
  EXPECT_EQ(with("", true), 415);
  EXPECT_EQ(with("", false), 0);
}

// A browser's request for a page is refused, whatever the page is called.
TEST(RequestOrigin, NoDamagedHostOrOriginIsAnothersOwn) {
  std::mt19937_64 random(7);
  for (std::uint64_t i = 0; i < rounds(20'000); ++i) {
    const std::string host = mutate("127.0.0.1:7077", random);
    const std::string origin = mutate("http://localhost:7077", random);
    SCOPED_TRACE("seed 7, round " + std::to_string(i) + ": " + host + " " + origin);
    if (refused({.host = host}) == 0) {
      // The rest names loopback.
      const std::string name = host.substr(0, host.find(':'));
      ASSERT_TRUE(is_loopback_host(name) || kNames.contains(name));
    }
    if (refused({.host = "127.0.0.1:7077", .origin = origin}) == 0 && !origin.empty()) {
      ASSERT_TRUE(origin.starts_with("http"));
      ASSERT_TRUE(origin.ends_with(":7077")) << origin;
    }
  }
}

TEST(HostNames, AreNamesAndAddressesWithoutPorts) {
  for (const char* wrong : {"", "a:1", "http://a", "a b", "*", "[::1", "a/b", "ä"}) {
    const auto names = HostNames::parse({wrong});
    ASSERT_FALSE(names) << wrong;
    EXPECT_NE(names.error().message.find("without a port"), std::string::npos);
  }
  EXPECT_FALSE(HostNames::parse({std::string(254, 'a')}));
}

TEST(RequestOrigin, ALinkOnAnotherSiteMayOpenThePage) {
  RequestHead head{.host = "127.0.0.1:7077", .fetch_site = "cross-site"};
  EXPECT_EQ(refused(head), 403);
  head.opens_page = true;
  EXPECT_EQ(refused(head), 0);
  // A request that a page of another origin sends by itself names that origin.
  head.origin = "http://evil.example";
  EXPECT_EQ(refused(head), 403);
  head.origin = {};
  head.host = "evil.example";
  EXPECT_EQ(refused(head), 421);
}

}  // namespace
}  // namespace hocket
