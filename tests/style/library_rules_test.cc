#include "tests/style/library_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::style {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Problems library(std::string path, const std::string& header) {
  return check_library_includes(
      sample(std::move(path), "#pragma once\n#include <" + header + ">\n"));
}

TEST(LibraryRules, KeepsLibrariesWithTheirOwners) {
  EXPECT_THAT(library("core/host/gloo_collective.cc", "gloo/allreduce.h"), IsEmpty());
  EXPECT_THAT(library("core/host/gloo_ring.cc", "gloo/context.h"), IsEmpty());
  EXPECT_THAT(library("core/host/topology_probe.cc", "gloo/config.h"), IsEmpty());
  EXPECT_THAT(library("store/sqlite/connection.cc", "sqlite3.h"), IsEmpty());
  EXPECT_THAT(library("tests/store/sqlite/schema_test.cc", "sqlite3.h"), IsEmpty());
  EXPECT_THAT(library("core/cuda/executor/device_executor.cc", "cuda_runtime.h"), IsEmpty());
  EXPECT_THAT(library("core/plan/plan.cc", "vector"), IsEmpty());
  EXPECT_THAT(library("daemon/server/stream.h", "boost/asio/ssl.hpp"), IsEmpty());
  EXPECT_THAT(library("tests/daemon/server/tls_test.cc", "openssl/pem.h"), IsEmpty());
  EXPECT_THAT(library("daemon/metrics/metrics_text.cc", "prometheus/metric_family.h"), IsEmpty());

  EXPECT_THAT(library("core/host/topology_probe.cc", "gloo/allreduce.h"),
              ElementsAre(HasSubstr("gloo_ring.cc alone")));
  EXPECT_THAT(library("cli/verbs/topology.cc", "gloo/config.h"), ElementsAre(HasSubstr("alone")));
  EXPECT_THAT(library("store/open.cc", "sqlite3.h"), ElementsAre(HasSubstr("store/sqlite/ alone")));
  EXPECT_THAT(library("profiler/a.cc", "cupti.h"), ElementsAre(HasSubstr("profiler/cupti/ alone")));
  EXPECT_THAT(library("core/scheduler/executor.h", "cuda_runtime_api.h"),
              ElementsAre(HasSubstr("alone")));
  EXPECT_THAT(library("core/host/a.cc", "nccl.h"), ElementsAre(HasSubstr("core/cuda/ alone")));
  EXPECT_THAT(library("daemon/server/connection.cc", "boost/beast/http.hpp"),
              ElementsAre(HasSubstr("http_client.cc, daemon/http/request_parser.cc alone")));
  EXPECT_THAT(library("daemon/server/connection.cc", "boost/asio/ssl.hpp"),
              ElementsAre(HasSubstr("stream.h alone")));
  for (const char* header : {"boost/asio.hpp", "openssl/evp.h", "spdlog/spdlog.h",
                             "prometheus/counter.h", "systemd/sd-daemon.h"}) {
    EXPECT_THAT(library("daemon/api/routes.cc", header), ElementsAre(HasSubstr("alone")));
  }
  EXPECT_THAT(library("core/plan/plan.cc", "ranges"),
              ElementsAre(HasSubstr("not all of the compilers")));
}

TEST(LibraryRules, HoldInThisTree) {
  for (const SourceFile& file : this_tree()) {
    EXPECT_THAT(check_library_includes(file), IsEmpty());
  }
}

}  // namespace
}  // namespace hocket::style
