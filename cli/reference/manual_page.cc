#include "cli/reference/manual_page.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace hocket {
namespace {

/// Escapes text of a line. What begins a line with a dot or a quote would be a macro.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c == '\n' ? ' ' : c;
    }
  }
  if (escaped.starts_with('.') || escaped.starts_with('\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string bold(const std::string& text) {
  return "\\fB" + roff(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + roff(text) + "\\fR";
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string page_head(const std::string& name, const std::string& description,
                      const ManualEdition& edition) {
  return ".\\\" Made from the declarations of the verbs by `hocket manual`.\n.TH " +
         roff(upper(name)) + " 1 " + edition.date + " \"hocket " + roff(edition.version) +
         "\" \"User Commands\"\n.SH NAME\n" + roff(name) + " \\- " + roff(description) +
         "\n.SH SYNOPSIS\n";
}

std::string synopsis(const DescribedVerb& verb, const std::string& path) {
  std::string line = bold(path);
  if (!verb.options.empty()) line += " [" + italic("option") + "]...";
  if (!verb.verbs.empty()) {
    line += verb.positionals.empty() ? " " + italic("verb") + " ..." : " [" + italic("verb") + "]";
  }
  for (const DescribedOption& positional : verb.positionals) {
    const std::string name =
        italic(positional.names.front()) + (positional.is_repeated ? "..." : "");
    line += positional.is_required ? " " + name : " [" + name + "]";
  }
  if (verb.takes_command) line += " [" + bold("--") + " " + italic("command") + "]";
  return line + "\n";
}

/// Returns a sentence of what the declaration restricts.
std::string restrictions(const DescribedOption& option) {
  std::string text;
  if (option.is_required) text += " Required.";
  if (!option.range.empty()) text += " Value: " + option.range + ".";
  if (!option.default_text.empty()) text += " Default: " + option.default_text + ".";
  if (!option.excludes.empty()) {
    std::string names;
    for (const std::string& name : option.excludes) names += (names.empty() ? "" : ", ") + name;
    text += " Not together with " + names + ".";
  }
  return text;
}

std::string list_entry(const DescribedOption& option, bool is_positional) {
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ", ") + (is_positional ? italic(name) : bold(name));
  }
  if (!is_positional && !option.value_name.empty()) names += " " + italic(option.value_name);
  std::string text = option.description;
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (!text.ends_with('.')) text += ".";
  return ".TP\n" + names + "\n" + roff(text + restrictions(option)) + "\n";
}

std::string lists(const DescribedVerb& verb, const char* section) {
  std::string text;
  for (const DescribedOption& positional : verb.positionals) text += list_entry(positional, true);
  if (!text.empty()) text = std::string(section) + " ARGUMENTS\n" + text;
  if (!verb.options.empty()) text += std::string(section) + " OPTIONS\n";
  for (const DescribedOption& option : verb.options) text += list_entry(option, false);
  return text;
}

/// A footer, with its examples apart: the indented lines.
struct Footer {
  std::string remarks, examples;
};

Footer split_footer(const std::string& footer) {
  Footer split;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (line == "Example:" || line == "Examples:") continue;
    if (line.starts_with("  ")) {
      split.examples += roff(line.substr(2)) + "\n";
    } else if (!line.empty()) {
      split.remarks += roff(line) + "\n";
    }
  }
  return split;
}

std::string examples_section(const std::string& lines, const char* section) {
  if (lines.empty()) return "";
  return std::string(section) + " EXAMPLES\n.nf\n" + lines + ".fi\n";
}

std::string sentence(std::string text) {
  if (text.empty()) return text;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

constexpr const char* kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\nSuccess.\n"
    ".TP\n1\nA file, a process or a host could not be used.\n"
    ".TP\n2\nThe arguments, the command or the store are wrong.\n"
    ".TP\n3\nOf \\fBhocket tune\\fR: the study ended and promoted nothing, so the default stays.\n"
    ".TP\n130\nThe user interrupted it.\n";

/// Writes the verbs of a verb, each as a section with its own lists.
void write_inner_verbs(const DescribedVerb& verb, const std::string& path, std::string& page) {
  for (const DescribedVerb& inner : verb.verbs) {
    const std::string inner_path = path + " " + inner.name;
    const Footer footer = split_footer(inner.footer);
    page += ".SH \"" + roff(upper(inner_path)) + "\"\n" + synopsis(inner, inner_path) + ".PP\n" +
            roff(sentence(inner.description)) + "\n" + footer.remarks + lists(inner, ".SS") +
            examples_section(footer.examples, ".SS");
    write_inner_verbs(inner, inner_path, page);
  }
}

}  // namespace

std::string program_page(const DescribedVerb& program, const ManualEdition& edition) {
  const auto colon = program.description.find(": ");
  const std::string what =
      colon == std::string::npos ? program.description : program.description.substr(colon + 2);
  const Footer footer = split_footer(program.footer);
  std::string page = page_head(program.name, what, edition) + synopsis(program, program.name) +
                     ".SH DESCRIPTION\n" + roff("hocket " + what + ".") + "\n" + footer.remarks +
                     ".SH VERBS\n";
  for (const DescribedVerb& verb : program.verbs) {
    page += ".TP\n" + bold(verb.name) + "\n" + roff(sentence(verb.description)) + "\nSee\n.BR " +
            roff(program.name + "-" + verb.name) + " (1).\n";
  }
  return page + lists(program, ".SH") + kExitStatus + examples_section(footer.examples, ".SH");
}

std::string verb_page(const DescribedVerb& program, const DescribedVerb& verb,
                      const ManualEdition& edition) {
  const std::string path = program.name + " " + verb.name;
  const Footer footer = split_footer(verb.footer);
  std::string page = page_head(program.name + "-" + verb.name, verb.description, edition) +
                     synopsis(verb, path) + ".SH DESCRIPTION\n" + roff(sentence(verb.description)) +
                     "\n" + footer.remarks;
  if (verb.takes_command) {
    page += "The words behind " + bold("--") + " are a command and its arguments.\n";
  }
  page += lists(verb, ".SH");
  write_inner_verbs(verb, path, page);
  return page + examples_section(footer.examples, ".SH") + ".SH SEE ALSO\n.BR " +
         roff(program.name) + " (1)\n";
}

}  // namespace hocket
