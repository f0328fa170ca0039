#include "daemon/api/openapi.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "daemon/api/routes.h"
#include "daemon/http/request_target.h"
#include "tests/archive/profiles/profiled_job.h"
#include "tests/core/sharing/sample_shared_configs.h"
#include "tests/daemon/assembled.h"
#include "tuner/study/study_definition.h"
#include "web/assets.h"

namespace hocket {
namespace {

const nlohmann::json& description() {
  static const auto document = nlohmann::json::parse(kOpenApi);
  return document;
}

struct Operation {
  std::string method, path;  ///< "get", "/v1/configs/{key}"
};

/// Returns the described operations by their names, such as "get_config".
const std::map<std::string, Operation>& operations() {
  static const auto all = [] {
    std::map<std::string, Operation> found;
    const std::set<std::string> kMethods = {"get", "put", "post", "delete"};
    for (const auto& [path, methods] : description()["paths"].items()) {
      for (const auto& [method, operation] : methods.items()) {
        if (!kMethods.contains(method)) continue;
        const bool is_new = found.emplace(operation["operationId"], Operation{method, path}).second;
        EXPECT_TRUE(is_new) << method << " " << path << " has the name of another operation";
      }
    }
    return found;
  }();
  return all;
}

std::string lower(std::string_view method) {
  std::string text(method);
  for (char& c : text) c = static_cast<char>(std::tolower(c));
  return text;
}

const nlohmann::json& resolved(const nlohmann::json& schema) {
  if (!schema.contains("$ref")) return schema;
  return description().at(
      nlohmann::json::json_pointer(schema["$ref"].get<std::string>().substr(1)));
}

void check_references(const nlohmann::json& value) {
  if (value.is_object() && value.contains("$ref")) {
    const auto name = value["$ref"].get<std::string>();
    ASSERT_TRUE(name.starts_with("#/")) << name;
    EXPECT_TRUE(description().contains(nlohmann::json::json_pointer(name.substr(1)))) << name;
  }
  if (value.is_structured()) {
    for (const auto& inner : value) check_references(inner);
  }
}

bool has_type(const nlohmann::json& value, const std::string& type) {
  if (type == "number") return value.is_number();
  if (type == "integer") return value.is_number_integer();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "null") return value.is_null();
  return type == "object" && value.is_object();
}

/// Checks that `value` has all members the schema requires, with the specified types, and no
/// others.
void check(const nlohmann::json& value, const nlohmann::json& reference, const std::string& at) {
  const auto& schema = resolved(reference);
  if (schema.contains("enum")) {
    EXPECT_EQ(std::ranges::count(schema["enum"], value), 1) << at << ": " << value;
  }
  if (schema.contains("type")) {
    const auto types = schema["type"].is_array() ? schema["type"] : nlohmann::json{schema["type"]};
    EXPECT_TRUE(std::ranges::any_of(
        types, [&](const auto& type) { return has_type(value, type.template get<std::string>()); }))
        << at << ": " << value;
  }
  if (schema.contains("items")) {
    for (const auto& item : value) check(item, schema["items"], at + "[]");
  }
  if (!schema.contains("properties")) return;
  for (const auto& name : schema.value("required", nlohmann::json::array())) {
    EXPECT_TRUE(value.contains(name)) << at << " lacks " << name;
  }
  for (const auto& [name, inner] : value.items()) {
    if (schema["properties"].contains(name)) {
      check(inner, schema["properties"][name], at + "." + name);
    } else if (schema.contains("additionalProperties")) {
      check(inner, schema["additionalProperties"], at + "." + name);
    } else {
      ADD_FAILURE() << at << "." << name << " is not described";
    }
  }
}

TEST(OpenApi, DescribesEveryRouteAndNoOther) {
  std::set<std::string> described;
  for (const auto& [name, operation] : operations())
    described.insert(operation.method + " " + operation.path);
  for (const ApiRoute& route : api_routes()) {
    const std::string path(route.pattern), method = lower(route.method);
    SCOPED_TRACE(method + " " + path);
    ASSERT_EQ(described.erase(method + " " + path), 1u);
    const auto& methods = description()["paths"][path];
    EXPECT_EQ(methods[method]["x-role"], to_string(route.role));
    std::set<std::string> declared;
    for (const auto& parameter : methods.value("parameters", nlohmann::json::array())) {
      if (parameter["in"] == "path") declared.insert(parameter["name"]);
    }
    std::set<std::string> needed;
    for (auto open = path.find('{'); open != path.npos; open = path.find('{', open + 1)) {
      needed.insert(path.substr(open + 1, path.find('}', open) - open - 1));
    }
    EXPECT_EQ(declared, needed);
  }
  EXPECT_TRUE(described.empty()) << *described.begin();
  check_references(description());
}

/// Sends requests and checks the responses against the description.
class Described {
 public:
  nlohmann::json ask(const std::string& name, const std::string& target,
                     const nlohmann::json& body = nlohmann::json::object()) {
    const auto& [method, path] = operations().at(name);
    seen.insert(name);
    std::string upper = method;
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    const auto found = find_route(upper, must(parse_request_target(target)).segments);
    EXPECT_EQ(found.route ? found.route->pattern : "none", path) << target;
    const auto answer = daemon.call(upper, target, body.dump());
    const auto& responses = description()["paths"][path][method]["responses"];
    const auto status = std::to_string(answer.status);
    if (!responses.contains(status)) {
      ADD_FAILURE() << target << " answers " << status << ": " << *answer.body;
      return {};
    }
    const auto& content = responses[status]["content"];
    if (!content.contains("application/json")) {
      EXPECT_TRUE(content.contains(answer.content_type.substr(0, answer.content_type.find(';'))))
          << target << " answers " << answer.content_type;
      return {};
    }
    const auto document = nlohmann::json::parse(*answer.body);
    check(document, content["application/json"]["schema"], name);
    return document;
  }

