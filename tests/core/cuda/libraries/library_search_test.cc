#include "core/cuda/libraries/library_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/scoped_environment.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class LibrarySearchTest : public testing::Test {
 protected:
  fs::path root() const { return temporary_.path(); }
  fs::path folder(const std::string& name) {
    const fs::path made = root() / name;
    fs::create_directories(made);
    return made;
  }
  static void file(const fs::path& path) { std::ofstream(path) << "a library"; }

  /// Returns the folders without those of a toolkit that this machine may have.
  std::vector<fs::path> own_folders(const LibraryHints& hints) {
    std::vector<fs::path> own;
    for (const fs::path& found : library_folders(hints))
      if (found.string().starts_with(root().string())) own.push_back(found);
    return own;
  }

  static LibraryHints built_with(const std::vector<std::string>& folders) {
    LibraryHints hints;
    hints.built_with = folders;
    return hints;
  }
  static LibraryHints python(const std::vector<std::string>& roots) {
    LibraryHints hints;
    hints.python_roots = roots;
    return hints;
  }

 private:
  TemporaryFolder temporary_;
};

TEST_F(LibrarySearchTest, TheBuildsFoldersComeFirstThenTheToolkitsThenPythons) {
  const fs::path build = folder("build"), lib64 = folder("cuda/lib64");
  const fs::path cupti = folder("cuda/extras/CUPTI/lib64");
  const fs::path cublas = folder("env/lib/python3.12/site-packages/nvidia/cu13/lib");
  const fs::path nccl = folder("env/lib/python3.12/site-packages/nvidia/nccl/lib");
  EXPECT_THAT(own_folders({.built_with = {build.string(), (root() / "gone").string()},
                           .toolkit = (root() / "cuda").string(),
                           .python_roots = {(root() / "env").string()}}),
              ElementsAre(build, lib64, cupti, cublas, nccl));
}

TEST_F(LibrarySearchTest, DebiansPythonHasItsPackagesElsewhere) {
  const fs::path cudnn = folder("usr/lib/python3/dist-packages/nvidia/cudnn/lib");
  EXPECT_THAT(own_folders(python({root() / "usr"})), ElementsAre(cudnn));
}

TEST_F(LibrarySearchTest, AFolderIsListedOnce) {
  const fs::path build = folder("build");
  EXPECT_THAT(own_folders(built_with({build, build})), ElementsAre(build));
}

TEST_F(LibrarySearchTest, WhatCannotBeReadIsPassedOver) {
  file(root() / "lib");  // a file where a folder is expected
  EXPECT_THAT(own_folders(built_with({"", "\n"})), ElementsAre());
  EXPECT_THAT(own_folders(python({root(), ""})), ElementsAre());
}

TEST_F(LibrarySearchTest, TheLoaderIsAskedBeforeTheFolders) {
  const fs::path first = folder("first"), second = folder("second"), empty = folder("empty");
  file(first / "libx.so.2");
  file(second / "libx.so.2");
  file(empty / "libx.so.1");
  EXPECT_THAT(
      library_candidates("libx.so.2", {first, empty, second}),
      ElementsAre("libx.so.2", (first / "libx.so.2").string(), (second / "libx.so.2").string()));
}

TEST_F(LibrarySearchTest, VersionsAreAllFilesOfThatName) {
  const fs::path first = folder("first"), second = folder("second");
  file(first / "libx.so.2.1");
  file(second / "libx.so.2.0");
  file(second / "liby.so.2.0");
  EXPECT_THAT(library_versions("libx.so.2", {first, root() / "gone", second}),
              ElementsAre((first / "libx.so.2.1").string(), (second / "libx.so.2.0").string()));
}

TEST_F(LibrarySearchTest, TheEnvironmentNamesTheToolkitAndPython) {
  file(folder("venv/bin") / "python3");
  folder("other/bin");
  const std::string path = (root() / "venv/bin").string() + "::" + (root() / "other/bin").string();
  const ScopedEnvironment folders("PATH", path.c_str());
  const ScopedEnvironment by_path("CUDA_PATH", "/cuda-by-path");
  const ScopedEnvironment active("VIRTUAL_ENV", "/active");
  const ScopedEnvironment conda("CONDA_PREFIX", nullptr);
  {
    const ScopedEnvironment by_home("CUDA_HOME", nullptr);
    EXPECT_EQ(library_hints().toolkit, "/cuda-by-path");
  }
  const ScopedEnvironment by_home("CUDA_HOME", "/cuda-by-home");
  EXPECT_EQ(library_hints().toolkit, "/cuda-by-home");
  EXPECT_THAT(library_hints().python_roots, ElementsAre("/active", (root() / "venv").string()));
}

}  // namespace
}  // namespace hocket
