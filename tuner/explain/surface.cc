#include "tuner/explain/surface.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/nearest_name.h"
#include "core/base/text.h"
#include "tuner/explain/fitted_model.h"

namespace hocket {
namespace {

constexpr std::size_t kSurfacePoints = 25, kQuotedNameBytes = 60;

Result<const Parameter*> varying_parameter(const Space& space,
                                           const std::vector<std::string>& varying,
                                           std::string_view name) {
  if (std::ranges::find(varying, name) != varying.end())
    return &*std::ranges::find(space.parameters(), name, &Parameter::name);
  std::string all;
  for (const std::string& each : varying) all += (all.empty() ? "" : ", ") + each;
  return invalid("contour: expected a parameter with several values, found \"" +
                 printable(name, kQuotedNameBytes) + "\"" + did_you_mean(name, varying) +
                 "; there are " + (all.empty() ? "none" : all));
}

}  // namespace

std::vector<std::string> varying_parameters(const Space& space, const Explanation& explanation) {
  std::vector<std::string> names;
  for (const ParameterImportance& importance : explanation.importances) {
    const auto it = std::ranges::find(space.parameters(), importance.name, &Parameter::name);
    if (it != space.parameters().end() && value_count(it->domain) > 1) names.push_back(it->name);
  }
  return names;
}

Result<BeliefSurface> surface_over(const Space& space, const Explanation& explanation,
                                   std::string_view x, std::string_view y) {
  HOCKET_CHECK(explanation.model != nullptr, "explain() makes the model");
  const auto varying = varying_parameters(space, explanation);
  const auto across = varying_parameter(space, varying, x);
  HOCKET_TRY(across);
  const auto upwards = varying_parameter(space, varying, y);
  HOCKET_TRY(upwards);
  if (*across == *upwards)
    return invalid("contour: expected two parameters, found " + std::string(x) + " twice");
  BeliefSurface surface{(*across)->name,
                        (*upwards)->name,
                        values_along((*across)->domain, kSurfacePoints),
                        values_along((*upwards)->domain, kSurfacePoints),
                        {}};
  std::vector<UnitPoint> points;
  Params params = explanation.recommendation.params;
  for (const auto& up : surface.ys) {
    auto& row = surface.expected.emplace_back();
    for (const auto& along : surface.xs) {
      params[surface.x] = along;
      params[surface.y] = up;
      row.emplace_back();
      if (!space.allows(params)) continue;
      row.back() = 0;
      points.push_back(space.encode(params));
    }
  }
  const Belief belief = explanation.model->believe(points);
  Eigen::Index next = 0;
  for (auto& row : surface.expected) {
    for (auto& cell : row) {
      if (cell) cell = explanation.model->on_scale(belief.mean[next++]);
    }
  }
  return surface;
}

}  // namespace hocket
