#include "plugins/nccl/control/library_clients.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "capi/hocket_client.h"
#include "plugins/nccl/control/client_library.h"

namespace hocket::nccl {

namespace {

using Say = std::function<void(const std::string&)>;

constexpr std::array kChannels = {0, 1, 2, 4, 8, 16, 32};

constexpr const char* kUnknownHost =
    R"({"cpu_model":"","sockets":0,"numa_nodes":0,"cores":0,"hardware_threads":0,"memory_gib":0})";

/// The name under which the library knows it (hocket_client_measured).
constexpr const char* kOwnCost = "own_cost_percent";

std::vector<const char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return pointers;
}

std::string list_json(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "\"" : ",\"") + word + "\"";
  return "[" + text + "]";
}

/// Returns a JSON string. What is not printable ASCII is left out.
std::string text_json(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c >= ' ' && c <= '~') result += c;
  }
  return result + "\"";
}

std::string predictions_json(const std::vector<PredictedIteration>& predicted) {
  std::string text;
  for (const PredictedIteration& each : predicted) {
    text += (text.empty() ? "" : ",") +
            std::string(R"({"config":{"format":"hocket-schedule","version":1,"job":{"arm":")") +
            each.arm + R"("}},"iteration_ns":)" + std::to_string(each.iteration_ns) + "}";
  }
  return "[" + text + "]";
}

/// Returns the path of a new file with the text; "" if it cannot be written.
std::string write_file(const std::string& text) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = folder == nullptr || *folder == '\0' ? "/tmp" : folder;
  path += "/hocket-nccl-trace-XXXXXX";
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return "";
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(fd, text.data() + written, text.size() - written);
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  ::close(fd);
  if (written == text.size()) return path;
  ::unlink(path.c_str());
  return "";
}

class LibraryClient final : public JobClient {
 public:
  LibraryClient(const ClientLibrary& library, const ClassJob& job, Say say)
      : library_(library), job_(job), name_(to_string(job.of)), say_(std::move(say)) {}
  LibraryClient(const LibraryClient&) = delete;
  LibraryClient& operator=(const LibraryClient&) = delete;
  ~LibraryClient() override {
    if (client_ != nullptr) library_.close(client_);
  }

  bool open(const LibraryClientsOptions& options, const std::string& host) {
    const std::vector<const char*> arms = pointers_to(job_.arms);
    std::vector<std::string> channel_words;
    for (const int channels : kChannels) channel_words.push_back(channels_word(channels));
    const std::vector<const char*> channels = pointers_to(channel_words);
    hocket_knob arm = {}, channel = {};
    arm.size = channel.size = sizeof(hocket_knob);
    arm.running = channel.running = 1;
    arm.name = "arm";
    arm.choices = arms.data();
    arm.choice_count = arms.size();
    channel.name = "channels";
    channel.choices = channels.data();
    channel.choice_count = channels.size();
    const std::array<const hocket_knob*, 2> knobs = {&arm, &channel};

    const std::string topology = topology_json(job_, options, host);
    const std::string workload = workload_name(job_.of);
    const std::string can_run = R"({"start":{"job.arm":)" + list_json(job_.allowed) +
                                R"(},"running":{"job.arm":)" + list_json(job_.tried) +
                                R"(,"job.channels":)" + list_json(channel_words) + "}}";
    const std::string predictions = predictions_json(job_.predicted);
    const hocket_tensor buffer = {hocket::nccl::to_string(job_.of.function),
                                  static_cast<std::int64_t>(job_.of.upper_bytes())};
    hocket_client_options given = {};
    given.size = sizeof given;
    given.topology_json = topology.c_str();
    given.workload_name = workload.c_str();
    given.tensors = &buffer;
    given.tensor_count = 1;
    given.predictions = predictions.c_str();
    given.own_knobs = knobs.data();
    given.own_knob_count = knobs.size();
    given.can_run = can_run.c_str();
    given.explore = job_.explore;
    given.decides_alone = 1;
    given.may_try = [](void* self) -> int {
      const auto& may_try = static_cast<LibraryClient*>(self)->job_.may_try;
      return !may_try || may_try() ? 1 : 0;
    };
    given.say = given.warn = [](const char* line, void* self) {
      auto* client = static_cast<LibraryClient*>(self);
      client->say_(client->name_ + ": " + line);
    };
    given.on_profile = [](std::int64_t, std::int64_t steps, void* self) {
      static_cast<LibraryClient*>(self)->profiled_iterations_ = steps;
    };
    given.context = this;
    client_ = library_.open(&given);
    if (client_ == nullptr) {
      say_(name_ + " is left to NCCL: " + library_.error());
      return false;
    }
    read_choice();
    say_(name_ + " starts with " + to_string(choice_) + " (" + library_.source(client_) +
         (*library_.detail(client_) == '\0' ? "" : ": ") + library_.detail(client_) + ")");
    return true;
  }

