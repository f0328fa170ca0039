#include "tests/style/layering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::style {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SourceFile including(std::string path, const std::string& header) {
  return sample(std::move(path), "#pragma once\n#include " + header + "\n");
}

/// Returns the problems of `path` if it includes the existing file `header`.
Problems own(std::string path, const std::string& header) {
  return check_own_includes(including(std::move(path), "\"" + header + "\""), {sample(header, "")});
}

Problems library(std::string path, const std::string& header) {
  return check_library_includes(including(std::move(path), "<" + header + ">"));
}

TEST(Layering, FindsIncludesHoweverTheyAreWritten) {
  const auto includes = includes_of(
      "#include \"a/b.h\"\n  #  include <c>\n// #include <no>\n#include NAME\nint x;\n");
  ASSERT_EQ(includes.size(), 2u);
  EXPECT_EQ(includes[0].path, "a/b.h");
  EXPECT_TRUE(includes[0].quoted);
  EXPECT_EQ(includes[1].path, "c");
  EXPECT_FALSE(includes[1].quoted);
  EXPECT_EQ(includes[1].line, 2u);
}

TEST(Layering, KnowsWhichFolderAFileBelongsTo) {
  EXPECT_EQ(room_of("core/plan.h"), "core");
  EXPECT_EQ(room_of("core/host/link.h"), "core/host");
  EXPECT_EQ(room_of("store/sqlite/rows.h"), "store");
  EXPECT_EQ(room_of("tuner/client/client.h"), "tuner/client");
  EXPECT_EQ(room_of("corelib/plan.h"), "");
  EXPECT_EQ(room_of("main.cc"), "");
}

TEST(Layering, LetsFoldersIncludeWhatStandsBelowThem) {
  EXPECT_THAT(own("core/plan.cc", "core/task.h"), IsEmpty());
  EXPECT_THAT(own("core/host/link.cc", "core/clock.h"), IsEmpty());
  EXPECT_THAT(own("store/open.cc", "store/sqlite/rows.h"), IsEmpty());
  EXPECT_THAT(own("tuner/daemon/push.cc", "store/store.h"), IsEmpty());
  EXPECT_THAT(own("cli/tune.cc", "core/host/link.h"), IsEmpty());
  EXPECT_THAT(own("cli/simulate.cc", "profiler/export/chrome_trace.h"), IsEmpty());
  EXPECT_THAT(own("benchmarks/gpu/step.cc", "profiler/cupti/cupti_session.h"), IsEmpty());
  EXPECT_THAT(own("examples/gpt2/main.cc", "tuner/client/client.h"), IsEmpty());
  EXPECT_THAT(own("tests/store/rows_test.cc", "store/sqlite/rows.h"), IsEmpty());
}

TEST(Layering, RefusesArrowsThatRunUpOrSideways) {
  EXPECT_THAT(own("core/plan.cc", "core/host/link.h"), ElementsAre(HasSubstr("may not include")));
  EXPECT_THAT(own("core/host/a.cc", "core/sim/b.h"), ElementsAre(HasSubstr("may not include")));
  EXPECT_THAT(own("core/sim/a.cc", "core/cuda/b.h"), ElementsAre(HasSubstr("may not include")));
  EXPECT_THAT(own("store/a.cc", "tuner/space.h"), ElementsAre(HasSubstr("may not include")));
  EXPECT_THAT(own("tuner/a.cc", "store/store.h"), ElementsAre(HasSubstr("may not include")));
  EXPECT_THAT(own("tuner/a.cc", "core/host/link.h"), ElementsAre(HasSubstr("may not include")));
  EXPECT_THAT(own("tuner/client/a.cc", "tuner/space.h"), ElementsAre(HasSubstr("may not include")));
  EXPECT_THAT(own("profiler/a.cc", "store/store.h"), ElementsAre(HasSubstr("may not include")));
  EXPECT_THAT(own("profiler/a.cc", "profiler/export/b.h"),
              ElementsAre(HasSubstr("may not include")));
  EXPECT_THAT(own("core/cuda/a.cc", "profiler/cupti/b.h"),
              ElementsAre(HasSubstr("may not include")));
  EXPECT_THAT(own("cli/a.cc", "tests/mutate.h"), ElementsAre(HasSubstr("may not include")));
  EXPECT_THAT(own("examples/a.cc", "cli/json.h"), ElementsAre(HasSubstr("may not include")));
}

