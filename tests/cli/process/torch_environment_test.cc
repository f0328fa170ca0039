#include "cli/process/torch_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/client/environment.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Variables = std::map<std::string, std::string>;

class TorchEnvironment : public ::testing::Test {
 protected:
  /// Makes the package of an installation in the folder.
  std::string install(const std::string& name) const {
    const std::string package = folder_.file(name + "/share/hocket/python");
    std::filesystem::create_directories(package + "/hocket/torch/autorun");
    std::ofstream(package + "/hocket/torch/autorun/sitecustomize.py");
    return package;
  }

  Result<Variables> variables(const std::string& name, const TorchSettings& settings,
                              const Variables& environment) const {
    return variables(name, settings, environment, folder_.file("built"));
  }
  Result<Variables> variables(const std::string& name, const TorchSettings& settings,
                              const Variables& environment, const std::string& built) const {
    return torch_environment(settings, folder_.file(name + "/bin/hocket"),
                             hocket::environment(environment), built);
  }

  /// Makes a package where the program was built.
  std::string build() const {
    const std::string package = folder_.file("built");
    std::filesystem::create_directories(package + "/hocket/torch/autorun");
    std::ofstream(package + "/hocket/torch/autorun/sitecustomize.py");
    return package;
  }

  std::string path_of(const std::string& package) const {
    return package + "/hocket/torch/autorun";
  }

  TemporaryFolder folder_;
};

TEST_F(TorchEnvironment, PythonFindsThePackageBeforeAnythingElse) {
  const std::string package = install("a");
  const std::string path = path_of(package);
  EXPECT_THAT(variables("a", {}, {}).value(),
              UnorderedElementsAre(Pair("HOCKET_TORCH", "1"), Pair("PYTHONPATH", path)));
  EXPECT_EQ(variables("a", {}, {{"PYTHONPATH", "/x:/y"}}).value()["PYTHONPATH"], path + ":/x:/y");
  // An empty entry would add the working directory.
  EXPECT_EQ(variables("a", {}, {{"PYTHONPATH", ""}}).value()["PYTHONPATH"], path);
}

TEST_F(TorchEnvironment, AStoreOnAServerIsPassedOnAsItIs) {
  install("a");
  const std::string uri = "postgresql://ada:pw@db/x?host=/tmp";
  EXPECT_EQ(variables("a", {.store = uri}, {}).value()["HOCKET_STORE"], uri);
}

TEST_F(TorchEnvironment, TheLibraryBesideTheProgramIsUsedUnlessAnotherIsNamed) {
  install("a");
  std::filesystem::create_directories(folder_.file("a/lib"));
  const std::string library = folder_.write("a/lib/libhocket_client.so.1", "");
  EXPECT_EQ(variables("a", {}, {}).value()["HOCKET_CLIENT_LIBRARY"], library);
  const auto other = variables("a", {}, {{"HOCKET_CLIENT_LIBRARY", "/other.so"}}).value();
  EXPECT_EQ(other.count("HOCKET_CLIENT_LIBRARY"), 0u) << "the command inherits it";
  const auto unset = variables("a", {}, {{"HOCKET_CLIENT_LIBRARY", ""}}).value();
  EXPECT_EQ(unset.at("HOCKET_CLIENT_LIBRARY"), library);
}

TEST_F(TorchEnvironment, OptionsBecomeVariables) {
  install("a");
  const auto of_daemon =
      variables("a", {.daemon = "http://h:1", .explore = 0.03, .schedule = true}, {}).value();
  EXPECT_EQ(of_daemon.at("HOCKET_DAEMON"), "http://h:1");
  EXPECT_EQ(of_daemon.at("HOCKET_TORCH_EXPLORE"), "0.03");
  EXPECT_EQ(of_daemon.at("HOCKET_TORCH_SCHEDULE"), "1");
  EXPECT_EQ(of_daemon.count("HOCKET_STORE"), 0u);
  const auto here = std::filesystem::current_path().string();
  EXPECT_EQ(variables("a", {.store = "s.db"}, {}).value().at("HOCKET_STORE"), here + "/s.db");
}

TEST_F(TorchEnvironment, TheUsersOwnFolderIsTakenBeforeAllOthers) {
  install("a");
  build();
  const std::string own = install("mine");
  EXPECT_EQ(variables("a", {}, {{"HOCKET_PYTHON", own}}).value()["PYTHONPATH"], path_of(own));
  EXPECT_EQ(variables("a", {}, {{"HOCKET_PYTHON", ""}}).value()["PYTHONPATH"],
            path_of(folder_.file("a/share/hocket/python")));
}

TEST_F(TorchEnvironment, WhatPipHasInstalledIsFoundAroundTheProgram) {
  build();
  const std::string packages = folder_.file("site-packages");
  std::filesystem::create_directories(packages + "/hocket/torch/autorun");
  std::ofstream(packages + "/hocket/torch/autorun/sitecustomize.py");
  EXPECT_EQ(variables("site-packages/hocket", {}, {}).value()["PYTHONPATH"], path_of(packages));
}

TEST_F(TorchEnvironment, NothingTakesThePlaceOfTheUsersOwnFolder) {
  install("a");
  const auto missing = variables("a", {}, {{"HOCKET_PYTHON", "/no/such"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("HOCKET_PYTHON says: there is no "
                                                 "/no/such/hocket/torch/autorun/sitecustomize.py"));
}

TEST_F(TorchEnvironment, AProgramThatWasMovedFindsThePackageOfItsBuild) {
  const std::string built = build();
  EXPECT_EQ(variables("moved", {}, {}).value_or(Variables())["PYTHONPATH"], path_of(built));
}

TEST_F(TorchEnvironment, APackageThatOthersCanChangeIsNotThatOfTheBuild) {
  const std::string autorun = build() + "/hocket/torch/autorun";
  std::filesystem::permissions(autorun, std::filesystem::perms::all);
  EXPECT_FALSE(variables("moved", {}, {}));
}

TEST_F(TorchEnvironment, AReleaseLooksInNoFolderOfItsBuild) {
  build();
  const auto missing = variables("moved", {}, {}, "");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, Not(HasSubstr("built")));
}

TEST_F(TorchEnvironment, AMissingPackageIsAnErrorThatNamesAllPlaces) {
  const auto missing = variables("a", {}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(
      missing.error().message,
      AllOf(HasSubstr(folder_.file("a/share/hocket/python/hocket/torch/autorun")),
            HasSubstr(folder_.file("built/hocket/torch/autorun")), HasSubstr("set HOCKET_PYTHON")));
}

TEST_F(TorchEnvironment, AFolderThatPythonpathCannotNameIsAnError) {
  install("a:b");
  const auto colon = variables("a:b", {}, {});
  ASSERT_FALSE(colon);
  EXPECT_THAT(colon.error().message, HasSubstr("colon"));
}

}  // namespace
}  // namespace hocket
