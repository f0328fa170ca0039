#pragma once

// The flags that say what the passes of a graph do. One thread.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/passes.h"

namespace hocket {

/// Values of the flags.
struct PassFlags {
  std::string precision = "float32", optimiser = "none";
  std::vector<std::string> kept_kinds;
  PassOptions options;

  /// Returns the options. invalid_argument for a word that is none.
  Result<PassOptions> read() const;
};

/// Adds the flags, which need the one that says up to which pass passes run.
void add_pass_flags(CLI::App& verb, const std::shared_ptr<PassFlags>& flags, CLI::Option& after);

}  // namespace hocket
