// Walks the table of docs/SECURITY.md that says what each role can make happen on another user's
// machine: tries each row, and compares what happened with what the page says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/host/topology_probe.h"
#include "tests/cli/answer.h"
#include "tests/client/fake_daemon.h"
#include "tests/core/sharing/sample_shared_configs.h"
#include "tests/daemon/assembled.h"
#include "tests/daemon/simulated_job.h"
#include "tests/temporary_folder.h"
#include "tests/tuner/study/study_fixture.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kRita = "Bearer 0123456789abcdef-rita";        // read
constexpr const char* kMallory = "Bearer 0123456789abcdef-mallory";  // report
constexpr const char* kBob = "Bearer 0123456789abcdef-bob";          // report
constexpr const char* kAda = "Bearer 0123456789abcdef-ada";          // admin
constexpr const char* kTokens =
    "read rita 0123456789abcdef-rita\nreport mallory 0123456789abcdef-mallory\n"
    "report bob 0123456789abcdef-bob\nadmin ada 0123456789abcdef-ada\n";

/// One row of the table.
struct Power {
  std::string who, what;
  bool is_possible = false;
};

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

std::vector<Power> powers_of_page() {
  std::ifstream page(fs::path(HOCKET_SOURCE_DIR) / "docs/SECURITY.md");
  std::vector<Power> powers;
  bool is_there = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_there = line.starts_with("## What each role can make happen");
    if (!is_there || !line.starts_with("| ") || line.starts_with("| who")) continue;
    std::vector<std::string> cells;
    for (std::size_t at = 1; at < line.size();) {
      const std::size_t end = std::min(line.find('|', at), line.size());
      cells.push_back(trimmed(line.substr(at, end - at)));
      at = end + 1;
    }
    EXPECT_EQ(cells.size(), 3u) << line;
    EXPECT_TRUE(cells.back() == "yes" || cells.back() == "no") << line;
    powers.push_back({cells[0], cells[1], cells.back() == "yes"});
  }
  return powers;
}

/// A daemon with a running job of bob's, and its key.
class World {
 public:
  World() { must_do(kBob, "POST", "/v1/jobs", to_json(sample_job("bobs"))); }

  int status(const char* who, const std::string& method, const std::string& target,
             const json& body = json::object()) {
    const std::string text = method == "GET" ? "" : body.dump();
    return daemon.call(method, target, text, who).status;
  }
  json must_do(const char* who, const std::string& method, const std::string& target,
               const json& body = json::object()) {
    const auto response = daemon.call(method, target, method == "GET" ? "" : body.dump(), who);
    EXPECT_LT(response.status, 300) << method << ' ' << target << ": " << *response.body;
    return json::parse(*response.body, nullptr, false);
  }

  /// Returns whether any route of at least that role admits `who`; with `changes`, of those that
  /// are not GET.
  bool is_admitted(const char* who, AccessRole role, bool changes) {
    for (const ApiRoute& route : api_routes()) {
      if (route.role < role || (route.method == "GET") == changes) continue;
      const int answer = status(who, std::string(route.method), std::string(route.pattern));
      if (answer != 401 && answer != 403) return true;
    }
    return false;
  }

  /// Two jobs of mallory's report, for a while, the more parts the faster.
  void lie() {
    const auto time = [](const ScheduleConfig& config) {
      return 1e15 / static_cast<double>(config.partition_bytes);
    };
    for (const char* id : {"m1", "m2"}) {
      jobs.push_back(std::make_unique<SimulatedJob>(sample_job(id, 0.1), time, jobs.size() + 1));
      jobs.back()->authorization = kMallory;
      jobs.back()->connect(daemon);
    }
    for (int i = 0; i < 60; ++i) {
      for (const auto& job : jobs) job->run();
      daemon.tick();
    }
  }

  /// Returns the version that a job gets that starts now; 0 if none.
  std::int64_t version_at_start(const char* who) {
    const json answer = must_do(
        who, "POST", "/v1/resolve",
        {{"topology", to_json(sample_topology())}, {"workload", to_json(sample_workload())}});
    return answer["match"] == "exact" ? answer["version"].get<std::int64_t>() : 0;
  }

  SetClock clock;
  std::unique_ptr<Store> store = open_store_in_memory();
  Assembled daemon{*store, clock, must(AccessTokens::parse(kTokens)), nullptr, {.jobs = 20}};
  std::vector<std::unique_ptr<SimulatedJob>> jobs;
};

