// Tests `hocket doctor` and `hocket prune`, and that docs/FILES.md names what they know.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/base/context.h"
#include "cli/files/own_file.h"
#include "core/base/json.h"
#include "core/files/scratch_folder.h"
#include "core/protocol/daemon_token.h"
#include "daemon/api/own_token.h"
#include "store/open.h"
#include "tests/cli/answer.h"
#include "tests/scoped_environment.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A user whose folders are all in one of the test's.
class Doctor : public ::testing::Test {
 protected:
  Doctor() {
    fs::create_directory(temporary_);
    must(open_store(store_));
    must(open_own_token(state_ + "/hocket", 7077));
  }

  static nlohmann::json at(const nlohmann::json& files, const std::string& path) {
    for (const auto& file : files) {
      if (file.at("path") == path) return file;
    }
    ADD_FAILURE() << "no " << path << " in " << files;
    return {};
  }

  /// Makes the folder of a process that was killed.
  std::string left_over() const {
    const std::string path = must(ScratchFolder::make(temporary_)).path();
    EXPECT_EQ(::mkdir(path.c_str(), 0700), 0);
    std::ofstream(path + "/report.json") << "{}";
    return path;
  }

  const TemporaryFolder folder_;
  const std::string state_ = folder_.file("state"), cache_ = folder_.file("cache"),
                    temporary_ = folder_.file("temporary");
  const std::string store_ = state_ + "/hocket/hocket.db";
  const std::string token_ = daemon_token_path(state_ + "/hocket", 7077);
  const ScopedEnvironment store_variable_{"HOCKET_STORE", nullptr},
      state_variable_{"XDG_STATE_HOME", state_.c_str()},
      cache_variable_{"XDG_CACHE_HOME", cache_.c_str()},
      temporary_variable_{"TMPDIR", temporary_.c_str()}, daemon_variable_{"HOCKET_DAEMON", nullptr},
      library_variable_{"HOCKET_CLIENT_LIBRARY", nullptr};
};

TEST_F(Doctor, ListsEveryFileAndSaysThatAllIsWellWhereTheClientLibraryIsThere) {
  const auto text = ask_hocket({"doctor", "--no-start"});
  EXPECT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr(store_), HasSubstr(token_), HasSubstr(state_ + "/hocket"),
                              HasSubstr(cache_ + "/hocket")));
  const auto answer = ask_hocket({"doctor", "--no-start", "--json"}).json();
  // Beside the test's program the library is there or not, as it was built.
  const auto& checks = answer.at("checks");
  const auto library = std::ranges::find_if(
      checks, [](const auto& check) { return check.at("what") == "client library"; });
  ASSERT_NE(library, checks.end());
  const bool is_missing = library->at("state") == "missing";
  EXPECT_EQ(text.out.find("all is well") == std::string::npos, is_missing);
  EXPECT_EQ(text.out.find("the client library is missing") != std::string::npos, is_missing);
  EXPECT_EQ(answer.at("wrong"), 0);
  EXPECT_EQ(answer.at("left_over"), 0);
  const auto store = at(answer.at("files"), store_);
  EXPECT_EQ(store.at("what"), "store");
  EXPECT_EQ(store.at("state"), "ok");
  EXPECT_GT(store.at("bytes"), 1000);
  EXPECT_EQ(at(answer.at("files"), cache_ + "/hocket").at("state"), "missing");
}

TEST_F(Doctor, SaysWhatIsWrongAndWhatToDo) {
  ASSERT_EQ(::chmod(token_.c_str(), 0644), 0);
  const auto text = ask_hocket({"doctor", "--no-start"});
  EXPECT_EQ(text.status, kFailed);
  EXPECT_THAT(text.out, AllOf(HasSubstr("wrong permissions"), HasSubstr("chmod go-rwx " + token_),
                              HasSubstr("1 needs attention"), Not(HasSubstr("all is well"))));
  EXPECT_EQ(
      at(ask_hocket({"doctor", "--no-start", "--json"}).json().at("files"), token_).at("state"),
      "wrong permissions");
  ASSERT_EQ(::chmod(token_.c_str(), 0600), 0);
  EXPECT_EQ(ask_hocket({"doctor", "--no-start"}).status, kDone);

  std::ofstream(store_, std::ios::trunc) << std::string(900, 'x');
  const auto damaged = ask_hocket({"doctor", "--no-start"});
  EXPECT_EQ(damaged.status, kFailed);
  EXPECT_THAT(damaged.out, AllOf(HasSubstr("unusable"), HasSubstr("not an SQLite database")));
}

/// Returns the state of the check of `what`.
std::string state_of(const nlohmann::json& answer, const std::string& what) {
  for (const auto& check : answer.at("checks")) {
    if (check.at("what") == what) return check.at("state");
  }
  ADD_FAILURE() << "no check of " << what << " in " << answer;
  return "";
}

