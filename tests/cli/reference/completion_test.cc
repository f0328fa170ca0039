// Completes command lines in the shells themselves, with the scripts that `hocket completion`
// prints.

#include "cli/reference/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>

#include "cli/base/context.h"
#include "tests/cli/answer.h"
#include "tests/cli/reference/shell_output.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

using Words = std::set<std::string>;

/// A command line up to the cursor, and all that a shell offers there, in a folder with the files
/// alpha.json, alpine and the folder alps.
struct CompletionCase {
  std::string name, line;
  Words offered;

  friend std::ostream& operator<<(std::ostream& out, const CompletionCase& one) {
    return out << one.line;
  }
};

std::vector<CompletionCase> completion_cases() {
  return {{"Verbs", "hocket st", {"store", "studies", "stragglers"}},
          {"InnerVerbs", "hocket studies ", {"diff", "promote", "rm"}},
          {"Options", "hocket studies rm --fo", {"--force"}},
          {"OptionsBehindAValue", "hocket studies --store rm --js", {"--json"}},
          {"NoVerbInAValue", "hocket studies --store rm --dr", {}},
          {"WordsOfAnOption", "hocket tune --method ", {"model", "random", "sobol", "tpe", "grid"}},
          {"WordsOfAPosition", "hocket completion ", {"bash", "zsh", "fish"}},
          {"KnobsOfASetting", "hocket simulate --set partition_", {"partition_bytes="}},
          {"FilesOfAnOption", "hocket tune --store alpi", {"alpine"}},
          {"FilesOfAPosition", "hocket tape show alpha", {"alpha.json"}},
          {"FilesOfARepeatedPosition", "hocket profiles import alpine alpha", {"alpha.json"}},
          {"FilesOfACommand", "hocket tune --trials 3 -- cat alpi", {"alpine"}}};
}

class Completion : public ::testing::TestWithParam<CompletionCase> {
 protected:
  Completion() {
    fs::create_directory(folder_.file("alps"));
    std::ofstream(folder_.file("alpha.json")) << "{}";
    std::ofstream(folder_.file("alpine")) << "";
    fs::create_directory(folder_.file("scripts"));
  }

  std::string script(const std::string& shell, const std::string& file) const {
    const auto answer = ask_hocket({"completion", shell});
    EXPECT_EQ(answer.status, kDone) << answer.err;
    std::ofstream(folder_.file("scripts/" + file)) << answer.out;
    return folder_.file("scripts/" + file);
  }

  /// Runs a command in the folder; a shell that is made to wait ends.
  Words offered(std::vector<std::string> command) const {
    const std::vector<std::string> within = {"timeout", "60", "env", "--chdir", folder_.file("")};
    command.insert(command.begin(), within.begin(), within.end());
    Words words;
    for (const std::string& line : lines_of(command)) {
      if (!line.empty()) words.insert(line.substr(0, line.find('\t')));
    }
    return words;
  }

  const TemporaryFolder folder_;
};

TEST_P(Completion, OfBash) {
  const char* const complete = R"(
    source "$1"
    read -ra COMP_WORDS <<<"$2"
    [[ $2 == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _hocket
    printf '%s\n' "${COMPREPLY[@]}")";
  EXPECT_EQ(offered({"bash", "--norc", "-c", complete, "bash", script("bash", "hocket"),
                     GetParam().line}),
            GetParam().offered);
}

TEST_P(Completion, OfZsh) {
  if (!has_program("zsh")) GTEST_SKIP() << "zsh is not installed";
  script("zsh", "_hocket");
  EXPECT_EQ(offered({"zsh", "-f", HOCKET_SOURCE_DIR "/tests/cli/reference/complete.zsh",
                     folder_.file("scripts"), GetParam().line}),
            GetParam().offered);
}

TEST_P(Completion, OfFish) {
  if (!has_program("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_EQ(offered({"fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
                     script("fish", "hocket.fish"), GetParam().line}),
            GetParam().offered);
}

INSTANTIATE_TEST_SUITE_P(Lines, Completion, ::testing::ValuesIn(completion_cases()),
                         [](const auto& info) { return info.param.name; });

using BashCompletion = Completion;

TEST_F(BashCompletion, JoinsWhatBashTakesApart) {
  const char* const complete = R"(
    source "$1"
    COMP_WORDS=(hocket tune --method = s) COMP_CWORD=4
    _hocket
    echo "${COMPREPLY[*]}"
    COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
    COMP_WORDS=(hocket tune --method=s) COMP_CWORD=2
    _hocket
    echo "${COMPREPLY[*]}")";
  EXPECT_EQ(offered({"bash", "--norc", "-c", complete, "bash", script("bash", "hocket")}),
            (Words{"sobol", "--method=sobol"}));
}

TEST(CompletionVerb, RefusesAShellThatItDoesNotKnow) {
  const auto answer = ask_hocket({"completion", "tcsh"});
  EXPECT_EQ(answer.status, kBadInput);
  EXPECT_THAT(answer.err, ::testing::HasSubstr("expected bash, zsh or fish, found \"tcsh\""));
  EXPECT_EQ(ask_hocket({"completion"}).status, kBadInput);
  EXPECT_EQ(ask_hocket({"completion", "bash", "--", "true"}).status, kBadInput);
}

}  // namespace
}  // namespace hocket
