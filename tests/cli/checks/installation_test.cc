// Tests what `hocket doctor` says of installations.

#include "cli/checks/installation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "capi/hocket_client.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

class InstallationChecks : public ::testing::Test {
 protected:
  void make(const std::string& file) const {
    fs::create_directories(fs::path(folder_.file(file)).parent_path());
    std::ofstream(folder_.file(file)) << "";
  }

  /// Returns the check of `what` where libraries are what `library` says.
  DoctorCheck check(const std::string& what, const std::optional<ProbedLibrary>& library,
                    const std::string& variable = "") const {
    const auto probe = [&](std::span<const std::string> candidates) {
      asked_.assign(candidates.begin(), candidates.end());
      return library;
    };
    const Installation installation{
        .program = folder_.file("bin/hocket"), .version = "1.2.3", .client_library = variable};
    for (const DoctorCheck& one : check_installation(installation, probe)) {
      if (one.what == what) return one;
    }
    ADD_FAILURE() << "no check of " << what;
    return {};
  }

  const TemporaryFolder folder_;
  mutable std::vector<std::string> asked_;
};

TEST_F(InstallationChecks, NameTheProgram) {
  EXPECT_EQ(
      check("program", std::nullopt),
      (DoctorCheck{.what = "program", .found = "hocket 1.2.3, " + folder_.file("bin/hocket")}));
}

TEST_F(InstallationChecks, FindWhatLiesBesideTheProgram) {
  for (const char* what : {"Python package", "manual pages", "completion"}) {
    const DoctorCheck missing = check(what, std::nullopt);
    EXPECT_EQ(missing.state, CheckState::missing) << what;
    EXPECT_THAT(missing.found, HasSubstr(folder_.file("share"))) << what;
    EXPECT_NE(missing.remedy, "") << what;
  }
  make("share/hocket/python/hocket/torch/__init__.py");
  make("share/man/man1/hocket.1.gz");
  make("share/bash-completion/completions/hocket");
  for (const char* what : {"Python package", "manual pages", "completion"}) {
    const DoctorCheck found = check(what, std::nullopt);
    EXPECT_EQ(found.state, CheckState::ok) << what;
    EXPECT_EQ(found.remedy, "") << what;
  }
}

TEST_F(InstallationChecks, FindThePackageIntoWhichPipHasInstalledTheProgram) {
  make("torch/__init__.py");
  EXPECT_EQ(check("Python package", std::nullopt),
            (DoctorCheck{.what = "Python package", .found = folder_.file("torch/__init__.py")}));
}

TEST_F(InstallationChecks, FindTheClientLibraryOfThisInstallationFirst) {
  make("lib/libhocket_client.so.1");
  const ProbedLibrary library{folder_.file("lib/libhocket_client.so.1"), HOCKET_CLIENT_ABI};
  const DoctorCheck found = check("client library", library);
  EXPECT_EQ(found, (DoctorCheck{.what = "client library", .found = library.file}));
  EXPECT_THAT(asked_, ::testing::ElementsAre(library.file, "libhocket_client.so.1"));
}

TEST_F(InstallationChecks, SayThatTheClientLibraryIsMissing) {
  const DoctorCheck missing = check("client library", std::nullopt);
  EXPECT_EQ(missing.state, CheckState::missing);
  EXPECT_THAT(missing.remedy, HasSubstr("libhocket-client1"));
}

TEST_F(InstallationChecks, SayThatTheVariableNamesNoLibrary) {
  const DoctorCheck wrong = check("client library", std::nullopt, "/nowhere/library.so");
  EXPECT_EQ(wrong.state, CheckState::wrong);
  EXPECT_THAT(wrong.found, HasSubstr("/nowhere/library.so"));
  EXPECT_THAT(wrong.remedy, HasSubstr("HOCKET_CLIENT_LIBRARY"));
  EXPECT_THAT(asked_, ::testing::ElementsAre("/nowhere/library.so"));
}

TEST_F(InstallationChecks, SayThatALibraryHasAnotherInterface) {
  for (const std::optional<int> interface :
       {std::optional(HOCKET_CLIENT_ABI + 1), std::optional<int>()}) {
    const DoctorCheck wrong = check("client library", ProbedLibrary{"other.so", interface});
    EXPECT_EQ(wrong.state, CheckState::wrong);
    EXPECT_THAT(wrong.found, AllOf(HasSubstr("other.so"), HasSubstr("another interface")));
  }
}

TEST(LibraryProbe, OpensTheFirstThatCanBeOpened) {
  const std::vector<std::string> candidates = {"/nowhere/library.so", "libc.so.6", "libm.so.6"};
  EXPECT_EQ(probe_library(candidates), (ProbedLibrary{"libc.so.6", std::nullopt}));
  EXPECT_EQ(probe_library(std::vector<std::string>{"/nowhere/library.so"}), std::nullopt);
}

}  // namespace
}  // namespace hocket
