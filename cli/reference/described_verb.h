#pragma once

// The description of verbs with their options, taken from the program's declarations, for
// completion in shells and for manual pages. Values; thread-safe.

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace hocket {

enum class ValueKind {
  none,     ///< a flag
  text,     ///< anything
  file,     ///< the path of a file
  folder,   ///< the path of a folder
  words,    ///< one of DescribedOption::words
  settings  ///< one of the words and then more, such as "KNOB=VALUE" and "TOOL:SET@VERSION"
};

/// An option, or an argument at a position, which has one name without dashes.
struct DescribedOption {
  std::vector<std::string> names;  ///< short ones first: "-o", "--output"
  std::string description;
  ValueKind kind = ValueKind::text;
  std::string value_name;          ///< name of the value in help, "FILE"; empty for a flag
  std::vector<std::string> words;  ///< possible values; of settings their beginnings, "KNOB="
  std::string range;               ///< such as "INT in [1 - 5]"; empty for any
  std::string default_text;
  bool is_required = false;
  bool is_repeated = false;           ///< may be given several times
  std::vector<std::string> excludes;  ///< names of options that do not go with it

  friend bool operator==(const DescribedOption&, const DescribedOption&) = default;
};

/// The program or a verb. Hidden verbs and options are left out.
struct DescribedVerb {
  std::string name, description;
  std::string footer;          ///< remarks and examples, as help prints them
  bool takes_command = false;  ///< the command behind "--"
  std::vector<DescribedOption> options = {}, positionals = {};
  std::vector<DescribedVerb> verbs = {};
};

/// Describes what `app` and its verbs declare, in the order of declaration. `takes_command` says
/// whether the verb of a name may run a command behind "--".
DescribedVerb describe_verb(const CLI::App& app, bool (*takes_command)(std::string_view verb));

}  // namespace hocket
