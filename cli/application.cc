#include "cli/application.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <ostream>
#include <span>

#include "cli/base/command_line.h"
#include "cli/base/question.h"
#include "cli/inputs/access/shown_commands.h"
#include "cli/output/text_gate.h"
#include "cli/verbs/program.h"
#include "core/base/nearest_name.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kErrorLimitBytes = 4000;

int exit_status(const Error& error) {
  switch (error.code) {
    case ErrorCode::interrupted:
      return kInterrupted;
    case ErrorCode::unavailable:
      return kFailed;
    default:
      return kBadInput;
  }
}

int report(std::ostream& err, const std::string& message, int status) {
  err << "hocket: " << printable(message, kErrorLimitBytes) << std::endl;
  return status;
}

int perform(const VerbAction& action, VerbContext& context) {
  const auto status = action(context);
  if (!status) {
    return report(context.err, context.placed(status.error().message), exit_status(status.error()));
  }
  if (!context.out.flush()) {
    return report(context.err, "the results could not be written to standard output", kFailed);
  }
  return *status;
}

/// Returns the error for the first of `words` that should be a verb of `app` and is none; nothing
/// if there is no such word. The parser would answer a request for help before it finds that.
std::optional<std::string> unknown_verb(const CLI::App& app, std::span<const std::string> words) {
  const auto verbs = app.get_subcommands({});
  const auto is_positional = [](const CLI::Option* option) { return option->get_positional(); };
  if (verbs.empty() || words.empty() || words.front().starts_with('-')) return std::nullopt;
  const std::string& word = words.front();
  const auto verb = std::ranges::find(verbs, word, [](const CLI::App* v) { return v->get_name(); });
  if (verb != verbs.end()) return unknown_verb(**verb, words.subspan(1));
  if (std::ranges::any_of(app.get_options({}), is_positional)) return std::nullopt;
  std::vector<std::string> names;
  for (const CLI::App* known : verbs) names.push_back(known->get_name());
  const std::string path = app.get_parent() ? "hocket " + app.get_name() : "hocket";
  return path + " has no verb \"" + word + "\"; the nearest is \"" +
         std::string(nearest_name(word, names)) + "\"; `" + path + " --help` lists all";
}

/// Returns "; did you mean --OPTION" for an unknown option of `app`: the one that is spelt nearly
/// so, else those whose description has the word; empty if there is none.
std::string nearest_option(const CLI::App& app, const std::string& argument) {
  if (!argument.starts_with("--")) return {};
  const std::string word = argument.substr(2, argument.find('=') - 2);
  std::vector<std::string> names, meanings;
  for (const CLI::Option* option : app.get_options({})) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back(name);
      meanings.push_back(option->get_description());
    }
  }
  const std::string_view nearest = nearest_name(word, names);
  if (!nearest.empty() && is_near(word, nearest)) return "; did you mean --" + std::string(nearest);
  std::vector<KnownName> known;
  for (std::size_t i = 0; i < names.size(); ++i) known.push_back({names[i], meanings[i]});
  const std::string meant = names_by_meaning(word, known);
  return meant.empty() || meant.find(" and ") != std::string::npos ? ""
                                                                   : "; did you mean --" + meant;
}

/// Returns "hocket" with the verb that `program` has found.
std::string verb_path(const CLI::App& program) {
  std::string path = "hocket";
  for (const CLI::App* app = &program; !app->get_subcommands().empty();) {
    app = app->get_subcommands().back();
    path += " " + app->get_name();
  }
  return path;
}

/// Returns the error for arguments that do not fit together, with where to look.
std::string misuse(const CLI::App& program, const CLI::ParseError& error) {
  std::string message = error.what();
  const std::string path = verb_path(program);
  if (message == "A subcommand is required") message = path + " needs a verb";
  if (message == "STUDY is required") message += ", and `hocket studies` lists them";
  if (message == "PROFILE is required") message += ", and `hocket profiles list` lists them";
  return message + "; `" + path + " --help` shows what there is";
}

/// Returns the error for the arguments that `program` has left over after parsing.
std::string unexpected_arguments(const CLI::App& program) {
  const std::string path = verb_path(program);
  bool has_command = false;
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().back();
    has_command = has_command || takes_command(app->get_name());
  }
  std::string message = path + " does not know";
  const auto unknown = program.remaining(true);
  for (const std::string& argument : unknown) message += " " + shown_argument(argument);
  if (!unknown.empty()) message += nearest_option(*app, unknown.front());
  if (has_command) message += "; a command to run goes behind \"--\"";
  return message + "; `" + path + " --help` shows what there is";
}

int parse_and_perform(const std::vector<std::string>& arguments, std::ostream& out,
                      std::ostream& err, int err_columns) {
  VerbAction action;
  const std::unique_ptr<CLI::App> declared = make_program(action);
  CLI::App& program = *declared;
  auto [own, command] = split_command_line(arguments);
  if (const auto error = unknown_verb(program, own)) return report(err, *error, kBadInput);
  try {
    program.parse(std::vector<std::string>(own.rbegin(), own.rend()));
  } catch (const CLI::CallForVersion& version) {
    out << version.what() << std::endl;
    return kDone;
  } catch (const CLI::Success&) {
    out << program.help() << std::flush;
    return kDone;
  } catch (const CLI::ExtrasError&) {
    return report(err, unexpected_arguments(program), kBadInput);
  } catch (const CLI::ParseError& error) {
    return report(err, misuse(program, error), kBadInput);
  }
  const std::string& verb = program.get_subcommands().front()->get_name();
  if (!takes_command(verb)) {
    if (const auto ok = no_command(command, verb); !ok)
      return report(err, ok.error().message, kBadInput);
  }
  VerbContext context{out, err, err_columns, std::move(command), [&](const std::string& message) {
                        return with_given_place(message, program);
                      }};
  context.perform = [&](const std::vector<std::string>& words) {
    return parse_and_perform(words, out, err, err_columns);
  };
  if (err_columns > 0) context.ask = questions_on_terminal(err);
  return perform(action, context);
}

}  // namespace

int run_hocket(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
               int err_columns) {
  TextGate out_gate(out.rdbuf()), err_gate(err.rdbuf());
  std::ostream gated_out(&out_gate), gated_err(&err_gate);
  // As std::cerr: what was printed is shown before what is said about it, and at once.
  gated_out.setstate(out.rdstate());
  gated_err.tie(&gated_out);
  gated_err << std::unitbuf;
  try {
    return parse_and_perform(arguments, gated_out, gated_err, err_columns);
  } catch (const std::exception& error) {
    return report(gated_err, error.what(), kFailed);
  }
}

}  // namespace hocket