TEST_F(Doctor, SaysWhatIsThereAndWhatIsMissing) {
  const auto text = ask_hocket({"doctor", "--no-start"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("client library"), HasSubstr("hocket "),
                              HasSubstr("open files"), HasSubstr("HOCKET_DAEMON is not set")));
  const auto answer = ask_hocket({"doctor", "--no-start", "--json"}).json();
  EXPECT_EQ(state_of(answer, "program"), "ok");
  EXPECT_EQ(state_of(answer, "daemon"), "note");
  const ScopedEnvironment library("HOCKET_CLIENT_LIBRARY", "/nowhere/library.so");
  const auto wrong = ask_hocket({"doctor", "--no-start", "--json"});
  EXPECT_EQ(wrong.status, kFailed);
  EXPECT_EQ(wrong.json().at("wrong"), 1);
  EXPECT_EQ(state_of(wrong.json(), "client library"), "wrong");
}

TEST_F(Doctor, LooksAtTheStoreThatItIsGiven) {
  const std::string other = folder_.file("other.db");
  EXPECT_THAT(ask_hocket({"doctor", "--no-start", "--store", other}).out,
              AllOf(HasSubstr(other), Not(HasSubstr(store_))));
  EXPECT_FALSE(fs::exists(other));
  const auto unasked = ask_hocket({"doctor", "--", "true"});
  EXPECT_EQ(unasked.status, kBadInput);
  EXPECT_THAT(unasked.err, HasSubstr("doctor without --job runs no command"));
  EXPECT_EQ(ask_hocket({"doctor", "--job"}).status, kBadInput);
  EXPECT_EQ(ask_hocket({"doctor", "--timeout", "5s"}).status, kBadInput);
}

TEST_F(Doctor, PruneRemovesWhatIsLeftOver) {
  const std::string path = left_over();
  const auto found = ask_hocket({"doctor", "--no-start"});
  EXPECT_EQ(found.status, kDone) << "it does no harm";
  EXPECT_THAT(found.out, AllOf(HasSubstr("left over"), HasSubstr("1 is left over"),
                               HasSubstr("`hocket prune` removes it")));
  const auto dry = ask_hocket({"prune", "--dry-run"});
  EXPECT_EQ(dry.status, kDone);
  EXPECT_THAT(dry.out, AllOf(HasSubstr("would go"), HasSubstr(path)));
  EXPECT_TRUE(fs::exists(path));
  const auto dry_json = ask_hocket({"prune", "--dry-run", "--json"}).json();
  EXPECT_EQ(dry_json.at("dry_run"), true);

  const auto removed = ask_hocket({"prune", "--json"});
  EXPECT_EQ(removed.status, kDone) << removed.err;
  EXPECT_EQ(removed.json().at("removed"), dry_json.at("removed"));
  EXPECT_EQ(removed.json().at("removed")[0].at("path"), path);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(store_));
  EXPECT_TRUE(fs::exists(token_));
  EXPECT_THAT(ask_hocket({"prune"}).out, HasSubstr("nothing to remove"));
}

TEST_F(Doctor, PruneLeavesWhatIsInUse) {
  const auto scratch = must(ScratchFolder::make(temporary_));
  EXPECT_THAT(ask_hocket({"doctor", "--no-start"}).out, HasSubstr("in use"));
  EXPECT_THAT(ask_hocket({"prune"}).out, HasSubstr("nothing to remove"));
  EXPECT_TRUE(fs::exists(scratch.path()));
}

TEST_F(Doctor, PruneSaysWhatItCouldNotRemove) {
  const std::string traces = store_ + ".profiles/gone-1";
  fs::create_directories(traces);
  std::ofstream(traces + "/notes") << "mine";
  const auto then = fs::file_time_type::clock::now() - std::chrono::hours(48);
  fs::last_write_time(traces + "/notes", then);
  fs::last_write_time(traces, then);
  const auto answer = ask_hocket({"prune"});
  EXPECT_EQ(answer.status, kFailed);
  EXPECT_THAT(answer.err, AllOf(HasSubstr(traces), HasSubstr("stays")));
  EXPECT_TRUE(fs::exists(traces + "/notes"));
}

/// Returns the words in backticks with which rows of the page's tables begin: "| `store` | …".
std::set<std::string> kinds_of_page(const std::string& page) {
  std::set<std::string> kinds;
  constexpr std::string_view kRow = "\n| `";
  for (auto at = page.find(kRow); at != std::string::npos; at = page.find(kRow, at + 1)) {
    const auto begin = at + kRow.size();
    kinds.insert(page.substr(begin, page.find('`', begin) - begin));
  }
  return kinds;
}

TEST(FilesPage, HasARowForEachKindThatTheDoctorKnows) {
  const auto page = read_file(HOCKET_SOURCE_DIR "/docs/FILES.md");
  ASSERT_TRUE(page) << page.error().message;
  std::set<std::string> known;
  for (const OwnKind kind : own_kinds()) known.emplace(to_string(kind));
  EXPECT_EQ(kinds_of_page(*page), known);
}

}  // namespace
}  // namespace hocket
