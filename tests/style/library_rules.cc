#include "tests/style/library_rules.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/style/includes.h"

namespace hocket::style {
namespace {

/// Headers that start with `prefix` are for files whose path starts with one of `owners`, and for
/// the tests that mirror them; for no file if there are none.
struct LibraryRule {
  std::string_view prefix;
  std::vector<std::string_view> owners;
};

const std::vector<LibraryRule>& library_rules() {
  // The first rule that matches counts.
  static const std::vector<LibraryRule> rules = {
      {"gloo/config.h", {"core/host/gloo_collective.cc", "core/host/topology_probe.cc"}},
      {"gloo/", {"core/host/gloo_collective.cc", "core/host/gloo_ring.cc"}},
      {"sqlite3", {"store/sqlite/"}},
      {"libpq", {"store/postgres/"}},
      {"archive", {"profiler/formats/packed/packed_stream"}},
      {"google/protobuf", {"profiler/formats/perfetto.cc"}},
      {"perfetto.pb.h", {"profiler/formats/perfetto.cc"}},
      {"cupti", {"profiler/cupti/"}},
      {"cuda", {"core/cuda/", "kernels/cuda/"}},
      {"cublas", {"core/cuda/"}},
      {"nccl", {"core/cuda/"}},
      {"cudnn", {"kernels/cuda/cudnn/"}},
      {"cblas", {"kernels/host/blas.cc", "benchmarks/kernels_benchmark.cc"}},
      {"openssl/",
       {"core/greeting/rendezvous_secret.cc", "client/link/http_client", "core/sharing/sha256.cc",
        "core/sharing/signature.cc", "daemon/server/tls", "daemon/api/token_file.cc",
        // Certificates that tests make.
        "tls_identity.h"}},
      {"boost/asio/ssl",
       {"client/link/http_client", "daemon/server/tls", "daemon/server/stream.h"}},
      {"boost/asio",
       {"core/greeting/server_side", "core/host/messages/", "core/host/tcp_store",
        "core/servers/parameter_server", "core/servers/server_connection",
        "client/link/http_client", "daemon/server/asio.h", "daemon/server/tls",
        "benchmarks/daemon/bare_server.cc", "benchmarks/servers/server_benchmark.cc"}},
      {"boost/beast", {"client/link/http_client.cc", "daemon/http/request_parser.cc"}},
      {"re2/",
       {"tuner/trial/output/line_matcher.cc", "archive/profiles/import/communication_patterns.cc"}},
      {"yaml-cpp/", {"models/signals/parse_signals.cc"}},
      {"spdlog/", {"daemon/http/log.cc"}},
      {"prometheus/", {"daemon/metrics/metrics_text.cc"}},
      {"systemd/", {"daemon/server/systemd.cc"}},
      // Clang 14, which builds the fuzz targets, does not compile the views of libstdc++ 12.
      {"ranges", {}},
  };
  return rules;
}

}  // namespace

Problems check_library_includes(const SourceFile& file) {
  if (file.kind != FileKind::cpp) return {};
  std::string_view path = file.path;
  if (path.starts_with("tests/")) path.remove_prefix(6);
  Problems problems;
  for (const Include& include : includes_of(file.text)) {
    if (include.quoted && include.path.find('/') != std::string_view::npos) continue;
    for (const LibraryRule& rule : library_rules()) {
      if (!include.path.starts_with(rule.prefix)) continue;
      const bool owned =
          std::any_of(rule.owners.begin(), rule.owners.end(),
                      [&](std::string_view owner) { return path.starts_with(owner); });
      if (!owned) {
        std::string names;
        for (const std::string_view owner : rule.owners) {
          names.append(names.empty() ? "" : ", ").append(owner);
        }
        problems.push_back(at(file, include) +
                           (names.empty() ? "which not all of the compilers in use can compile"
                                          : "which is for " + names + " alone"));
      }
      break;
    }
  }
  return problems;
}

}  // namespace hocket::style