/// Returns what `hocket fetch` prints of a daemon that answers with these fields in the
/// configuration, declares them, and has `origin` as its origin.
Answer fetched(const json& fields, const std::string& format, const std::string& origin = "s") {
  static const Topology topology = must(probe_topology());
  json config = to_json(ScheduleConfig{}), parameters = json::array();
  for (const auto& [name, value] : fields.items()) {
    config[name] = value;
    if (value.is_string())
      parameters.push_back({{"name", name}, {"type", "choice"}, {"choices", {value, "other"}}});
  }
  const std::string key = fingerprint(topology) + "." + fingerprint(Workload{"work", {}});
  const json item = {{"key", key},
                     {"workload", "work"},
                     {"topology", readable_name(topology)},
                     {"topology_document", to_json(topology)},
                     {"version", 1}};
  const json declaration = {{"parameters", parameters}, {"knobs", json::array()}};
  const json version = {{"key", key},        {"version", 1},     {"config", config},
                        {"setting", config}, {"origin", origin}, {"declaration", declaration}};
  const FakeDaemon daemon(FakeDaemon::answering([&](const FakeDaemon::Request& request) {
    const bool is_list = request.is("GET /v1/configs ");
    return http_answer(200, is_list ? json{{"configs", {item}}}.dump() : version.dump());
  }));
  return ask_hocket({"fetch", "--workload", "work", "--format", format, "--daemon",
                     "http://127.0.0.1:" + std::to_string(daemon.access().address.port)});
}

bool chooses_a_knob() {
  const Answer answer = fetched({{"credit_bytes", 8 << 20}}, "json");
  return answer.json().value("credit_bytes", 0) == 8 << 20;
}

bool sets_a_variable_that_finds_programs() {
  for (const char* name : {"LD_PRELOAD", "BASH_ENV", "PATH", "PYTHONPATH", "NODE_OPTIONS"}) {
    for (const char* format : {"env", "sh"}) {
      if (fetched({{name, "x"}}, format).out.find(name) != std::string::npos) return true;
    }
  }
  return false;
}

bool has_a_shell_run_a_value() {
  const TemporaryFolder folder;
  const std::string witness = folder.file("witness");
  for (const std::string begin : {"$(", "`", "; ", "\n", "' ; ", "x & "}) {
    const std::string script =
        folder.write("script", fetched({{"MODE", begin + "touch " + witness}}, "sh").out);
    EXPECT_NE(std::system(("sh " + script + " >/dev/null 2>&1").c_str()), -1);
    if (fs::exists(witness)) return true;
  }
  return false;
}

bool sends_control_characters() {
  for (const std::string text : {"\x1b]0;x\a",
                                 "\xc2\x9b"
                                 "31m",
                                 "\xe2\x80\xae", "\r", "\b", "x\nforged"}) {
    for (const char* format : {"json", "env", "sh"}) {
      const Answer answer = fetched({}, format, text);
      if ((answer.out + answer.err).find(text) != std::string::npos) return true;
    }
  }
  return false;
}

bool acts_for_anothers_job() {
  World world;
  JobDescription taken = sample_job("bobs");
  taken.host = "elsewhere";
  for (const auto& [target, body] :
       {std::pair{"/v1/jobs", to_json(taken)},
        std::pair{"/v1/reports", to_json(JobReport{.job = "bobs", .iteration_ns = {1}})},
        std::pair{"/v1/reports", to_json(JobReport{.job = "bobs", .ended = true})}}) {
    if (world.status(kMallory, "POST", target, body) < 300) return true;
  }
  const auto job = world.daemon.jobs.find("bobs");
  return !job || job->description.host == "elsewhere" || !job->history_ns.empty();
}

bool sets_a_starting_job_by_lies() {
  World world;
  world.lie();
  EXPECT_GT(world.version_at_start(kMallory), 0) << "the lies were believed by nobody";
  return world.version_at_start(kBob) > 0;
}

bool has_a_running_job_measure_lies() {
  World world;
  const auto truth = [](const ScheduleConfig& config) {
    return 1e3 * static_cast<double>(config.partition_bytes);
  };
  world.jobs.push_back(std::make_unique<SimulatedJob>(sample_job("bobs", 0), truth, 9));
  world.jobs.back()->authorization = kBob;
  world.jobs.back()->connect(world.daemon);
  world.lie();
  return !world.jobs.front()->versions.empty();
}

bool has_anothers_job_keep_what_is_slower() {
  World world;
  const auto truth = [](const ScheduleConfig& config) {
    return 1e15 - static_cast<double>(config.partition_bytes);
  };
  world.jobs.push_back(std::make_unique<SimulatedJob>(sample_job("bobs", 0), truth, 9));
  world.jobs.back()->authorization = kBob;
  world.jobs.back()->connect(world.daemon);
  world.lie();
  return world.jobs.front()->config() != ScheduleConfig{} &&
         truth(world.jobs.front()->config()) > 1.1 * truth({});
}

bool enters_a_field_that_nobody_declared(const char* who, bool is_push) {
  World world;
  auto job = to_json(sample_job("m1"));
  job["config"]["BASH_ENV"] = "$(id)";
  if (!is_push) return world.status(who, "POST", "/v1/jobs", job) < 300;
  return world.status(who, "PUT", "/v1/configs/" + sample_key(), {{"config", job["config"]}}) < 300;
}

