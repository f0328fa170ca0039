// The page itself, and what it asks before anything else.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/step/knob.h"
#include "core/step/schedule_config.h"
#include "daemon/api/changes.h"
#include "daemon/api/handlers/call.h"
#include "web/assets.h"

namespace hocket {
namespace {

// No inline code, no other host, no form, no frame around it. `trusted-types` leaves one way to
// make elements of text: the parser of the daemon's own drawings.
constexpr std::string_view kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types hocket-svg";

/// Returns whether a client accepts gzip (RFC 9110, section 12.5.3).
bool accepts_gzip(std::string_view accept_encoding) {
  constexpr std::string_view kGzip = "gzip";
  const auto at = accept_encoding.find(kGzip);
  if (at == std::string_view::npos) return false;
  std::string_view weight = accept_encoding.substr(at + kGzip.size());
  weight = weight.substr(0, weight.find(','));
  const auto value = weight.find("q=");
  return value == std::string_view::npos ||
         weight.find_first_of("123456789", value) != std::string_view::npos;
}

ServiceResponse asset_response(const WebAsset& asset, const ServiceRequest& request) {
  ServiceResponse response;
  response.content_type = asset.content_type;
  const bool is_packed = accepts_gzip(request.accept_encoding);
  response.body = std::make_shared<const std::string>(is_packed ? asset.gzip : asset.bytes);
  if (is_packed) response.fields.emplace_back("Content-Encoding", "gzip");
  response.fields.emplace_back("Vary", "Accept-Encoding");
  response.fields.emplace_back("X-Content-Type-Options", "nosniff");
  return response;
}

nlohmann::json knob_json(const Knob& knob) {
  nlohmann::json document = {{"name", knob.name}, {"meaning", knob.meaning}};
  if (knob.choices.empty()) {
    document["kind"] = "integer";
    document["low"] = knob.low;
    document["high"] = knob.high;
    document["tune_low"] = knob.tune_low;
    document["tune_high"] = knob.tune_high;
    document["logarithmic"] = knob.log;
  } else {
    document["kind"] = "choice";
    document["choices"] = knob.choices;
  }
  document["unit"] = knob.is_size() ? "bytes" : "";
  document["searched"] = knob.is_searched();
  return document;
}

Result<ServiceReply> page(const RouteCall& call) {
  const WebAsset* const asset = find_web_asset("index.html");
  if (asset == nullptr) return failure(ErrorCode::not_found, "this program has no page");
  ServiceResponse response = asset_response(*asset, call.request);
  response.fields.emplace_back("Cache-Control", "no-cache");
  response.fields.emplace_back("Content-Security-Policy", kContentPolicy);
  response.fields.emplace_back("Referrer-Policy", "no-referrer");
  return response;
}

Result<ServiceReply> page_asset(const RouteCall& call) {
  std::string path;
  for (const char* folder : {"folder", "view"}) {
    const auto name = call.route.parameters.find(folder);
    if (name != call.route.parameters.end()) path += name->second + "/";
  }
  path += call.parameter("file");
  const WebAsset* const asset =
      call.parameter("version") == web_version() ? find_web_asset(path) : nullptr;
  if (asset == nullptr) {
    return failure(ErrorCode::not_found,
                   "this version of the page has no such file; load the page again");
  }
  ServiceResponse response = asset_response(*asset, call.request);
  response.fields.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  return response;
}

Result<ServiceReply> who(const RouteCall& call) {
  return json_response({{"name", call.who.name},
                        {"role", to_string(call.who.role)},
                        {"page", web_version()},
                        {"serves", call.parts.is_daemon ? "daemon" : "store"}});
}

Result<ServiceReply> changes(const RouteCall& call) {
  call.parts.changes.look();
  EventStream stream;
  stream.topics.push_back({std::string(ChangePublisher::kTopic), 0});
  return stream;
}

Result<ServiceReply> knobs(const RouteCall&) {
  const auto defaults = knob_values(ScheduleConfig{});
  nlohmann::json list = nlohmann::json::array();
  for (const Knob& knob : schedule_knobs()) {
    list.push_back(knob_json(knob));
    const auto value = defaults.find(std::string(knob.name));
    if (value != defaults.end()) list.back()["default"] = *value;
  }
  return json_response({{"knobs", std::move(list)}});
}

}  // namespace

std::span<const ApiRoute> page_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"GET", "/", AccessRole::anyone, page, RequestLabour::brief, kAtOnce},
      {"GET", "/page/{version}/{file}", AccessRole::anyone, page_asset, RequestLabour::brief,
       kAtOnce},
      {"GET", "/page/{version}/{folder}/{file}", AccessRole::anyone, page_asset,
       RequestLabour::brief, kAtOnce},
      {"GET", "/page/{version}/{folder}/{view}/{file}", AccessRole::anyone, page_asset,
       RequestLabour::brief, kAtOnce},
      {"GET", "/v1/whoami", AccessRole::read, who},
      {"GET", "/v1/changes", AccessRole::read, changes},
      {"GET", "/v1/knobs", AccessRole::read, knobs},
  };
  return kRoutes;
}

}  // namespace hocket
