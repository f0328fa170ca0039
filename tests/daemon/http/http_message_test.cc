#include "daemon/http/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string head_of(const ServiceResponse& response,
                    AfterResponse after = AfterResponse::keep_alive) {
  std::string head = "left over";
  write_head(response, after, "Sat, 21 Nov 2026 15:00:00 GMT", head);
  return head;
}

TEST(Http, AHeadSaysAllThatTheResponseDoes) {
  ServiceResponse response;
  response.status = 405;
  response.allow = "GET, PUT";
  response.retry_after_seconds = 3;
  response.body = std::make_shared<const std::string>("{}");
  EXPECT_EQ(head_of(response, AfterResponse::close),
            "HTTP/1.1 405 Method Not Allowed\r\nDate: Sat, 21 Nov 2026 15:00:00 GMT\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\nAllow: GET, PUT\r\n"
            "Retry-After: 3\r\nConnection: close\r\n\r\n");
  response = ServiceResponse();
  EXPECT_THAT(head_of(response), HasSubstr("Content-Length: 0\r\n"));
  response.status = 204;
  EXPECT_THAT(head_of(response), Not(HasSubstr("Content-Length")));
}

TEST(Http, AValueCannotBeginAFieldOfItsOwn) {
  ServiceResponse response;
  response.etag = "\"a\r\nSet-Cookie: b\"";
  response.fields.emplace_back("Content-Disposition", "a\r\nSet-Cookie: c");
  EXPECT_THAT(head_of(response), Not(HasSubstr("\nSet-Cookie")));
  EXPECT_THAT(head_of(response), HasSubstr("Content-Disposition: aSet-Cookie: c\r\n"));
}

TEST(Http, AnErrorIsJsonWhateverItSays) {
  const ServiceResponse response = error_response(400, "bad \"\xff\" and \n");
  const auto body = nlohmann::json::parse(*response.body);
  EXPECT_EQ(body["error"]["message"], "bad \"\ufffd\" and \n");
}

TEST(Http, EachLineOfAnEventIsAField) {
  EXPECT_EQ(event_text({5, "config", "{}"}), "id: 5\nevent: config\ndata: {}\n\n");
  EXPECT_EQ(event_text({{}, "", "a\nb\r\nc\rd"}), "data: a\ndata: b\ndata: c\ndata: d\n\n");
  EXPECT_EQ(event_text({{}, "", ""}), "data: \n\n");
  EXPECT_EQ(event_text({1, "a\nid: 7", "x"}), "id: 1\nevent: aid: 7\ndata: x\n\n");
}

}  // namespace
}  // namespace hocket