bool reads_or_replaces_a_meeting() {
  World world;
  world.must_do(kBob, "PUT", "/v1/meetings/nccl-1", {{"text", "the secret"}});
  if (world.status(kMallory, "GET", "/v1/meetings/nccl-1") == 200) return true;
  world.status(kMallory, "PUT", "/v1/meetings/nccl-1", {{"text", "another"}});
  return world.must_do(kBob, "GET", "/v1/meetings/nccl-1")["text"] != "the secret";
}

bool takes_a_pushed_version_from_others() {
  World world;
  const auto add = [&](const char* who, const std::string& id) -> SimulatedJob& {
    world.jobs.push_back(std::make_unique<SimulatedJob>(
        sample_job(id, 0), [](const ScheduleConfig&) { return 1e6; }, world.jobs.size() + 1));
    world.jobs.back()->authorization = who;
    world.jobs.back()->connect(world.daemon);
    return *world.jobs.back();
  };
  const auto run = [&] {
    for (int i = 0; i < 5; ++i) {
      for (const auto& job : world.jobs) job->run();
      world.daemon.tick();
    }
  };
  SimulatedJob& own = add(kBob, "bobs");
  ScheduleConfig config;
  config.credit_bytes = 8 << 20;
  const std::int64_t pushed = world.must_do(kAda, "PUT", "/v1/configs/" + sample_key(),
                                            {{"config", to_json(config)}})["version"];
  run();
  EXPECT_EQ(world.version_at_start(kBob), pushed) << "it was not released";
  for (const char* id : {"m1", "m2", "m3"}) add(kMallory, id).rolls_back_versions = true;
  run();
  EXPECT_NE(world.version_at_start(kMallory), pushed) << "nobody rolled it back";
  return world.version_at_start(kBob) != pushed || own.version() != pushed;
}

bool changes_anothers_traces() {
  const TemporaryFolder folder;
  SetClock clock;
  const auto store = open_store_in_memory();
  Assembled daemon(*store, clock, must(AccessTokens::parse(kTokens)), nullptr, {}, nullptr,
                   {.folder = folder.file("served"), .url = "http://a"});
  const std::string set = daemon.ask("POST", "/v1/traces", json::object(), kBob)["set"];
  const std::string trace = "/v1/traces/" + set + "/0";
  EXPECT_EQ(daemon.call("PUT", trace, "bob's", kBob).status, 200);
  for (const char* offset : {"?offset=0", "?offset=5"})
    daemon.call("PUT", trace + offset, "x", kMallory);
  daemon.call("PUT", "/v1/traces/" + set + "/1", "x", kMallory);
  return *daemon.call("GET", trace, "", kRita).body != "bob's" ||
         daemon.call("GET", "/v1/traces/" + set + "/1", "", kRita).status == 200;
}

bool tells_a_false_result() {
  World world;
  const json created = world.must_do(
      kBob, "POST", "/v1/studies",
      {{"definition", to_json(StudyDefinition{.space = small_study_space(),
                                              .objective = must(parse_objective("wall"))})}});
  const std::string path = "/v1/studies/" + created["study"].get<std::string>();
  const json trial = world.must_do(kBob, "POST", path + "/ask");
  return world.status(kMallory, "POST", path + "/tell",
                      {{"trial", trial["trial"]},
                       {"status", "complete"},
                       {"measurements", {{"objective", {0.001}}}}}) < 300;
}

bool has_a_command_run() {
  const TemporaryFolder folder;
  const std::string path = folder.file("store.db"), witness = folder.file("witness");
  {
    SetClock clock;
    const auto store = must(open_store(path));
    Assembled daemon(*store, clock, must(AccessTokens::parse(kTokens)));
    const auto made = daemon.call(
        "POST", "/v1/studies",
        json{{"study", "s"},
             {"command", {"touch", witness}},
             {"definition", to_json(StudyDefinition{.space = small_study_space(),
                                                    .objective = must(parse_objective("wall"))})}}
            .dump(),
        kMallory);
    EXPECT_LT(made.status, 300) << *made.body;
  }
  for (const auto& arguments :
       {std::vector<std::string>{"tune", "--resume", "--study", "s", "--store", path},
        std::vector<std::string>{"work", "s", "--store", path}}) {
    ask_hocket(arguments);
  }
  return fs::exists(witness);
}

bool uses_up_the_places_of_jobs() {
  World world;
  for (int i = 0; i < 40; ++i)
    world.status(kMallory, "POST", "/v1/jobs", to_json(sample_job("m" + std::to_string(i))));
  return world.status(kBob, "POST", "/v1/jobs", to_json(sample_job("another"))) == 503;
}

