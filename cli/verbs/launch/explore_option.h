#pragma once

// The option --explore of the verbs that start jobs which are tuned while they train. One thread.

#include <optional>

namespace CLI {
class App;
}

namespace hocket {

/// Declares the option. `share`, which must live as long as the verb, becomes the share of the
/// training time, 0 to 0.5; `variable` has it where the option is absent.
void add_explore_option(CLI::App& verb, std::optional<double>& share, const char* variable);

}  // namespace hocket
