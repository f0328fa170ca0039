#include "tuner/slurm/slurm_options.h"

#include <algorithm>
#include <array>
#include <optional>

namespace hocket {
namespace {

struct RefusedOption {
  std::string_view name;  ///< without dashes
  char letter = 0;
  std::string_view reason;
};

constexpr std::string_view kOwnArray =
    "hocket makes the array of workers itself; --workers sets their number";
constexpr std::string_view kOwnScript =
    "the script is hocket's, which runs the command behind -- in each trial";
constexpr std::string_view kNoJob = "it submits no job";

constexpr std::array<RefusedOption, 11> kRefused = {{
    {"array", 'a', kOwnArray},
    {"wrap", 0, kOwnScript},
    {"parsable", 0, "hocket reads what sbatch prints, and sets it itself"},
    {"wait", 'W', "hocket follows the workers itself"},
    {"test-only", 0, kNoJob},
    {"help", 'h', kNoJob},
    {"usage", 0, kNoJob},
    {"version", 'V', kNoJob},
    {"clusters", 'M', "workers are followed on one cluster; run hocket on a login node of it"},
    {"export-file", 0, "hocket passes the study to the workers in their environment; use --export"},
    {"cluster", 0, "workers are followed on one cluster; run hocket on a login node of it"},
}};

/// Options without a value, or with one only behind "=". Any other takes the next word.
constexpr std::array<std::string_view, 22> kFlags = {
    "bell",          "contiguous",    "exclusive", "get-user-env", "hold",       "ignore-pbs",
    "immediate",     "nice",          "no-bell",   "no-kill",      "no-requeue", "overcommit",
    "oversubscribe", "propagate",     "quiet",     "reboot",       "requeue",    "share",
    "spread-job",    "use-min-nodes", "verbose",   "x11"};
constexpr std::string_view kFlagLetters = "HkOQsvI";

std::optional<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (escapes && (quote == 0 || text[i + 1] == '"' || text[i + 1] == '\\')) {
      word += text[++i];
      in_word = true;
    } else if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? 0 : c;
      in_word = true;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (in_word) words.push_back(word);
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) words.push_back(word);
  return words;
}

/// An option as sbatch reads a word.
struct ReadOption {
  std::string name;   ///< the long name as written, or the letter
  std::string value;  ///< the part in the same word
  bool takes_next = false;
};

ReadOption read_long(std::string_view word) {
  word.remove_prefix(2);
  const auto equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  if (equals != std::string_view::npos)
    return {std::string(name), std::string(word.substr(equals + 1)), false};
  const bool is_flag = std::find(kFlags.begin(), kFlags.end(), name) != kFlags.end();
  return {std::string(name), "", !is_flag};
}

/// Returns the options of "-HN4": letters without a value, then perhaps one with it.
std::vector<ReadOption> read_letters(std::string_view word) {
  std::vector<ReadOption> options;
  for (word.remove_prefix(1); !word.empty();) {
    const char letter = word.front();
    word.remove_prefix(1);
    if (kFlagLetters.find(letter) != std::string_view::npos) {
      options.push_back({std::string(1, letter), "", false});
      continue;
    }
    options.push_back({std::string(1, letter), std::string(word), word.empty()});
    break;
  }
  return options;
}

bool is_long(std::string_view word) {
  return word.starts_with("--") && word.size() > 2;
}

std::vector<ReadOption> read_option(std::string_view word) {
  if (is_long(word)) return {read_long(word)};
  return read_letters(word);
}

/// sbatch takes unambiguous beginnings of names too.
const RefusedOption* refused_as(const ReadOption& option, bool is_long_name) {
  const auto found =
      std::find_if(kRefused.begin(), kRefused.end(), [&](const RefusedOption& refused) {
        if (!is_long_name) return refused.letter != 0 && option.name[0] == refused.letter;
        return option.name == refused.name ||
               (option.name.size() > 2 && refused.name.starts_with(option.name));
      });
  return found == kRefused.end() ? nullptr : found;
}

Result<void> check(const ReadOption& option, bool is_long_name) {
  const RefusedOption* refused = refused_as(option, is_long_name);
  // "--exp" is --export.
  if (refused == nullptr || (refused->name == "export-file" && option.name.size() <= 6)) return {};
  return invalid(std::string("--slurm: ") + (is_long_name ? "--" : "-") + option.name +
                 " cannot be given: " + std::string(refused->reason));
}

}  // namespace

Result<std::vector<std::string>> slurm_options(std::string_view text) {
  auto words = words_of(text);
  if (!words) return invalid("--slurm: a quote is not closed in " + std::string(text));
  bool expects_value = false;
  for (const std::string& word : *words) {
    if (expects_value) {
      expects_value = false;
      continue;
    }
    if (word == ":") return invalid("--slurm: \":\" makes a job of parts, which no array can be");
    if (!word.starts_with('-') || word == "-" || word == "--") {
      return invalid("--slurm: \"" + word +
                     "\" is no option of sbatch; the command of a trial goes behind --");
    }
    for (const ReadOption& option : read_option(word)) {
      HOCKET_TRY(check(option, is_long(word)));
      expects_value = option.takes_next;
    }
  }
  if (expects_value) return invalid("--slurm: " + words->back() + " has no value");
  return std::move(*words);
}

std::string slurm_option(std::span<const std::string> options, std::string_view name, char letter) {
  std::string value;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const auto read = read_option(options[i]);
    if (read.empty()) continue;
    const ReadOption& last = read.back();
    const bool has_next = last.takes_next && i + 1 < options.size();
    const bool is_asked = is_long(options[i])
                              ? last.name == name
                              : letter != 0 && last.name == std::string_view(&letter, 1);
    if (is_asked) value = has_next ? options[i + 1] : last.value;
    if (has_next) ++i;
  }
  return value;
}

}  // namespace hocket
