#include "tuner/trial/outliving_job.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/nearest_name.h"
#include "core/base/text.h"
#include "tuner/trial/output/output_lines.h"

namespace hocket {
namespace {

constexpr std::size_t kSignLimitBytes = 200;

constexpr std::array<std::string_view, 12> kTaken = {
    "address already in use",
    "eaddrinuse",
    "errno 98",
    "errno: 98",
    "port is already allocated",
    "port is already in use",
    "is already in use by container",
    "device or resource busy",
    "devices are busy or unavailable",
    "device(s) is/are busy or unavailable",
    "cudaerrordevicesunavailable",
    "failed to bind",
};
constexpr std::array<std::string_view, 5> kOutOfMemory = {
    "cuda out of memory", "cuda error: out of memory", "cuda_error_out_of_memory",
    "hip out of memory", "npu out of memory"};

/// Programs that start a job elsewhere if a certain word follows; any word, if that is empty.
struct OutlivingStart {
  std::string_view program, word;
};
constexpr std::array kStarts = {
    OutlivingStart{"docker", "exec"},
    OutlivingStart{"docker", "run"},
    OutlivingStart{"docker", "start"},
    OutlivingStart{"podman", "exec"},
    OutlivingStart{"podman", "run"},
    OutlivingStart{"nerdctl", "exec"},
    OutlivingStart{"nerdctl", "run"},
    OutlivingStart{"kubectl", "exec"},
    OutlivingStart{"kubectl", "run"},
    OutlivingStart{"oc", "exec"},
    OutlivingStart{"lxc", "exec"},
    OutlivingStart{"lxc-attach", ""},
    OutlivingStart{"machinectl", "shell"},
    OutlivingStart{"ray", "job"},
    OutlivingStart{"ssh", ""},
    OutlivingStart{"pdsh", ""},
    OutlivingStart{"clush", ""},
    OutlivingStart{"sbatch", ""},
    OutlivingStart{"tmux", ""},
    OutlivingStart{"screen", ""},
    OutlivingStart{"at", "now"},
    OutlivingStart{"systemd-run", ""},
};
/// Returns the words of a command, those of a shell's text among them.
std::vector<std::string_view> simple_words(const std::vector<std::string>& command) {
  constexpr std::string_view kBetween = " \t\n;|&()\"'";
  std::vector<std::string_view> words;
  for (const std::string& text : command) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t length = std::min(rest.find_first_of(kBetween), rest.size());
      if (length > 0) words.push_back(rest.substr(0, length));
      rest.remove_prefix(std::min(length + 1, rest.size()));
    }
  }
  return words;
}

template <class Texts>
bool has_any(std::string_view line, const Texts& texts) {
  return std::ranges::any_of(
      texts, [&](std::string_view text) { return line.find(text) != std::string_view::npos; });
}

}  // namespace

std::optional<TakenSign> taken_sign(std::string_view output) {
  std::optional<TakenSign> of_memory;
  OutputLines lines(output);
  while (lines.next()) {
    const std::string text = lower_case(lines.line());
    const bool is_taken = has_any(text, kTaken);
    if (!is_taken && (of_memory || !has_any(text, kOutOfMemory))) continue;
    TakenSign sign{printable(trimmed(lines.line()), kSignLimitBytes), !is_taken};
    if (is_taken) return sign;
    of_memory = std::move(sign);
  }
  return of_memory;
}

std::string outliving_start(const std::vector<std::string>& command) {
  const auto words = simple_words(command);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view name = words[i].substr(words[i].rfind('/') + 1);
    for (const OutlivingStart& start : kStarts) {
      if (name != start.program) continue;
      if (start.word.empty()) return std::string(name);
      // Options, with their values, may stand between the two.
      constexpr std::size_t kFurthest = 6;
      for (std::size_t j = i + 1; j < std::min(words.size(), i + 1 + kFurthest); ++j) {
        if (words[j] == start.word) return std::string(name) + " " + std::string(start.word);
      }
    }
  }
  return {};
}

std::string earlier_job_text(std::string_view output, const EarlierTrials& earlier) {
  const auto sign = taken_sign(output);
  if (!sign) return {};
  const bool may_outlive = !earlier.start.empty();
  if (sign->may_be_own && !(earlier.are_any && may_outlive)) return {};
  std::string text = "; \"" + sign->line + "\" is what programs say ";
  if (earlier.are_any && may_outlive) {
    text +=
        "while the job of an earlier trial still runs: a job goes on when the command is ended "
        "that started it by `" +
        earlier.start + "`";
    if (earlier.was_one_ended) text += ", and an earlier one was ended";
  } else if (earlier.are_any) {
    text +=
        "while another process, or the job of an earlier trial that outlived its command, has "
        "what they need";
  } else {
    text += "while another process, or a job that is left over, has what they need";
  }
  if (!earlier.are_any) return text;
  return text + (earlier.have_stop_command
                     ? "; the stop command has not ended it"
                     : "; --stop-command CMD ends the job at the end of each trial");
}

}  // namespace hocket
