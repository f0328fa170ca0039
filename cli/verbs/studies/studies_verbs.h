#pragma once

// The verbs below `hocket studies` that have files of their own. One thread.

#include <memory>
#include <string>

#include "cli/base/context.h"

namespace CLI {
class App;
}

namespace hocket {

/// Options of `hocket studies` and of every verb below it.
struct StudiesOptions {
  std::string store;
  bool json = false;
};

/// Declares the options that listing and the verbs below share; they may stand before or behind
/// such a verb.
void add_common_options(CLI::App& verb, StudiesOptions& common);

/// Declares `hocket studies diff A B`.
void add_diff_studies(CLI::App& studies, const std::shared_ptr<StudiesOptions>& common,
                      VerbAction& action);

/// Declares `hocket studies promote STUDY NUMBER`.
void add_promote_point(CLI::App& studies, const std::shared_ptr<StudiesOptions>& common,
                       VerbAction& action);

}  // namespace hocket
