// hocket completion: prints the script by which a shell completes hocket's command lines.

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/reference/completion.h"
#include "cli/verbs/program.h"
#include "cli/verbs/verb.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kShellLimitBytes = 100;

Result<int> print_completion(const CLI::App& program, const std::string& shell,
                             VerbContext& context) {
  if (shell == "bash") {
    context.out << bash_completion(describe_verb(program, takes_command));
  } else if (shell == "zsh") {
    context.out << zsh_completion(describe_verb(program, takes_command));
  } else if (shell == "fish") {
    context.out << fish_completion(describe_verb(program, takes_command));
  } else {
    return failure(ErrorCode::invalid_argument, "completion: expected bash, zsh or fish, found \"" +
                                                    printable(shell, kShellLimitBytes) + "\"");
  }
  return kDone;
}

}  // namespace

void add_completion(CLI::App& program, VerbAction& action) {
  auto shell = std::make_shared<std::string>();
  auto* verb = program.add_subcommand("completion", "print a script for a shell's completion");
  verb->add_option("SHELL", *shell, "the shell")->type_name("bash|zsh|fish")->required();
  verb->footer(
      "An installation has the scripts where the shells look for them.\n"
      "Examples:\n"
      "  source <(hocket completion bash)\n"
      "  hocket completion zsh > ~/.zfunc/_hocket\n"
      "  hocket completion fish > ~/.config/fish/completions/hocket.fish\n");
  verb->callback([shell, &program, &action] {
    action = [shell, &program](VerbContext& c) { return print_completion(program, *shell, c); };
  });
}

}  // namespace hocket
