// Explanations of studies, and their plots.

#include <nlohmann/json.hpp>

#include "archive/studies/explanation/explanation_json.h"
#include "archive/studies/explanation/study_plots.h"
#include "daemon/api/handlers/call.h"

namespace hocket {
namespace {

Result<ServiceReply> explain_study(const RouteCall& call) {
  const auto explained = call.parts.computed.explanation(call.study());
  HOCKET_TRY(explained);
  auto document = to_json(**explained);
  document["plots"] = study_plots(**explained);
  return json_response(document);
}

Result<ServiceReply> plot_study(const RouteCall& call) {
  const auto explained = call.parts.computed.explanation(call.study());
  HOCKET_TRY(explained);
  PlotChoice choice;
  if (const auto x = call.target.find("x")) choice.x = std::string(*x);
  if (const auto y = call.target.find("y")) choice.y = std::string(*y);
  auto plot = study_plot(**explained, call.parameter("plot"), choice);
  HOCKET_TRY(plot);
  ServiceResponse response;
  response.content_type = "image/svg+xml";
  response.body = std::make_shared<const std::string>(std::move(*plot));
  response.fields.emplace_back("X-Content-Type-Options", "nosniff");
  response.fields.emplace_back("Content-Security-Policy", "default-src 'none'; sandbox");
  return response;
}

}  // namespace

std::span<const ApiRoute> explanation_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"GET", "/v1/studies/{study}/explanation", AccessRole::read, explain_study,
       RequestLabour::browse},
      {"GET", "/v1/studies/{study}/plots/{plot}", AccessRole::read, plot_study,
       RequestLabour::browse},
  };
  return kRoutes;
}

}  // namespace hocket
