#include "cli/verbs/studies/searched_variables.h"

#include <algorithm>
#include <ostream>

#include "core/base/system_variables.h"

namespace hocket {

Result<void> allow_variables(const Space& space, const std::vector<std::string>& allowed,
                             VerbContext& context) {
  for (const Parameter& parameter : space.parameters()) {
    const std::string& name = parameter.name;
    const std::string_view use = system_variable_use(name);
    if (use.empty() || std::ranges::count(allowed, name) > 0) continue;
    const std::string why = name + " " + std::string(use) +
                            ", so a trial may run other code, or "
                            "elsewhere, than the job otherwise does";
    if (context.ask && context.ask(why + "; search it?")) continue;
    return invalid("--param " + name + ": " + why + "; to search it nevertheless, add " +
                   "--allow-variable " + name);
  }
  return {};
}

}  // namespace hocket
