// Tests that packaging's dashboard of Grafana and alert rules of Prometheus fit the metrics that a
// daemon outputs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "daemon/live/memory_limits.h"
#include "tests/daemon/assembled.h"
#include "tests/daemon/raw_client.h"
#include "tests/daemon/running_daemon.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using Names = std::set<std::string>;

std::string packaged(const std::string& path) {
  return read_bytes(std::string(HOCKET_SOURCE_DIR) + "/" + path);
}

void post(RunningDaemon& daemon, const std::string& target, const nlohmann::json& body) {
  RawClient client(daemon.port());
  const std::string text = body.dump();
  client.send("POST " + target +
              " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              "Content-Length: " +
              std::to_string(text.size()) + "\r\n\r\n" + text);
  const auto response = client.read_response();
  EXPECT_LT(response.status, 300) << response.body;
}

/// Returns the types of the metric families, by name, of a daemon with a job.
std::map<std::string, std::string> families_of_a_daemon() {
  const auto store = open_store_in_memory();
  RunningDaemon daemon(*store);
  post(daemon, "/v1/jobs", to_json(sample_job("a")));
  post(daemon, "/v1/reports",
       to_json(JobReport{.job = "a", .iteration_ns = {1'000'000}, .values = {{"transfer_us", 7}}}));
  RawClient client(daemon.port());
  client.get("/metrics");
  std::istringstream lines(client.read_response().body);
  std::map<std::string, std::string> families;
  for (std::string word, type, name; std::getline(lines, word);) {
    std::istringstream fields(word);
    if (fields >> word >> type >> name && type == "TYPE") fields >> families[name];
  }
  return families;
}

Names names_of_families() {
  Names names;
  for (const auto& [name, type] : families_of_a_daemon()) names.insert(name);
  return names;
}

/// Returns the metrics of hocket that an expression names.
Names metrics_in(const std::string& expression) {
  static const std::regex metric("\\bhocket_[a-z0-9_]+");
  Names names;
  for (std::sregex_iterator at(expression.begin(), expression.end(), metric), end; at != end;
       ++at) {
    names.insert(at->str());
  }
  return names;
}

/// Returns the expressions of a dashboard's panels and variables.
std::vector<std::string> expressions_of(const nlohmann::json& dashboard) {
  std::vector<std::string> expressions;
  for (const auto& panel : dashboard.at("panels")) {
    for (const auto& target : panel.value("targets", nlohmann::json::array())) {
      expressions.push_back(target.at("expr"));
    }
  }
  for (const auto& variable : dashboard.at("templating").at("list")) {
    if (variable.at("type") == "query") expressions.push_back(variable.at("query").at("query"));
  }
  return expressions;
}

/// One alert: its fields, labels and annotations by name.
using Alert = std::map<std::string, std::string>;

/// Reads the rules, which use little of YAML: a field a line, and text that goes on after ">-".
/// Names of labels and annotations are unique within an alert.
std::vector<Alert> alerts_of(const std::string& rules) {
  static const std::regex begins(R"(^      - alert: (\w+)$)"),
      field(R"(^ {8,10}(\w+):(?: (.+))?$)"), more(R"(^ {10}(\S.*)$)");
  std::vector<Alert> alerts;
  std::string folded;
  std::istringstream lines(rules);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, begins)) {
      alerts.push_back({{"alert", match[1]}});
      folded.clear();
    } else if (!alerts.empty() && std::regex_match(line, match, field)) {
      alerts.back()[match[1]] = match[2] == ">-" ? "" : match[2].str();
      folded = match[2] == ">-" ? match[1].str() : "";
    } else if (!folded.empty() && std::regex_match(line, match, more)) {
      alerts.back()[folded] += " " + match[1].str();
    } else {
      const auto text = line.find_first_not_of(' ');
      const bool is_head = alerts.empty() || text == std::string::npos || line[text] == '#';
      EXPECT_TRUE(is_head) << "not understood: " << line;
    }
  }
  return alerts;
}

/// Returns the anchors of a page's headings.
Names anchors_of(const std::string& page) {
  Names anchors;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('#')) continue;
    std::string anchor;
    for (const char c : line.substr(line.find_first_not_of("# "))) {
      if (c == ' ') anchor += '-';
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-') {
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    anchors.insert(anchor);
  }
  return anchors;
}

TEST(Watched, CountersAreCalledTotalAndNothingElseIs) {
  const auto families = families_of_a_daemon();
  EXPECT_GT(families.size(), 20u);
  for (const auto& [name, type] : families) {
    EXPECT_TRUE(name.starts_with("hocket_")) << name;
    EXPECT_EQ(name.ends_with("_total"), type == "counter") << name;
  }
}