TEST(Layering, KeepsSubfoldersPrivate) {
  EXPECT_THAT(own("cli/best.cc", "store/sqlite/rows.h"),
              ElementsAre(HasSubstr("private to store")));
  EXPECT_THAT(own("examples/gpt2/main.cc", "tuner/process/capture.h"),
              ElementsAre(HasSubstr("private to tuner")));
  EXPECT_THAT(own("tuner/daemon/a.cc", "tuner/process/capture.h"),
              ElementsAre(HasSubstr("private to tuner")));
}

TEST(Layering, RefusesPathsThatAreNotFromTheRootAndUnknownFolders) {
  EXPECT_THAT(
      check_own_includes(including("core/plan.cc", "\"task.h\""), {sample("core/task.h", "")}),
      ElementsAre(HasSubstr("no path from the root")));
  EXPECT_THAT(own("util/a.cc", "core/task.h"), ElementsAre(HasSubstr("in no folder")));
  EXPECT_THAT(own("core/plan.cc", "util/a.h"), ElementsAre(HasSubstr("in no folder")));
}

TEST(Layering, KeepsLibrariesWithTheirOwners) {
  EXPECT_THAT(library("core/host/gloo_collective.cc", "gloo/allreduce.h"), IsEmpty());
  EXPECT_THAT(library("core/host/gloo_ring.cc", "gloo/context.h"), IsEmpty());
  EXPECT_THAT(library("core/host/topology_probe.cc", "gloo/config.h"), IsEmpty());
  EXPECT_THAT(library("store/sqlite/connection.cc", "sqlite3.h"), IsEmpty());
  EXPECT_THAT(library("tests/store/sqlite/schema_test.cc", "sqlite3.h"), IsEmpty());
  EXPECT_THAT(library("core/cuda/device_executor.cc", "cuda_runtime.h"), IsEmpty());
  EXPECT_THAT(library("core/plan.cc", "vector"), IsEmpty());
  EXPECT_THAT(library("tuner/daemon/stream.h", "boost/asio/ssl.hpp"), IsEmpty());
  EXPECT_THAT(library("tests/tuner/daemon/tls_test.cc", "openssl/pem.h"), IsEmpty());
  EXPECT_THAT(library("tuner/daemon/metrics.cc", "prometheus/metric_family.h"), IsEmpty());

  EXPECT_THAT(library("core/host/topology_probe.cc", "gloo/allreduce.h"),
              ElementsAre(HasSubstr("gloo_ring.cc alone")));
  EXPECT_THAT(library("cli/topology.cc", "gloo/config.h"), ElementsAre(HasSubstr("alone")));
  EXPECT_THAT(library("store/open.cc", "sqlite3.h"), ElementsAre(HasSubstr("store/sqlite/ alone")));
  EXPECT_THAT(library("profiler/a.cc", "cupti.h"), ElementsAre(HasSubstr("profiler/cupti/ alone")));
  EXPECT_THAT(library("core/executor.h", "cuda_runtime_api.h"), ElementsAre(HasSubstr("alone")));
  EXPECT_THAT(library("core/host/a.cc", "nccl.h"), ElementsAre(HasSubstr("core/cuda/ alone")));
  EXPECT_THAT(library("tuner/daemon/connection.cc", "boost/beast/http.hpp"),
              ElementsAre(HasSubstr("http_client.cc, tuner/daemon/request_parser.cc alone")));
  EXPECT_THAT(library("tuner/daemon/connection.cc", "boost/asio/ssl.hpp"),
              ElementsAre(HasSubstr("stream.h alone")));
  for (const char* header : {"boost/asio.hpp", "openssl/evp.h", "spdlog/spdlog.h",
                             "prometheus/counter.h", "systemd/sd-daemon.h"}) {
    EXPECT_THAT(library("tuner/daemon/routes.cc", header), ElementsAre(HasSubstr("alone")));
  }
}

TEST(Layering, HoldsInThisTree) {
  for (const SourceFile& file : this_tree()) {
    EXPECT_THAT(check_own_includes(file, this_tree()), IsEmpty());
    EXPECT_THAT(check_library_includes(file), IsEmpty());
  }
}

}  // namespace
}  // namespace hocket::style
