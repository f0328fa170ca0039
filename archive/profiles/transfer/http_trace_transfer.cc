#include "archive/profiles/transfer/http_trace_transfer.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "client/link/daemon_access.h"
#include "client/link/http_client.h"
#include "core/base/json_reader.h"
#include "core/files/file_stream.h"
#include "core/files/regular_file.h"
#include "store/profile_folder.h"
#include "store/store_uri.h"

namespace hocket {
namespace {

constexpr std::int64_t kAnswerNs = 10'000'000'000;
constexpr std::int64_t kTransferNs = 600'000'000'000;
constexpr const char* kBytes = "application/octet-stream";

/// Returns the access to the daemon at `daemon`, with the credentials in the environment.
Result<DaemonAccess> access_to(const std::string& daemon, const Environment& environment) {
  return daemon_from_environment([&](const char* name) {
    return std::string_view(name) == "HOCKET_DAEMON" ? std::optional(daemon) : environment(name);
  });
}

/// One trace at a daemon, piece by piece.
class RemoteTrace {
 public:
  RemoteTrace(DaemonAccess access, const TraceUrl& url)
      : client_(std::move(access)),
        target_("/v1/traces/" + url.set + "/" + std::to_string(url.rank) + "?offset="),
        end_(deadline_after_ns(kTransferNs)) {}

  const std::string& daemon() const { return client_.name(); }

  /// Returns the bytes from `offset` on, at most kTracePieceBytes; none at the trace's end.
  Result<std::string> read(std::int64_t offset) {
    auto answer = send({.target = target_ + std::to_string(offset)});
    HOCKET_TRY(answer);
    if (answer->status != 200) return failure(refusal(*answer));
    // The trace's end has no bytes, and so no type.
    if (!answer->body.empty() && answer->content_type != kBytes) {
      return failure(ErrorCode::unavailable,
                     daemon() + " is not a hocket daemon: it answered " + answer->content_type);
    }
    return std::move(answer->body);
  }

  Result<void> write(std::int64_t offset, std::string bytes) {
    const auto answer = send({.method = "PUT",
                              .target = target_ + std::to_string(offset),
                              .body = std::move(bytes),
                              .content_type = kBytes});
    HOCKET_TRY(answer);
    if (answer->status / 100 != 2) return failure(refusal(*answer));
    return {};
  }

 private:
  Result<HttpResponse> send(const HttpRequest& request) {
    return client_.send(request, std::min(end_, deadline_after_ns(kAnswerNs)));
  }

  Error refusal(const HttpResponse& answer) const {
    const auto read = read_answer(answer);
    if (!read) return read.error().in(daemon());
    return {ErrorCode::unavailable,
            daemon() + " answered " + std::to_string(answer.status) + " for a piece of a trace"};
  }

  HttpClient client_;
  const std::string target_;
  const Deadline end_;
};

Error too_large(const std::string& what) {
  return {ErrorCode::invalid_argument, what + " is larger than " +
                                           std::to_string(kMostServedTraceBytes >> 30) +
                                           " GiB, the most that a daemon serves"};
}

}  // namespace

HttpTraceTransfer::HttpTraceTransfer(Environment environment)
    : environment_(std::move(environment)) {}

Result<LocalTrace> HttpTraceTransfer::fetch(const TraceUrl& url) {
  auto access = access_to(url.daemon, environment_);
  HOCKET_TRY(access);
  auto folder = ScratchFolder::make();
  HOCKET_TRY(folder);
  LocalTrace trace{.path = trace_file_path(folder->path(), url.rank), .folder = std::move(*folder)};
  const auto file = open_to_write(trace.path, Writing::from_begin, 0600, Links::refused);
  HOCKET_TRY(file);
  RemoteTrace remote(std::move(*access), url);
  for (std::int64_t offset = 0;;) {
    const auto bytes = remote.read(offset);
    HOCKET_TRY(bytes);
    if (bytes->empty()) return trace;
    HOCKET_TRY(write_all(*file, *bytes, trace.path));
    offset += std::ssize(*bytes);
    if (offset > kMostServedTraceBytes) return failure(too_large(url.text()));
  }
}

Result<std::optional<TraceSet>> HttpTraceTransfer::make_set() {
  auto access = daemon_from_environment(environment_);
  if (!access && access.error().code == ErrorCode::not_found) return std::nullopt;
  HOCKET_TRY(access);
  HttpClient client(std::move(*access));
  const auto answer = client.send({.method = "POST", .target = "/v1/traces", .body = "{}"},
                                  deadline_after_ns(kAnswerNs));
  HOCKET_TRY(answer);
  // A daemon that serves no traces, or of a version that does not know of them.
  if (answer->status == 204 || answer->status == 404) return std::nullopt;
  const auto document = read_answer(*answer);
  if (!document) return failure(document.error().in(client.name()));
  TraceSet set;
  JsonReader reader(*document);
  reader.text("daemon", set.daemon);
  reader.text("set", set.id);
  if (const auto read = reader.done(); !read) return failure(read.error().in(client.name()));
  if (!parse_trace_url(set.of_rank(0).text())) {
    return failure(ErrorCode::unavailable,
                   client.name() + " answered with no trace set: " + document->dump());
  }
  return set;
}

Result<void> HttpTraceTransfer::send(const std::string& path, const TraceUrl& url) {
  auto access = access_to(url.daemon, environment_);
  HOCKET_TRY(access);
  auto opened = open_regular_file(path);
  if (!opened) return failure(ErrorCode::unavailable, opened.error().message);
  FileReader file(std::move(*opened));
  RemoteTrace remote(std::move(*access), url);
  std::string piece(kTracePieceBytes, '\0');
  for (std::int64_t offset = 0; file;) {
    file.read(piece.data(), std::ssize(piece));
    const std::int64_t bytes = file.gcount();
    if (bytes == 0) break;
    if (offset + bytes > kMostServedTraceBytes) return failure(too_large(path));
    HOCKET_TRY(remote.write(offset, piece.substr(0, static_cast<std::size_t>(bytes))));
    offset += bytes;
  }
  if (file.bad()) return failure(ErrorCode::unavailable, "cannot read " + path);
  return {};
}

std::unique_ptr<TraceTarget> trace_target(const std::string& store_path,
                                          const Environment& environment) {
  if (!is_postgres_uri(store_path) || !environment("HOCKET_TRACES").value_or("").empty())
    return nullptr;
  return std::make_unique<HttpTraceTransfer>(environment);
}

}  // namespace hocket