TEST(Watched, TheDashboardShowsEveryMetricAndNoOther) {
  const auto dashboard = nlohmann::json::parse(packaged("packaging/grafana/hocket.json"));
  Names shown;
  for (const std::string& expression : expressions_of(dashboard)) {
    shown.merge(metrics_in(expression));
  }
  EXPECT_EQ(shown, names_of_families());
}

TEST(Watched, TheDashboardIsWellFormed) {
  const auto dashboard = nlohmann::json::parse(packaged("packaging/grafana/hocket.json"));
  EXPECT_GE(dashboard.at("schemaVersion"), 38) << "Grafana 10";
  std::vector<std::string> variables;
  for (const auto& variable : dashboard.at("templating").at("list")) {
    variables.push_back(variable.at("name"));
  }
  EXPECT_THAT(variables, ElementsAre("datasource", "job", "instance"));
  std::set<int> ids;
  std::map<std::pair<int, int>, std::string> taken;  // titles by cell
  for (const auto& panel : dashboard.at("panels")) {
    const std::string title = panel.at("title");
    EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second) << title;
    const auto& at = panel.at("gridPos");
    const int x = at.at("x"), y = at.at("y"), w = at.at("w"), h = at.at("h");
    EXPECT_LE(x + w, 24) << title;
    for (int column = x; column < x + w; ++column) {
      for (int line = y; line < y + h; ++line) {
        const auto [other, is_free] = taken.emplace(std::pair(column, line), title);
        ASSERT_TRUE(is_free) << title << " overlaps " << other->second;
      }
    }
    if (panel.at("type") == "row") continue;
    EXPECT_FALSE(panel.at("description").get<std::string>().empty()) << title;
    EXPECT_EQ(panel.at("datasource").at("uid"), "${datasource}") << title;
    std::set<std::string> letters;
    for (const auto& target : panel.at("targets")) {
      EXPECT_TRUE(letters.insert(target.at("refId")).second) << title;
      EXPECT_THAT(target.at("expr").get<std::string>(),
                  HasSubstr(R"({job=~"$job", instance=~"$instance"})"));
    }
    EXPECT_THAT(letters, testing::Not(IsEmpty())) << title;
  }
}

TEST(Watched, AlertsUseMetricsThatExistAndNameAPage) {
  const auto alerts = alerts_of(packaged("packaging/prometheus/hocket-alerts.yml"));
  EXPECT_GT(alerts.size(), 5u);
  const Names families = names_of_families();
  Names names;
  for (const Alert& alert : alerts) {
    const std::string& name = alert.at("alert");
    SCOPED_TRACE(name);
    EXPECT_TRUE(names.insert(name).second);
    for (const char* field : {"expr", "for", "severity", "summary", "description", "runbook"}) {
      ASSERT_TRUE(alert.contains(field)) << field;
    }
    EXPECT_TRUE(std::regex_match(alert.at("for"), std::regex("[0-9]+[mh]")));
    EXPECT_TRUE(std::regex_match(alert.at("severity"), std::regex("warning|critical")));
    const std::string& expression = alert.at("expr");
    EXPECT_THAT(families, IsSupersetOf(metrics_in(expression)));
    EXPECT_TRUE(!metrics_in(expression).empty() || expression.find("up{") != std::string::npos);
    EXPECT_EQ(std::ranges::count(expression, '('), std::ranges::count(expression, ')'));
    for (const char* text : {"summary", "description"}) {
      EXPECT_TRUE(alert.at(text).starts_with('"') && alert.at(text).ends_with('"')) << text;
    }
    const std::string& runbook = alert.at("runbook");
    const auto hash = runbook.find('#');
    ASSERT_NE(hash, std::string::npos);
    EXPECT_TRUE(anchors_of(packaged(runbook.substr(0, hash))).contains(runbook.substr(hash + 1)))
        << runbook;
  }
}

TEST(Watched, TheAlertOfWaitingOutcomesIsBelowTheLimit) {
  const auto alerts = alerts_of(packaged("packaging/prometheus/hocket-alerts.yml"));
  const auto waiting = std::ranges::find_if(
      alerts, [](const Alert& alert) { return alert.at("alert") == "HocketOutcomesWaiting"; });
  ASSERT_NE(waiting, alerts.end());
  const auto limit = MemoryLimits().waiting_outcomes;
  EXPECT_EQ(waiting->at("expr"), "hocket_live_waiting_outcomes > " + std::to_string(limit / 4 * 3));
  EXPECT_THAT(waiting->at("description"), HasSubstr(std::to_string(limit)));
}

}  // namespace
}  // namespace hocket
