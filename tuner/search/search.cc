#include "tuner/search/search.h"

#include <array>
#include <utility>

#include "core/base/check.h"
#include "tuner/search/methods/grid_search.h"
#include "tuner/search/methods/pareto_search.h"
#include "tuner/search/methods/random_search.h"
#include "tuner/search/methods/sobol_search.h"
#include "tuner/search/methods/tpe_search.h"
#include "tuner/search/optimizer.h"

namespace hocket {
namespace {

constexpr std::array<std::pair<SearchMethod, std::string_view>, 5> kNames = {
    {{SearchMethod::model, "model"},
     {SearchMethod::random, "random"},
     {SearchMethod::sobol, "sobol"},
     {SearchMethod::tpe, "tpe"},
     {SearchMethod::grid, "grid"}}};

}  // namespace

std::string_view to_string(SearchMethod method) {
  for (const auto& [value, name] : kNames) {
    if (value == method) return name;
  }
  HOCKET_CHECK(false, "every method has a name");
}

Result<SearchMethod> parse_search_method(std::string_view text) {
  std::string known;
  for (const auto& [value, name] : kNames) {
    if (name == text) return value;
    known += known.empty() ? "" : ", ";
    known += name;
  }
  return failure(ErrorCode::invalid_argument, "expected a search method, one of " + known +
                                                  "; found \"" + std::string(text) + "\"");
}

Result<std::unique_ptr<Search>> make_search(Space space, SearchOptions options) {
  HOCKET_TRY(check_searchable(space));
  if (options.step) {
    HOCKET_TRY(validate(*options.step));
    // A step that is not believed of other configurations says nothing of which one to try.
    if (!options.step->prediction_withheld.empty()) options.step.reset();
  }
  if (options.objectives > 1) {
    if (options.method == SearchMethod::model)
      return make_pareto_search(std::move(space), options.seed, options.objectives);
    return failure(ErrorCode::invalid_argument,
                   "several objectives are searched by the method model, not by " +
                       std::string(to_string(options.method)));
  }
  switch (options.method) {
    case SearchMethod::model:
      return std::make_unique<Optimizer>(std::move(space), std::move(options));
    case SearchMethod::random:
      return make_random_search(std::move(space), options.seed);
    case SearchMethod::sobol:
      return make_sobol_search(std::move(space), options.seed);
    case SearchMethod::tpe:
      return make_tpe_search(std::move(space), options.seed);
    case SearchMethod::grid:
      return make_grid_search(std::move(space), options.seed);
  }
  HOCKET_CHECK(false, "every method is made");
}

}  // namespace hocket
