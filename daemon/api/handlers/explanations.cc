// Explanations of studies, and their plots.

#include <nlohmann/json.hpp>

#include "archive/studies/explanation/explanation_json.h"
#include "archive/studies/explanation/study_plots.h"
#include "daemon/api/handlers/call.h"

namespace hocket {
namespace {

Result<Reply> explain_study(const Call& call) {
  const auto explained = call.parts.browser.explanation(call.study());
  HOCKET_TRY(explained);
  auto document = to_json(**explained);
  document["plots"] = study_plots(**explained);
  return json_response(document);
}

Result<Reply> plot_study(const Call& call) {
  const auto explained = call.parts.browser.explanation(call.study());
  HOCKET_TRY(explained);
  PlotChoice choice;
  if (const auto x = call.target.find("x")) choice.x = std::string(*x);
  if (const auto y = call.target.find("y")) choice.y = std::string(*y);
  auto plot = study_plot(**explained, call.parameter("plot"), choice);
  HOCKET_TRY(plot);
  Response response;
  response.content_type = "image/svg+xml";
  response.body = std::make_shared<const std::string>(std::move(*plot));
  response.fields.emplace_back("X-Content-Type-Options", "nosniff");
  response.fields.emplace_back("Content-Security-Policy", "default-src 'none'; sandbox");
  return response;
}

}  // namespace

std::span<const Route> explanation_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "/v1/studies/{study}/explanation", Role::read, explain_study, Labour::browse},
      {"GET", "/v1/studies/{study}/plots/{plot}", Role::read, plot_study, Labour::browse},
  };
  return kRoutes;
}

}  // namespace hocket