  Choice choice() const override { return choice_; }
  bool is_trying() const override { return library_.is_trying(client_) == 1; }

  void iteration_ended(std::int64_t iteration_ns) override {
    library_.iteration(client_, step_++, std::max<std::int64_t>(iteration_ns, 1));
    if (library_.step_ended(client_) == 1) read_choice();
  }

  void measured(const ClassMeasurement& measurement) override {
    const auto tell = [&](const char* name, double value) {
      library_.measured(client_, name, value, nullptr);
    };
    tell("calls_per_iteration", static_cast<double>(measurement.calls_per_iteration));
    tell("collective_bytes", static_cast<double>(measurement.bytes));
    tell("channels", measurement.channels);
    tell("transfer_us", measurement.transfer_us);
    tell("waiting_us", measurement.waiting_us);
    tell("late_rank", measurement.late_rank);
    char text[160];
    std::snprintf(text, sizeof text, "%s, %.1f us, waiting %.1f us", measurement.ran.c_str(),
                  measurement.transfer_us, measurement.waiting_us);
    std::string note = text;
    if (measurement.late_rank >= 0)
      note += ", rank " + std::to_string(measurement.late_rank) + " late";
    library_.measured(client_, "note", 0, note.c_str());
    say_(name_ + ": ran as " + note);
  }

  void costs(double percent) override { library_.measured(client_, kOwnCost, percent, nullptr); }

  void waited(const std::vector<std::vector<std::int64_t>>& waited_ns) override {
    counted_ = std::max(counted_, step_ - static_cast<std::int64_t>(waited_ns.size()));
    for (const auto& of_ranks : waited_ns)
      library_.ranks_counted(client_, counted_++, of_ranks.data(), of_ranks.size());
  }

  std::int64_t take_profile_request() override { return std::exchange(profiled_iterations_, 0); }

  void save_profile(const std::vector<std::string>& traces) override {
    std::vector<std::string> paths;
    std::vector<const char*> files;
    for (const std::string& trace : traces) paths.push_back(trace.empty() ? "" : write_file(trace));
    for (const std::string& path : paths) files.push_back(path.empty() ? nullptr : path.c_str());
    const bool is_saved = library_.save_traces(client_, files.data(), files.size(), nullptr) == 0;
    say_(name_ + (is_saved ? ": a profile was saved"
                           : std::string(": a profile could not be saved: ") + library_.error()));
    for (const std::string& path : paths)
      if (!path.empty()) ::unlink(path.c_str());
  }

 private:
  void read_choice() {
    std::int64_t arm = 0, channels = 0;
    Choice choice;
    const bool is_read = library_.get(client_, "job.arm", &arm) == 0 &&
                         library_.get(client_, "job.channels", &channels) == 0;
    if (!is_read || !read_arm(job_.arms[static_cast<std::size_t>(arm)], choice)) return;
    choice.channels = static_cast<std::uint8_t>(kChannels[static_cast<std::size_t>(channels)]);
    choice_ = choice;
  }

  const ClientLibrary& library_;
  const ClassJob job_;
  const std::string name_;
  const Say say_;
  hocket_client* client_ = nullptr;
  Choice choice_;
  std::int64_t step_ = 0;
  std::int64_t counted_ = 0;  ///< the first step whose ranks have not been counted
  std::int64_t profiled_iterations_ = 0;
};

}  // namespace

LibraryClients::LibraryClients(LibraryClientsOptions options) : options_(std::move(options)) {}

std::unique_ptr<JobClient> LibraryClients::open(const ClassJob& job) {
  if (!std::exchange(has_tried_, true)) {
    library_ = load_client_library(options_.say);
    const bool can_say = library_ != nullptr && library_->host != nullptr;
    if (const char* host = can_say ? library_->host() : nullptr; host != nullptr) host_ = host;
  }
  if (library_ == nullptr) return nullptr;
  auto client = std::make_unique<LibraryClient>(*library_, job, options_.say);
  if (!client->open(options_, host_)) return nullptr;
  return client;
}

std::string workload_name(const CollectiveClass& of) {
  return "nccl " + to_string(of);
}

std::string topology_json(const ClassJob& job, const LibraryClientsOptions& options,
                          const std::string& host) {
  const bool is_even = job.nodes > 0 && job.ranks % job.nodes == 0;
  std::string text = host.empty() ? kUnknownHost : host;
  text.pop_back();  // more members follow
  text += R"(,"link":"nccl","world_size":)" + std::to_string(job.ranks);
  text +=
      ",\"ranks_per_host\":" + std::to_string(job.nodes > 1 && is_even ? job.ranks / job.nodes : 0);
  if (!options.accelerator.empty()) text += ",\"accelerator\":" + text_json(options.accelerator);
  text += ",\"library_versions\":{";
  if (!options.nccl_version.empty()) text += "\"nccl\":" + text_json(options.nccl_version);
  return text + "}}";
}

}  // namespace hocket::nccl
