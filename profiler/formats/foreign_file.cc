#include "profiler/formats/foreign_file.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr const char* kOfPyTorch =
    "import the trace of torch.profiler (export_chrome_trace), which has the times of kernels";

bool holds(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::all_of(
      parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

/// Returns what is in the first message of a protobuf file whose field 1 is a message; empty if it
/// is none.
std::string_view first_message(std::string_view head) {
  constexpr char kField1 = '\x0a';
  if (head.empty() || head.front() != kField1) return {};
  head.remove_prefix(1);
  constexpr std::size_t kMostLengthBytes = 10;
  for (std::size_t i = 0; i < std::min(head.size(), kMostLengthBytes); ++i) {
    if ((static_cast<unsigned char>(head[i]) & 0x80) == 0) return head.substr(i + 1);
  }
  return {};
}

/// Returns whether a message begins like an XPlane: with its number or its name, "/device:…".
bool is_xplane(std::string_view message) {
  if (message.starts_with('\x08')) message.remove_prefix(std::min<std::size_t>(2, message.size()));
  return message.size() > 2 && message.front() == '\x12' &&
         (message.substr(2).starts_with('/') || message.substr(2).starts_with("Task"));
}

std::optional<std::string> foreign_binary(std::string_view name, std::string_view head) {
  const std::string_view message = first_message(head);
  if (name.ends_with(".xplane.pb") || is_xplane(message)) {
    return "it is an XPlane profile of XLA (JAX, TensorFlow); import the trace.json.gz beside it, "
           "or let jax.profiler.trace(…, create_perfetto_trace=True) write one";
  }
  if (name.ends_with(".et") || holds(head, {"chakra"}) ||
      (head.size() > 4 && head[1] == '\x0a' && head.substr(3).starts_with("0.0."))) {
    return std::string(
               "it is an execution trace of Chakra, which has operations without the times "
               "of kernels; ") +
           kOfPyTorch;
  }
  if (name.ends_with(".pftrace") || name.ends_with(".perfetto-trace") || !message.empty()) {
    return "it is a binary trace of Perfetto, such as rocprofv3 writes and `hocket profiles "
           "export`; convert it with `traceconv json`, or import what it was made from";
  }
  if (name.ends_with(".ncu-rep")) {
    return "it is a report of Nsight Compute on single kernels; record the job with Nsight Systems "
           "and import `nsys export --type sqlite`";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> foreign_file(std::string_view name, std::string_view head) {
  const auto at = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const bool is_json = at != std::string_view::npos && (head[at] == '{' || head[at] == '[');
  if (head.starts_with("\"Kind\",\"Agent_Id\"") || holds(head, {"rocprofiler-sdk-tool"})) {
    return std::string(
               "it is output of rocprofv3 (CSV or JSON), whose names and times lie in "
               "tables of its own; ") +
           kOfPyTorch;
  }
  if (!is_json || head.find("traceEvents") != std::string_view::npos)
    return is_json ? std::nullopt : foreign_binary(name, head);
  if (holds(head, {"\"schema\"", "chakra"}) || holds(head, {"\"schema\"", "\"nodes\""}) ||
      holds(head, {"execution_trace"})) {
    return std::string(
               "it is an execution trace of PyTorch (ExecutionTraceObserver, Chakra), "
               "which has operations without the times of kernels; ") +
           kOfPyTorch;
  }
  if (holds(head, {"\"coll_perf\""}) || holds(head, {"\"header\"", "\"coll\""})) {
    return std::string(
               "it is output of NCCL's inspector, which has collectives without "
               "computation; ") +
           kOfPyTorch;
  }
  return std::nullopt;
}

std::optional<std::string> foreign_database(std::string_view head) {
  if (holds(head, {"rocpd_"}))
    return std::string("it is a database of rocprofv3 (rocpd); ") + kOfPyTorch;
  if (holds(head, {"COMMUNICATION_OP", "STRING_IDS"})) {
    return "it is a database of Ascend's profiler; export its text form as well, and import the "
           "trace_view.json";
  }
  return std::nullopt;
}

void ForeignEvents::take(std::string_view category, std::string_view phase, std::string_view name) {
  if (tool_ || phase == "M") return;
  constexpr std::array<std::string_view, 10> kNcclPlugin{
      "GROUP",     "COLL",     "P2P",     "PROXY",         "NET",
      "GROUP_API", "COLL_API", "P2P_API", "KERNEL_LAUNCH", "PROXY_CTRL"};
  const auto operation = name.rfind("-op");
  if (std::ranges::find(kNcclPlugin, category) != kNcclPlugin.end()) {
    tool_ = Tool::nccl_plugin;
  } else if ((name.starts_with("Default/") || name.starts_with("Gradients/")) &&
             operation != std::string_view::npos &&
             name.find_first_not_of("0123456789", operation + 3) == std::string_view::npos) {
    tool_ = Tool::mindspore;
  } else if (name.ends_with(" Cmpt Exec") || name.ends_with(" DmaI") || name.ends_with(" DmaO")) {
    tool_ = Tool::spyre;
  }
  constexpr std::size_t kNameLimitBytes = 80;
  if (tool_) example_ = printable(name, kNameLimitBytes);
}

std::optional<std::string> ForeignEvents::text() const {
  if (!tool_) return std::nullopt;
  const std::string begin =
      "none of its events is known as computation, communication or a copy (such as \"" + example_ +
      "\"): it is ";
  switch (*tool_) {
    case Tool::nccl_plugin:
      return begin +
             "output of NCCL's example of a profiler plugin, whose times are those of calls and "
             "proxies of the host; " +
             kOfPyTorch;
    case Tool::mindspore:
      return begin +
             "a timeline of MindSpore's operators, which does not say what ran on a device; import "
             "the trace_view.json of its profiler for Ascend";
    case Tool::spyre:
      return begin + "a trace of IBM's Spyre, whose tasks are not known; " + kOfPyTorch;
  }
  return std::nullopt;
}

}  // namespace hocket
