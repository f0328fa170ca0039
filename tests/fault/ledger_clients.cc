#include "tests/fault/ledger_clients.h"

#include <chrono>
#include <set>
#include <thread>

#include "core/protocol/job_message.h"
#include "tests/store/fixtures.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

constexpr int kTrialsOfAStudy = 40;
constexpr std::int64_t kLeaseNs = 86'400'000'000'000;

std::string key_of_job() {
  return to_string({fingerprint(sample_topology()), fingerprint(sample_workload())});
}

nlohmann::json definition() {
  StudyDefinition study{.space = *Space::make({*parse_parameter("X=int:1..1000000")}),
                        .objective = {.kind = ObjectiveKind::wall, .argument = {}}};
  study.method = SearchMethod::random;
  study.trials = kTrialsOfAStudy;
  return to_json(study);
}

class Worker final : public LedgerClient {
 public:
  using LedgerClient::LedgerClient;

 private:
  struct Trial {
    std::string study;
    std::int64_t id = 0;
    double value = 0;
  };

  void begin(DaemonClient& daemon) override {
    // The response to the last tell may have been lost; then the result may already be stored.
    if (trial_) tell(daemon);
  }

  void act(DaemonClient& daemon) override {
    const std::string study = "faults-" + std::to_string(ledger_.study_number());
    // The study may have been created by another worker, or by this one without receiving the
    // response.
    if (created_.insert(study).second &&
        !ask(daemon, "POST", "/v1/studies", {{"study", study}, {"definition", definition()}}, 201,
             400)) {
      created_.erase(study);
      return;
    }
    const auto asked = ask(daemon, "POST", "/v1/studies/" + study + "/ask",
                           {{"worker", "w"}, {"lease_ns", kLeaseNs}});
    if (!asked) return;
    if (!asked->contains("trial")) return ledger_.study_is_taken(study);
    trial_ = {study, asked->at("trial"), static_cast<double>(random_() % 1'000'000)};
    ledger_.asked(study, trial_->id, asked->at("params"));
    if (random_() % 8 != 0) tell(daemon);
  }

  void tell(DaemonClient& daemon) {
    const std::string target = "/v1/studies/" + trial_->study + "/tell";
    nlohmann::json body = {{"trial", trial_->id}, {"status", "complete"}, {"value", trial_->value}};
    if (!ask(daemon, "POST", target, body)) return;
    ledger_.told(trial_->study, trial_->id, trial_->value);
    const auto again = random_() % 8;
    body["value"] = trial_->value + (again == 0 ? 1.0 : 0.0);
    if (again < 2 && !ask(daemon, "POST", target, body, again == 0 ? 400 : 200)) return;
    trial_.reset();
  }

  std::optional<Trial> trial_;
  std::set<std::string> created_;
};

class Operator final : public LedgerClient {
 public:
  using LedgerClient::LedgerClient;

 private:
  void begin(DaemonClient& daemon) override {
    ask(daemon, "POST", "/v1/resolve",
        {{"topology", to_json(sample_topology())}, {"workload", to_json(sample_workload())}});
  }

  void act(DaemonClient& daemon) override {
    ScheduleConfig config;
    config.partition_bytes = std::int64_t{4096} << random_() % 10;
    config.credit_bytes = std::int64_t{1} << (20 + random_() % 5);
    const auto pushed =
        ask(daemon, "PUT", "/v1/configs/" + key_of_job(), {{"config", to_json(config)}});
    if (pushed) ledger_.pushed(pushed->at("version"), to_json(config));
  }
};

/// A job that reports, keeps pushed versions, and queries the current version.
class Reporter final : public LedgerClient {
 public:
  using LedgerClient::LedgerClient;

 private:
  void begin(DaemonClient& daemon) override {
    const JobDescription job{
        .id = "job", .topology = sample_topology(), .workload = sample_workload()};
    is_known_ = ask(daemon, "POST", "/v1/jobs", to_json(job)).has_value();
  }

  void act(DaemonClient& daemon) override {
    // On a busy host the store may be killed before this client begins.
    if (!is_known_) return begin(daemon);
    JobReport report{.job = "job", .version = version_, .step = ++step_};
    for (int i = 0; i < 100; ++i) {
      report.iteration_ns.push_back(1'000'000 + static_cast<std::int64_t>(random_() % 1000));
    }
    if (version_ > 0) report.outcomes = {{.version = version_}};
    if (!ask(daemon, "POST", "/v1/reports", to_json(report))) return;
    const auto current = ask(daemon, "GET", "/v1/configs/" + key_of_job(), nullptr, 200, 404);
    if (!current || !current->contains("version")) return;
    const std::int64_t version = current->at("version");
    if (version < version_) {
      ledger_.complain("version " + std::to_string(version) + " is current after version " +
                       std::to_string(version_));
    }
    version_ = version;
  }

  bool is_known_ = false;
  std::int64_t version_ = 0, step_ = 0;
};

}  // namespace

void LedgerClient::run(std::uint16_t port, const std::atomic<bool>* stop) {
  DaemonClient daemon(port);
  is_gone_ = false;
  begin(daemon);
  while (!is_gone_ && (stop == nullptr || !*stop)) act(daemon);
}

std::optional<nlohmann::json> LedgerClient::ask(DaemonClient& daemon, const std::string& method,
                                                const std::string& target,
                                                const nlohmann::json& body, int expected,
                                                int other) {
  const auto response = daemon.send(method, target, body);
  is_gone_ = !response;
  if (!response) return std::nullopt;
  if (response->status == 503 && store_may_go_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // as Retry-After asks for more
    return std::nullopt;
  }
  if (response->status != expected && response->status != other) {
    ledger_.complain(method + " " + target + ": status " + std::to_string(response->status) + ": " +
                     response->body);
    return std::nullopt;
  }
  return nlohmann::json::parse(response->body);
}

std::vector<std::unique_ptr<LedgerClient>> ledger_clients(Ledger& ledger, std::uint64_t seed,
                                                          bool store_may_go) {
  std::vector<std::unique_ptr<LedgerClient>> clients;
  for (std::uint64_t i = 0; i < 3; ++i)
    clients.push_back(std::make_unique<Worker>(ledger, seed + i, store_may_go));
  clients.push_back(std::make_unique<Operator>(ledger, seed, store_may_go));
  clients.push_back(std::make_unique<Reporter>(ledger, seed, store_may_go));
  return clients;
}

}  // namespace hocket