bool pins_a_value_for_all() {
  World world;
  ScheduleConfig config;
  config.credit_bytes = 8 << 20;
  world.must_do(kAda, "PUT", "/v1/configs/" + sample_key(), {{"config", to_json(config)}});
  world.daemon.tick();
  const json versions = world.must_do(kAda, "GET", "/v1/configs/" + sample_key() + "/versions");
  world.must_do(kAda, "PUT", "/v1/configs/" + sample_key() + "/pin",
                {{"version", versions["versions"][0]["version"]}});
  return world.version_at_start(kBob) > 0;
}

bool imports_a_variable_that_finds_programs() {
  World world;
  for (const char* name : {"LD_PRELOAD", "PYTHONPATH"}) {
    SharedConfig hostile = shared_command();
    hostile.config = {{name, "x"}};
    hostile.declared = {{name, DeclaredWords{{"x"}}}};
    const auto file = json::parse(must(shared_configs_text({hostile}, "")));
    if (world.status(kAda, "POST", "/v1/configs", file) < 300) return true;
  }
  const auto honest = json::parse(must(shared_configs_text({shared_schedule()}, "")));
  world.must_do(kAda, "POST", "/v1/configs", honest);
  return false;
}

/// Returns whether something happened that the row says, when it was tried.
using Attempt = std::function<bool()>;

const std::map<std::pair<std::string, std::string>, Attempt>& attempts() {
  static const std::map<std::pair<std::string, std::string>, Attempt> all = {
      {{"nobody's token", "read configurations, jobs, studies, profiles or traces"},
       [] { return World().is_admitted("", AccessRole::read, false); }},
      {{"nobody's token", "change anything"},
       [] { return World().is_admitted("", AccessRole::read, true); }},
      {{"`read`", "change anything"},
       [] { return World().is_admitted(kRita, AccessRole::report, true); }},
      {{"`report`",
        "push, import, pin, freeze or roll back a version, or record a profile of a job"},
       [] { return World().is_admitted(kMallory, AccessRole::admin, true); }},
      {{"`report`", "report for, end or take over another user's job"}, acts_for_anothers_job},
      {{"`report`", "give a job that starts a setting that only its own jobs have measured"},
       sets_a_starting_job_by_lies},
      {{"`report`", "have one running job measure such a setting against its own"},
       has_a_running_job_measure_lies},
      {{"`report`", "have a running job keep a setting that is slower there"},
       has_anothers_job_keep_what_is_slower},
      {{"`report`",
        "take a version that an administrator pushed from another user's jobs by rolling it back"},
       takes_a_pushed_version_from_others},
      {{"`report`", "add to the traces of another user's job, or overwrite them"},
       changes_anothers_traces},
      {{"`report`", "register a setting with a field that nobody declared"},
       [] { return enters_a_field_that_nobody_declared(kMallory, false); }},
      {{"`report`", "read or replace what another user's ranks leave for each other"},
       reads_or_replaces_a_meeting},
      {{"`report`", "give a false result to a trial of another user's study"},
       tells_a_false_result},
      {{"`report`", "have the command of a study that it made run"}, has_a_command_run},
      {{"`report`", "use up the places for running jobs, so that others' get 503"},
       uses_up_the_places_of_jobs},
      {{"`admin`", "choose any value within a knob's range for every job"}, pins_a_value_for_all},
      {{"`admin`", "push a setting with a field that nobody declared"},
       [] { return enters_a_field_that_nobody_declared(kAda, true); }},
      {{"`admin`",
        "import from another site a variable by which programs, libraries or modules are found"},
       imports_a_variable_that_finds_programs},
      {{"a daemon that lies",
        "choose any value within a knob's range for a job or a command that asks it"},
       chooses_a_knob},
      {{"a daemon that lies", "set a variable by which programs, libraries or modules are found"},
       sets_a_variable_that_finds_programs},
      {{"a daemon that lies", "have a shell run what it sends as a value"},
       has_a_shell_run_a_value},
      {{"a daemon that lies", "send control characters to the terminal of who asks it"},
       sends_control_characters},
  };
  return all;
}

TEST(Roles, MakeHappenWhatThePageSaysAndNothingElse) {
  std::set<std::pair<std::string, std::string>> on_page;
  for (const Power& power : powers_of_page()) {
    SCOPED_TRACE(power.who + ": " + power.what);
    const auto attempt = attempts().find({power.who, power.what});
    ASSERT_NE(attempt, attempts().end()) << "nothing tries this row";
    EXPECT_EQ(attempt->second(), power.is_possible);
    EXPECT_TRUE(on_page.insert(attempt->first).second) << "it is there twice";
  }
  for (const auto& [row, attempt] : attempts())
    EXPECT_TRUE(on_page.contains(row)) << row.first << ": " << row.second << " is not on the page";
}

}  // namespace
}  // namespace hocket
