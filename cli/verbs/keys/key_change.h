#pragma once

// Changes of a key's configuration that an operator asks a daemon for. One thread.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/base/context.h"
#include "cli/inputs/access/daemon_access.h"
#include "core/base/result.h"

namespace hocket {

/// Options of every such verb.
struct KeyChangeOptions {
  DaemonChoice daemon;
  std::string key;
  bool json = false;
};

/// Declares a verb with these options, which must outlive it.
CLI::App* add_key_change(CLI::App& program, const std::string& name, const std::string& help,
                         KeyChangeOptions& options);

/// Makes the body of a request for the key that was found.
using RequestBody =
    std::function<Result<nlohmann::json>(HttpClient& client, const std::string& key)>;

/// Returns a sentence for people on what an answer means from now on.
using AnswerMeaning = std::function<std::string(const nlohmann::json& answer)>;

/// Sends the body by PUT to the key's path with `suffix`, and prints the answer; behind it, for
/// people, what it means.
Result<int> change_key(const KeyChangeOptions& options, const std::string& suffix,
                       const RequestBody& body, VerbContext& context,
                       const AnswerMeaning& meaning = {});

/// Prints a daemon's answer about the key called `name` as one line.
void print_key_answer(const nlohmann::json& answer, const std::string& name, bool as_json,
                      VerbContext& context);

}  // namespace hocket