  SetClock clock;
  ProfiledJob profiled;
  Assembled daemon{*profiled.store,
                   clock,
                   {},
                   nullptr,
                   {},
                   nullptr,
                   {.folder = profiled.folder.file("served"), .url = "http://a"}};
  std::set<std::string> seen;
};

nlohmann::json sample_definition() {
  Parameter x{.name = "x", .domain = IntegerRange{1, 40}, .default_value = std::int64_t{20}};
  StudyDefinition definition{.space = must(Space::make({x})),
                             .objective = must(parse_objective("report"))};
  definition.working_directory = "/";
  return to_json(definition);
}

void ask_for_the_page(Described& api) {
  const std::string version(web_version());
  api.ask("page", "/");
  api.ask("asset", "/page/" + version + "/app.js");
  api.ask("nested_asset", "/page/" + version + "/views/parts.js");
  api.ask("view_asset", "/page/" + version + "/views/jobs/jobs.js");
  api.ask("who", "/v1/whoami");
  EXPECT_FALSE(api.ask("knobs", "/v1/knobs")["knobs"].empty());
}

void ask_for_profiles(Described& api) {
  const std::string name = api.profiled.add().name, path = "/v1/profiles/" + name;
  EXPECT_EQ(api.ask("list_profiles", "/v1/profiles")["profiles"].size(), 1u);
  api.ask("get_profile", path);
  api.ask("diff_profile", path + "/diff/" + name);
  api.ask("get_trace", path + "/trace");
  api.ask("get_timeline", path + "/timeline");
  api.ask("get_tile", path + "/timeline/tile?level=0&index=0");
  const auto found = api.ask("find_record", path + "/timeline/find?kind=communication");
  api.ask("get_record",
          path + "/timeline/record?lane=" + found["found"]["lane"].dump() + "&record=0");
  api.ask("get_range", path + "/timeline/range?begin_ns=0&end_ns=1000000");
  api.ask("simulate", "/v1/simulate", {{"profile", name}});
}

void ask_for_traces(Described& api) {
  const auto made = api.ask("make_trace_set", "/v1/traces");
  const std::string path = "/v1/traces/" + made["set"].get<std::string>() + "/0";
  EXPECT_GT(api.ask("put_trace", path)["bytes"], 0);
  api.ask("get_served_trace", path);
}

void ask_for_stragglers(Described& api) {
  const std::string path = "/v1/jobs/a/stragglers";
  EXPECT_EQ(api.ask("job_stragglers", path)["verdict"], "too_few");
  JobReport report{.job = "a"};
  for (std::int64_t step = 0; step < 40; ++step) {
    report.counted.push_back({.step = step, .ranks = {{500, 400, 400, 0}, {200, 700, 700, 0}}});
    report.iteration_ns.push_back(1000);
  }
  api.ask("report", "/v1/reports", to_json(report));
  const auto found = api.ask("job_stragglers", path);
  EXPECT_EQ(found["verdict"], "late_ranks");
  EXPECT_EQ(found["ranks"][0]["pattern"], "none");
  EXPECT_EQ(found["ranks"][1]["pattern"], "persistent");
  EXPECT_EQ(found["ranks"][1]["cause"], "computation");
  EXPECT_EQ(found["first_step"], 0);
  EXPECT_EQ(found["last_step"], 39);
}

void ask_as_a_worker(Described& api) {
  auto definition = sample_definition();
  definition["workers"] = 0;
  Store& store = *api.profiled.store;
  const StudyRow study = must(store.create_study({.name = "shared",
                                                  .command = {"train"},
                                                  .definition = definition,
                                                  .owner = "me",
                                                  .topology_id = {},
                                                  .workload_id = {}}));
  must(store.start_trial({.study_id = study.id, .params = {{"x", 20}}, .is_offered = true}));
  const std::string path = "/v1/studies/shared/workers/";
  const nlohmann::json claim = {{"worker", "w"}, {"lease_ns", kSecondNs}};
  const auto claimed = api.ask("claim_trial", path + "claim", claim)["claimed"];
  EXPECT_EQ(claimed["params"], (nlohmann::json{{"x", 20}}));
  api.ask("renew_worker", path + "renew", claim);
  api.ask("finish_trial", path + "finish",
          {{"trial", claimed["trial"]}, {"worker", "w"}, {"status", "failed"}});
  EXPECT_FALSE(api.ask("claim_trial", path + "claim", claim).contains("claimed"));
  api.ask("leave_worker", path + "leave", {{"worker", "w"}});
}

TEST(OpenApi, AnswersAreAsDescribed) {
  Described api;
  const nlohmann::json who = {{"topology", to_json(sample_topology())},
                              {"workload", to_json(sample_workload())}};
  const std::string key = "/v1/configs/" + sample_key();
  const nlohmann::json config = to_json(ScheduleConfig{});
  api.ask("health", "/healthz");
  api.ask("ready", "/readyz");
  api.ask("metrics", "/metrics");
  api.ask("description", "/v1/openapi.json");
  EXPECT_EQ(api.ask("resolve", "/v1/resolve", who)["match"], "none");
  api.ask("freeze_config", key + "/freeze", {{"frozen", false}});
  api.ask("push_config", key, {{"config", config}, {"note", "mine"}});
  api.ask("get_config", key);
  EXPECT_EQ(api.ask("resolve", "/v1/resolve", who)["match"], "exact");
  auto near = who;
  near["topology"] = to_json(sample_topology(4));
  EXPECT_EQ(api.ask("resolve", "/v1/resolve", near)["match"], "nearest");
  api.ask("pin_config", key + "/pin", {{"version", 1}});
  api.ask("roll_back_config", key + "/rollback");
  EXPECT_FALSE(api.ask("list_versions", key + "/versions")["versions"].empty());
  api.ask("list_configs", "/v1/configs");
  const SharedConfig shared = shared_schedule("elsewhere");
  const auto file = nlohmann::json::parse(shared_configs_text({shared}, "").value());
  EXPECT_EQ(api.ask("import_configs", "/v1/configs", file)["configs"].size(), 1u);
  api.ask("get_shared_config", "/v1/configs/" + to_string(key_of(shared)) + "/shared?site=a");
  api.ask("list_versions", "/v1/configs/" + to_string(key_of(shared)) + "/versions");
  api.ask("enter_job", "/v1/jobs", to_json(sample_job("a")));
  api.ask("report", "/v1/reports", to_json(JobReport{.job = "a", .iteration_ns = {1, 2}}));
  EXPECT_EQ(api.ask("list_jobs", "/v1/jobs")["jobs"].size(), 1u);
  const JobActivity activity{.exposed_ns = 1, .lanes = {{TraceKind::compute, 0, 0.5}}};
  api.ask("report", "/v1/reports",
          to_json(JobReport{.job = "a",
                            .iteration_ns = {1},
                            .activity = activity,
                            .values = {{"transfer_us", 3.5}, {"own_cost_percent", 0.25}},
                            .note = "ring"}));
  const auto job = api.ask("list_jobs", "/v1/jobs")["jobs"][0];
  EXPECT_EQ(job["activity"], to_json(activity));
  EXPECT_EQ(job["values"], (nlohmann::json{{"transfer_us", 3.5}, {"own_cost_percent", 0.25}}));
  EXPECT_EQ(job["note"], "ring");
  api.ask("enter_job", "/v1/jobs", to_json(sample_job("b")));
  api.ask("report", "/v1/reports", to_json(JobReport{.job = "b", .ended = true}));
  api.daemon.tick();
  EXPECT_EQ(api.ask("list_ended_jobs", "/v1/jobs/ended")["jobs"].size(), 1u);
  api.ask("put_meeting", "/v1/meetings/nccl-1", {{"text", "here"}});
  EXPECT_EQ(api.ask("get_meeting", "/v1/meetings/nccl-1")["text"], "here");
  api.ask("profile_job", "/v1/jobs/a/profile", {{"iterations", 7}});
  ask_for_stragglers(api);
  const auto study = api.ask("create_study", "/v1/studies",
                             {{"definition", sample_definition()}, {"command", {"train"}}});
  const std::string path = "/v1/studies/" + study["study"].get<std::string>();
  const auto asked = api.ask("ask", path + "/ask", {{"worker", "w"}});
  api.ask("renew", path + "/renew", {{"trial", asked["trial"]}});
  api.ask("tell", path + "/tell",
          {{"trial", asked["trial"]},
           {"status", "complete"},
           {"measurements", {{"objective", {1.0, 2.0}}}}});
  EXPECT_TRUE(api.ask("get_study", path).contains("recommended"));
  const auto second = api.ask("ask", path + "/ask");
  EXPECT_EQ(api.ask("list_trials", path + "/trials")["trials"].size(), 2u);
  api.ask("list_studies", "/v1/studies");
  EXPECT_FALSE(api.ask("audit", "/v1/audit")["entries"].empty());
  api.ask("preview_config", key + "/preview", {{"action", "freeze"}});
  api.ask("tell", path + "/tell",
          {{"trial", second["trial"]},
           {"status", "complete"},
           {"measurements", {{"objective", {3.0}}}}});
  EXPECT_FALSE(api.ask("explain_study", path + "/explanation")["plots"].empty());
  api.ask("plot_study", path + "/plots/convergence");
  ask_as_a_worker(api);
  ask_for_the_page(api);
  ask_for_profiles(api);
  ask_for_traces(api);
  for (const auto& [name, operation] : operations()) {
    EXPECT_TRUE(name == "watch" || name == "changes" || api.seen.contains(name))
        << name << " was not asked";
  }
}

}  // namespace
}  // namespace hocket
