#include "archive/studies/command_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "archive/studies/open_study.h"
#include "archive/studies/owner.h"
#include "store/open.h"
#include "tests/temporary_folder.h"
#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

class CommandFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.file("gpt/models"));
    for (const char* name :
         {"train.py", "run.sh", "conf.yaml", "gpt/train.py", "log.txt", "gpt/models/big.py"})
      folder_.write(name, name);
  }

  /// Returns the names of the files of `command`, programs with "!" in front.
  Words files_of(const Words& command) const {
    Words names;
    for (const FileFingerprint& file : command_files(command, folder_.path())) {
      EXPECT_EQ(content_fingerprint(file.path), file.fingerprint);
      const auto name = std::filesystem::relative(file.path, folder_.path()).string();
      names.push_back((file.is_program ? "!" : "") + name);
    }
    return names;
  }

  const TemporaryFolder folder_;
};

TEST_F(CommandFiles, AreItsScriptAndTheWordsThatAreFiles) {
  EXPECT_THAT(files_of({"python3", "train.py", "--lr", "{LR}"}), ElementsAre("!train.py"));
  EXPECT_THAT(files_of({"python3", "train.py", "conf.yaml"}),
              ElementsAre("!train.py", "conf.yaml"));
  EXPECT_THAT(files_of({"torchrun", "--nproc-per-node", "2", "train.py", "--config=conf.yaml"}),
              ElementsAre("!train.py", "conf.yaml"));
  EXPECT_THAT(files_of({"./run.sh"}), ElementsAre("!run.sh"));
  EXPECT_THAT(files_of({folder_.file("run.sh"), "train.py"}), ElementsAre("!run.sh", "train.py"));
  EXPECT_THAT(files_of({"python3", "-m", "gpt.models.big"}), ElementsAre("!gpt/models/big.py"));
  EXPECT_THAT(files_of({"my-runner", "train.py"}), ElementsAre("train.py"));
}

TEST_F(CommandFiles, OfATextForAShellAreTheScriptsInIt) {
  EXPECT_THAT(files_of({"bash", "-c", "cd gpt && python train.py"}),
              ElementsAre("!gpt/train.py", "!train.py"));
  EXPECT_THAT(files_of({"sh", "-c", "./run.sh {X} | tee log.txt"}), ElementsAre("!run.sh"));
  EXPECT_THAT(files_of({"sh", "-c", "X=1; python a.py; python3 train.py >log.txt"}),
              ElementsAre("!train.py"));
}

TEST_F(CommandFiles, OfTheSystemAndOtherWordsAreNone) {
  EXPECT_THAT(files_of({"/bin/sh", "-c", "echo 1"}), IsEmpty());
  EXPECT_THAT(files_of({"ls", "/dev/null", ".", "gpt", "", "--x=", "{X}"}), IsEmpty());
  EXPECT_THAT(files_of({"train.py"}), IsEmpty()) << "that is found through PATH, not here";
  EXPECT_THAT(files_of({}), IsEmpty());
}

TEST_F(CommandFiles, AreListedOnceWithoutSymbolicLinks) {
  std::filesystem::create_symlink(folder_.file("train.py"), folder_.file("link.py"));
  EXPECT_THAT(files_of({"python3", "link.py", "train.py"}), ElementsAre("!train.py"));
}

class WatchedStudy : public CommandFiles {
 protected:
  StudyDefinition definition(const Words& command, const std::string& objective = "wall") const {
    StudyDefinition definition{.space = *Space::make({*parse_parameter("X=int:1..9")}),
                               .objective = *parse_objective(objective),
                               .working_directory = folder_.path()};
    definition.files = files_of_study(definition, command);
    return definition;
  }

  /// Starts a study, as if it were interrupted at once.
  StudyRow interrupted(const Words& command) {
    const auto open = start_study(*store_, {.definition = definition(command),
                                            .command = command,
                                            .name = "s",
                                            .workload = {.name = "work"},
                                            .topology = {}});
    EXPECT_TRUE(open) << open.error().message;
    EXPECT_TRUE(store_->update_study(open->study.id, {.state = StudyState::interrupted}));
    return *store_->study("s");
  }

  std::unique_ptr<Store> store_ = open_store_in_memory();
};

TEST_F(WatchedStudy, DoesNotWatchTheFileOfItsObjective) {
  EXPECT_EQ(definition({"python3", "train.py", "log.txt"}).files.size(), 2u);
  EXPECT_EQ(definition({"python3", "train.py", "log.txt"}, "file:log.txt").files.size(), 1u);
}

TEST_F(WatchedStudy, IsNotResumedWithAChangedScriptUnlessKnowingly) {
  const auto study = interrupted({"python3", "train.py", "conf.yaml"});
  for (const char* name : {"train.py", "conf.yaml"}) {
    folder_.write(name, "changed");
    const auto refused = resume_study(*store_, {});
    ASSERT_FALSE(refused) << name;
    EXPECT_THAT(refused.error().message,
                HasSubstr(folder_.file(name) + " has changed since study s"));
    EXPECT_THAT(refused.error().message, HasSubstr("--accept-changes"));
    folder_.write(name, name);
  }
  std::filesystem::remove(folder_.file("conf.yaml"));
  EXPECT_THAT(resume_study(*store_, {}).error().message, HasSubstr("is not there any more"));
  folder_.write("train.py", "changed");
  const auto resumed = resume_study(*store_, {.accept_changes = true});
  ASSERT_TRUE(resumed) << resumed.error().message;
  ASSERT_EQ(resumed->definition.files.size(), 1u);
  EXPECT_EQ(resumed->definition.files[0].fingerprint,
            content_fingerprint(folder_.file("train.py")));
  // From now on the study has the new content.
  const auto kept = study_definition_from_json(store_->study("s")->definition);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->files, resumed->definition.files);
  ASSERT_TRUE(store_->update_study(study.id, {.state = StudyState::interrupted}));
  EXPECT_TRUE(resume_study(*store_, {}));
}

TEST_F(WatchedStudy, AnUnchangedOneIsResumedAndSoIsOneOfAnEarlierVersion) {
  auto study = interrupted({"python3", "train.py"});
  EXPECT_TRUE(resume_study(*store_, {}));
  study.definition.erase("files");
  ASSERT_TRUE(store_->update_study(
      study.id, {.state = StudyState::interrupted, .definition = study.definition}));
  folder_.write("train.py", "changed");
  EXPECT_TRUE(resume_study(*store_, {}));
}

TEST_F(WatchedStudy, ForgetsArgumentsThatTheCommandWrites) {
  const auto study = interrupted({"python3", "train.py", "log.txt"});
  EXPECT_THAT(*forget_written_files(*store_, study.id), IsEmpty());
  folder_.write("log.txt", "step 1");
  folder_.write("train.py", "changed");
  EXPECT_THAT(*forget_written_files(*store_, study.id), ElementsAre(folder_.file("log.txt")));
  const auto kept = study_definition_from_json(store_->study("s")->definition);
  ASSERT_EQ(kept->files.size(), 1u) << "a script is not written by itself";
  EXPECT_EQ(kept->files[0].path, folder_.file("train.py"));
}

}  // namespace
}  // namespace hocket
