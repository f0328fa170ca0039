// Messages between workers and a daemon; what is read is written and read again alike.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "archive/workers/trial_messages.h"
#include "core/base/check.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"

namespace {

nlohmann::json again(const nlohmann::json& document) {
  const auto read = hocket::parse_object(hocket::message_text(document), "message");
  HOCKET_CHECK(read, "a message is no JSON");
  return *read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  HOCKET_CHECK(hocket::text_bytes(hocket::bytes_text(text)) == std::string(text),
               "bytes are not what they were");
  const auto said = hocket::parse_object(text, "message");
  if (!said) return 0;
  (void)hocket::study_from_json(*said);
  (void)hocket::read_json(*said, hocket::read_worker_claim);
  if (const auto answer = hocket::claim_answer_from_json(*said)) {
    const auto document = hocket::to_json(*answer);
    const auto read = hocket::claim_answer_from_json(again(document));
    HOCKET_CHECK(read && hocket::to_json(*read) == document, "an answer changed");
  }
  if (const auto end = hocket::read_json(*said, hocket::read_ended_trial)) {
    const auto document = hocket::ended_trial_json(*end);
    const auto read = hocket::read_json(again(document), hocket::read_ended_trial);
    HOCKET_CHECK(read && hocket::ended_trial_json(*read) == document, "an end changed");
  }
  return 0;
}
