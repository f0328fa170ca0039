#include "store/profile_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "store/trace_file.h"
#include "tests/scoped_environment.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

TEST(ProfileFolder, EachProfileGetsANameAndAFolderOfItsOwn) {
  const TemporaryFolder dir;
  const std::string path = dir.file("new/hocket.db");
  const auto store = open_store_in_memory();
  const auto first = must(create_profile_folder(*store, path, "gpt2-6x256"));
  const auto second = must(create_profile_folder(*store, path, "gpt2-6x256"));
  EXPECT_NE(first.name, second.name);
  EXPECT_EQ(first.path, path + ".profiles/" + first.name);
  EXPECT_TRUE(std::filesystem::is_directory(first.path));
  EXPECT_TRUE(std::filesystem::is_directory(second.path));
  // The store accepts the names, and names in use are not given out.
  EXPECT_EQ(must(store->add_profile({.name = first.name})).name, first.name);
  NewProfile next{.name = "gpt2-6x256-4"};
  must(store->add_profile(next));
  must(remove_profile_folder(path, first.name));
  for (int i = 0; i < 3; ++i) {
    const auto other = must(create_profile_folder(*store, path, "gpt2-6x256"));
    EXPECT_NE(other.name, first.name);
    EXPECT_NE(other.name, next.name);
  }
}

TEST(ProfileFolder, IsMadeOfATrailOfRanksAndRemovedWithThem) {
  const TemporaryFolder dir;
  const std::string path = dir.file("hocket.db");
  const auto store = open_store_in_memory();
  const auto folder = must(create_profile_folder(*store, path, "job"));
  for (const std::int64_t rank : {0, 17}) std::ofstream(trace_file_path(folder.path, rank)) << "x";
  std::ofstream(trace_file_path(folder.path, 3) + "-journal") << "x";
  EXPECT_EQ(trace_file_path(folder.path, 17), folder.path + "/rank-17.sqlite");
  must(remove_profile_folder(path, folder.name));
  EXPECT_FALSE(std::filesystem::exists(folder.path));
  must(remove_profile_folder(path, folder.name));  // a second call has no effect
}

TEST(ProfileFolder, RemovingLeavesWhatIsNoTrace) {
  const TemporaryFolder dir;
  const std::string path = dir.file("hocket.db");
  const auto store = open_store_in_memory();
  const auto folder = must(create_profile_folder(*store, path, "job"));
  std::ofstream(trace_file_path(folder.path, 0)) << "x";
  std::ofstream(folder.path + "/notes.txt") << "x";
  must(remove_profile_folder(path, folder.name));
  EXPECT_FALSE(std::filesystem::exists(trace_file_path(folder.path, 0)));
  EXPECT_TRUE(std::filesystem::exists(folder.path + "/notes.txt"));
  std::ofstream(dir.file("rank-0.sqlite")) << "x";
  for (const char* name : {"..", ".", "", "a/b", "../hocket.db.profiles"})
    EXPECT_EQ(code_of(remove_profile_folder(path, name)), ErrorCode::invalid_argument) << name;
  EXPECT_TRUE(std::filesystem::exists(dir.file("rank-0.sqlite")));
}

TEST(ProfileFolder, OfAStoreOnAServerIsWhereTheEnvironmentSays) {
  const std::string store = "postgresql://ada@db/x";
  const auto folder_by = [&](const char* traces, const char* state, const char* home) {
    const ScopedEnvironment a("HOCKET_TRACES", traces), b("XDG_STATE_HOME", state), c("HOME", home);
    return profiles_folder(store);
  };
  EXPECT_EQ(must(folder_by("/shared/traces", "/state", "/home/me")), "/shared/traces");
  EXPECT_EQ(must(folder_by("", "/state", "/home/me")), "/state/hocket/profiles");
  EXPECT_EQ(must(folder_by(nullptr, nullptr, "/home/me")), "/home/me/.local/state/hocket/profiles");
  EXPECT_EQ(must(folder_by("traces", nullptr, nullptr)),
            std::filesystem::absolute("traces").string());
  const auto none = folder_by(nullptr, nullptr, nullptr);
  EXPECT_EQ(code_of(none), ErrorCode::invalid_argument);
  EXPECT_NE(message_of(none).find("set HOCKET_TRACES"), std::string::npos);

  const TemporaryFolder dir;
  const std::string traces = dir.file("traces");
  const ScopedEnvironment variable("HOCKET_TRACES", traces.c_str());
  const auto in_memory = open_store_in_memory();
  const auto folder = must(create_profile_folder(*in_memory, store, "job"));
  EXPECT_EQ(folder.path, traces + "/job-1");
  EXPECT_EQ(must(profiles_folder(dir.file("hocket.db"))), dir.file("hocket.db.profiles"))
      << "those of a file are beside it";
  must(remove_profile_folder(store, folder.name));
  EXPECT_FALSE(std::filesystem::exists(folder.path));
}

TEST(ProfileFolder, AFolderThatCannotBeMadeIsSaid) {
  const TemporaryFolder dir;
  std::ofstream(dir.file("file")) << "x";
  const auto store = open_store_in_memory();
  const auto made = create_profile_folder(*store, dir.file("file/hocket.db"), "job");
  ASSERT_EQ(code_of(made), ErrorCode::unavailable);
  EXPECT_NE(made.error().message.find("hocket.db.profiles"), std::string::npos);
}

mode_t permissions_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

TEST(ProfileFolder, ThoseWhoCanUseTheStoreCanUseItsTraces) {
  const auto before = ::umask(0);
  for (const auto& [store_mode, folder_mode] :
       {std::pair{0600u, 0700u}, std::pair{0640u, 0750u}, std::pair{0660u, 0770u}}) {
    const TemporaryFolder dir;
    const std::string path = dir.write("hocket.db", "");
    ASSERT_EQ(::chmod(path.c_str(), store_mode), 0);
    const auto store = open_store_in_memory();
    const auto folder = must(create_profile_folder(*store, path, "job"));
    EXPECT_EQ(permissions_of(path + ".profiles"), folder_mode);
    EXPECT_EQ(permissions_of(folder.path), folder_mode);
    const std::string file = trace_file_path(folder.path, 0);
    must(must(create_trace_file(file, {}))->finish());
    EXPECT_EQ(permissions_of(file), store_mode);
  }
  const TemporaryFolder state;
  const ScopedEnvironment home("XDG_STATE_HOME", state.path().c_str()), none("HOCKET_TRACES", "");
  const auto store = open_store_in_memory();
  const auto folder = must(create_profile_folder(*store, "postgresql://db/hocket", "job"));
  EXPECT_EQ(permissions_of(folder.path), 0700u);
  const TemporaryFolder shared;
  ASSERT_EQ(::chmod(shared.path().c_str(), 0775), 0);
  const ScopedEnvironment traces("HOCKET_TRACES", shared.path().c_str());
  EXPECT_EQ(
      permissions_of(must(create_profile_folder(*store, "postgresql://db/hocket", "job")).path),
      0775u);
  ::umask(before);
}

}  // namespace
}  // namespace hocket
