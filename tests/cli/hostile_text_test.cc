// Nothing that a stranger wrote reaches the terminal as more than text: every verb shows a store, a
// daemon and files whose names, messages and outputs are hostile, in every form that it has.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "cli/inputs/access/daemon_access.h"
#include "cli/verbs/program.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/protocol/job_message.h"
#include "core/trace/lane_board.h"
#include "tests/archive/studies/kept_study.h"
#include "tests/cli/answer.h"
#include "tests/cli/full_store.h"
#include "tests/core/base/shown.h"
#include "tests/core/sharing/sample_shared_configs.h"
#include "tests/daemon/running_daemon.h"
#include "tests/scoped_environment.h"

namespace hocket {
namespace {

using ::testing::IsEmpty;
using Words = std::vector<std::string>;

/// Ends a name: all that must not be shown, and lines that look like hocket's.
std::string hostile(bool is_utf8) {
  std::string text;
  for (const std::string_view each : kHostileCharacters) {
    const std::string one(each);
    const bool is_valid = what_is_not_plain(one).find("no UTF-8") == std::string::npos;
    if (is_valid || !is_utf8) text += one;
  }
  return text + "\nforged\r\nforged\xe2\x80\xa8" + "forged\xc2\x85" + "forged";
}

/// Returns why a terminal must not get `text`; empty if it may.
std::string complaint(const std::string& text) {
  if (auto what = what_is_not_plain(text); !what.empty()) return what;
  const bool is_forged = text.starts_with("forged") || text.find("\nforged") != std::string::npos;
  return is_forged ? "a forged line" : "";
}

/// Returns the paths of all verbs that do something, "studies rm", from the program itself.
std::set<std::string> all_verbs() {
  VerbAction action;
  const auto program = make_program(action);
  std::set<std::string> paths;
  const std::function<void(const CLI::App&, const std::string&)> add =
      [&](const CLI::App& app, const std::string& path) {
        const auto verbs = app.get_subcommands({});
        for (const CLI::App* verb : verbs) {
          const std::string name = path.empty() ? verb->get_name() : path + " " + verb->get_name();
          paths.insert(name);
          add(*verb, name);
        }
      };
  add(*program, "");
  return paths;
}

/// Returns a file of knobs whose texts end with `end`.
std::string hostile_knobs(const std::string& end) {
  const nlohmann::json knob = {{"name", "MINE"},          {"set", "one"}, {"type", "levels"},
                               {"levels", {1, 2}},        {"default", 1}, {"about", "about" + end},
                               {"source", "source" + end}};
  return nlohmann::json{{"format", "hocket-knobs"}, {"version", 1},      {"tool", "mine"},
                        {"about", "about" + end},   {"way", "variable"}, {"unknown", "ignored"},
                        {"knobs", {knob}}}
      .dump();
}

class HostileText : public ::testing::Test {
 protected:
  HostileText() {
    // Text that the store's own rules would not let in may be in a file that comes from anywhere.
    FullStore::change(
        store_.path(),
        "UPDATE profiles SET source = source || char(10) || 'forged' || char(27, 8238);"
        "UPDATE trials SET message = message || cast(x'ff9b0a666f72676564' AS text);"
        "UPDATE trial_outputs SET stdout = stdout || cast(x'ff1b5b9b0d' AS text);"
        "UPDATE audit SET actor = actor || cast(x'ff9b' AS text);");
    const auto store = must(open_store(store_.path()));
    keep_study(*store, parabola(6, "drawn"));
    daemon_store_ = must(open_store(store_.path()));
    daemon_ = std::make_unique<RunningDaemon>(*daemon_store_);
    add_job();
    show_lanes();
  }

  /// Makes this process a rank whose lanes run tasks of hostile names, cut at different places.
  void show_lanes() {
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::size_t begin = bytes_.size() * static_cast<std::size_t>(lane) / kLanes;
      board_->begin({.lane = lane, .name = std::string_view(bytes_).substr(begin)});
    }
  }

  void add_job() {
    HttpClient client({.address = must(parse_daemon_address(daemon_->url()))});
    const JobDescription job{.id = "job-1",
                             .name = "train" + end_,
                             .host = "b7" + end_,
                             .topology = FullStore::topology("one", end_),
                             .workload = FullStore::workload("one", end_)};
    (void)must(ask_daemon(client, "POST", "/v1/jobs", to_json(job)));
    JobReport report{.job = "job-1", .iteration_ns = {1'000'000, 1'000'000}, .note = "note" + end_};
    report.outcomes.push_back(
        {.version = 1, .status = ChangeStatus::rejected, .message = "no" + end_});
    (void)must(ask_daemon(client, "POST", "/v1/reports", to_json(report)));
  }

  /// Fails if what the verb prints is more than text. Only that matters, whatever the verb does.
  void show(const Words& words) const {
    for (const int columns : {0, 80}) {
      std::ostringstream out, err;
      const int status = run_hocket(words, out, err, columns);
      SCOPED_TRACE(
          nlohmann::json(words).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) +
          " ended with " + std::to_string(status));
      // The output of a trial has many lines, which are shown as such.
      const bool has_lines = std::ranges::count(words, "--log") > 0;
      EXPECT_THAT(has_lines ? what_is_not_plain(out.str()) : complaint(out.str()), IsEmpty())
          << quoted(out.str());
      // hocket's own control of the terminal is the only one.
      std::string said = err.str();
      if (columns > 0) {
        for (std::size_t at = 0; (at = said.find("\r\033[K", at)) != std::string::npos;)
          said.erase(at, 4);
      }
      EXPECT_THAT(complaint(said), IsEmpty()) << quoted(said);
    }
  }
  static std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }

  std::string name_of_study() const {
    return must(must(open_store(store_.path()))->study("1")).name;
  }

  const ScopedEnvironment no_daemon_{"HOCKET_DAEMON", nullptr};
  static constexpr int kLanes = 4;
  const std::string end_ = hostile(true), bytes_ = hostile(false);
  const std::unique_ptr<LaneBoard> board_ = LaneBoard::open(Mesh(), 0, {.compute = kLanes});
  const FullStore store_{end_};
  std::unique_ptr<Store> daemon_store_;
  std::unique_ptr<RunningDaemon> daemon_;
};

TEST_F(HostileText, IsTextInEveryViewOfEveryVerb) {
  const TemporaryFolder folder;
  const std::string step_file = [&] {
    auto step = must(parse_object(
        must(read_file(HOCKET_SOURCE_DIR "/examples/steps/gpt2-example.json")), "the step"));
    for (auto& layer : step["layers"]) layer["name"] = layer["name"].get<std::string>() + end_;
    return folder.write("step.json", step.dump());
  }();
  const std::string table =
      folder.write("table.csv", "CHOICE,value\n\"a" + end_ + "\",3\n\"b" + end_ + "\",2\nc,4\n");
  const std::string garbage = folder.write("garbage" + std::string("\x1b[2J\nforged"), bytes_);
  const std::string graph = folder.write("one.graph", "%x = input \"x\" : float32[2]\n");
  const std::string tape = folder.file("tape"), other = folder.file("out");
  SharedConfig hostile_config = shared_schedule("shared" + end_);
  hostile_config.topology.cpu_model += end_;
  const std::string shared =
      folder.write("shared.json", must(shared_configs_text({hostile_config}, "")));
  (void)ask_hocket({"simulate", step_file, "--record", tape});
  const std::string work = "work-one" + end_;
  const Words study = {"1", "2", "drawn", "no" + bytes_};
  const Words key = {work, "work-two" + end_, "no" + bytes_};

  /// The arguments of each verb; {STORE} and {DAEMON} stand for the options that name them.
  std::map<std::string, std::vector<Words>> uses;
  const auto use = [&](const std::string& verb, const Words& words) {
    uses[verb].push_back(words);
  };
  const Words store = {"--store", store_.path()}, daemon = {"--daemon", daemon_->url()};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto each = [&](const std::string& verb, const std::vector<Words>& forms,
                        const Words& place) {
    for (const Words& form : forms) use(verb, with(form, place));
  };
  each("studies", {{}, {"--json"}, {"--follow"}, {"--follow", "1"}, {"--follow", "1", "--json"}},
       store);
  for (const std::string& one : study) {
    each("studies rm", {{one, "--dry-run"}, {one, "--dry-run", "--json"}}, store);
    each("studies diff", {{one, "2"}, {one, "drawn", "--json"}}, store);
    each("studies promote", {{one, "1"}, {one, "3", "--json"}}, store);
    each("trials",
         {{one},
          {one, "--json"},
          {one, "--csv"},
          {one, "--log", "1"},
          {one, "--log", "3"},
          {one, "--log", "1", "--json"}},
         store);
    each("best", {{one}, {one, "--json"}}, store);
    each("explain", {{one}, {one, "--json"}}, store);
    each("plot", {{one, "-o", folder.file("plots")}, {one, "-o", folder.file("plots"), "--json"}},
         store);
    each("work", {{one}, {one, "--json"}}, with(store, {"--idle", "0"}));
    use("tune", with({"--resume", "--study", one}, with(store, {"--", "true"})));
    each("with", {{"--study", one}}, with(store, {"--", "/nonexistent" + end_, "{CHOICE}"}));
  }
  for (const std::string& param : Words{"CHOICE=choice:a,b", "CHOICE=choice:a" + bytes_ + ",b"}) {
    use("tune", with({"--trials", "2", "--pairs", "1", "--param", param},
                     with(store, {"--", "sh", "-c",
                                  "printf 'printed\\033[2J\\nforged\\302\\233\\n'; printf "
                                  "'\\033c\\nforged' >&2; exit 1"})));
    use("tune", with({"--trials", "2", "--param", param, "--study", "a" + bytes_},
                     with(store, {"--", "true"})));
  }
  each("best", {{}, {"--json"}}, store);
  use("explain", {step_file}), use("explain", {step_file, "--json"}), use("explain", {garbage});
  for (const std::string& one : key) {
    for (const Words& place : {store, daemon}) {
      each("fetch",
           {{"--workload", one},
            {"--workload", one, "--json"},
            {"--workload", one, "--format", "env"},
            {"--workload", one, "--format", "sh"},
            {"--workload", one, "--format", "args"}},
           place);
      each("with", {{"--workload", one}}, with(place, {"--", "/nonexistent" + end_}));
      each("versions", {{one}, {one, "--json"}}, place);
      each("audit", {{}, {"--json"}, {one}}, place);
      each("rollback", {{one, "--note", end_}, {one, "--to", bytes_}}, place);
    }
    each("watch", {{one, "--count", "1"}, {one, "--count", "1", "--json"}}, daemon);
    each("push", {{one, "--set", "streams=2", "--note", end_}, {one, "--set", bytes_ + "=1"}},
         daemon);
    each("pin", {{one}, {one, "--off"}}, daemon);
    each("freeze", {{one}, {one, "--off"}}, daemon);
    each("profile", {{one, "--iterations", "1"}}, with(daemon, {"--wait", "0"}));
    each("stragglers", {{"--job", one}, {"--job", one, "--json"}}, daemon);
  }
  each("jobs", {{}, {"--json"}}, daemon);
  each("configs", {{}, {"--json"}}, daemon);
  for (const Words& place : {store, daemon}) {
    each("configs export", {{}, {"-o", other}, {"--site", bytes_}, {"--sign", garbage}}, place);
    for (const std::string& one : key) each("configs export", {{one}, {"--workload", one}}, place);
    each("configs import",
         {{garbage},
          {"/nonexistent" + bytes_},
          {shared},
          {shared, "--json"},
          {shared, "--trust", garbage}},
         place);
  }
  each("top", {{"--once"}, {"--count", "1"}}, daemon);
  each("top", {{"--ranks", "--once"}}, {});
  each("stragglers", {{"--job", "job-1"}}, daemon);
  each("profile", {{"job-1"}}, with(daemon, {"--wait", "0"}));
  for (const std::string& one : Words{"1", "no" + bytes_}) {
    each("profiles show", {{one}, {one, "--json"}, {one, "--all"}}, store);
    each("profiles metrics", {{one}, {one, "--json"}}, store);
    each("profiles diff", {{one, "2"}, {one, "2", "--json"}}, store);
    each("profiles keep", {{one}, {one, "--json"}}, store);
    each("profiles export",
         {{one, "-o", other},
          {one, "--format", "chrome", "-o", other, "--json"},
          {one, "--step", "-o", other}},
         store);
    each("profiles rm", {{one, "--dry-run"}, {one, "--dry-run", "--json"}}, store);
    each("traces show",
         {{one}, {one, "--json"}, {one, "-o", folder.file("t.svg"), "--title", end_}}, store);
    each("stragglers", {{one}, {one, "--json"}}, store);
    each("simulate", {{"--profile", one}}, store);
  }
  each("profiles list", {{}, {"--json"}}, store);
  each("profiles prune", {{"--keep", "0", "--dry-run"}}, store);
  each("profiles import",
       {{garbage}, {garbage, "--report"}, {step_file, "--name", bytes_}, {"/nonexistent" + bytes_}},
       store);
  each("simulate",
       {{step_file},
        {step_file, "--json"},
        {step_file, "--sweep", bytes_},
        {garbage},
        {step_file, "--offload"},
        {"/nonexistent" + bytes_}},
       {});
  each("replay", {{table}, {table, "--json"}, {garbage}, {"/nonexistent" + bytes_}}, {});
  each("graph show",
       {{garbage},
        {graph},
        {graph, "--regions"},
        {graph, "--after", bytes_},
        {"/no" + bytes_},
        {graph, "--memory"},
        {graph, "--after", "fusion", "--precision", bytes_},
        {graph, "--after", "fusion", "--recompute", bytes_},
        {graph, "--after", "fusion", "--keep", bytes_},
        {graph, "--after", "fusion", "--optimiser", bytes_},
        {graph, "--signals", garbage}},
       {});
  const std::string signals =
      folder.write("signals.yaml", "mesh: {data: 2}\nregions:\n  \"no" + end_ + "\": {rows: a}\n");
  const std::string one = folder.write("one.yaml", "mesh: {data: 1}\n");
  each("layout",
       {{one, graph},
        {one, graph, "--optimiser", bytes_},
        {one, garbage},
        {signals, graph},
        {garbage, graph},
        {"/no" + bytes_, graph},
        {one, "/no" + bytes_}},
       {});
  each("graph diff", {{graph, graph}, {graph, garbage}}, {});
  each("graph model", {{}, {bytes_}}, {});
  for (const char* model : {"gpt2", "llama", "mixture"}) {
    each("graph model " + std::string(model),
         {{"--layers", "1"}, {"--layers", bytes_}, {"--layers", "0"}, {"--preset", bytes_}}, {});
  }
  each("graph model mlp", {{}, {"--width", bytes_}, {bytes_}}, {});
  each("tape show", {{tape}, {tape, "--json"}, {garbage}}, {});
  each("tape diff", {{tape, tape}, {tape, garbage}}, {});
  each("tape replay", {{tape}, {garbage}}, {});
  each("topology", {{}, {"--json"}}, {});
  each("run", {{"--ranks", "1", "--", "/nonexistent" + bytes_}}, {});
  each("torch", {{"--", "/nonexistent" + bytes_}}, {});
  each("nccl", {{"--", "/nonexistent" + bytes_}}, {});
  each("param-server", {{"--listen", bytes_}}, {});
  each("demo", {{"--trials", bytes_}}, {});
  each("serve", {{"--listen", bytes_}, {"--token-file", "/nonexistent" + bytes_}}, store);
  each("web", {{"--port", bytes_}}, store);
  each("store copy",
       {{store_.path(), folder.file("copy" + std::string("\x1b[2J\nforged") + ".db")},
        {garbage, other}},
       {});
  each("doctor", {{"--no-start"}, {"--no-start", "--json"}}, store);
  const std::string knobs = folder.write("knobs.json", hostile_knobs(end_));
  const TemporaryFolder config;
  std::filesystem::create_directories(config.file("hocket/knobs"));
  config.write("hocket/knobs/bad" + std::string("\x1b[2J") + ".json", bytes_);
  config.write("hocket/knobs/mine.json", hostile_knobs(end_));
  const ScopedEnvironment own("XDG_CONFIG_HOME", config.path().c_str());
  each("knobs list", {{}, {"--json"}}, {});
  each("knobs show",
       {{knobs}, {knobs, "--json"}, {"mine"}, {"no" + bytes_}, {garbage}, {"/no" + bytes_}}, {});
  use("tune", with({"--knobs", knobs}, with(store, {"--", "true"})));
  each("prune", {{"--dry-run", "--keep-studies", "1m"}, {"--dry-run", "--json"}}, store);
  each("completion", {{"bash"}, {"zsh"}, {"fish"}, {bytes_}}, {});
  each("manual", {{folder.file("man")}, {garbage}}, {});

  for (const std::string& verb : all_verbs()) {
    Words path;
    std::istringstream words(verb);
    for (std::string word; words >> word;) path.push_back(word);
    const bool is_group = std::ranges::any_of(
        uses, [&](const auto& each_use) { return each_use.first.starts_with(verb + " "); });
    EXPECT_TRUE(uses.contains(verb) || is_group)
        << verb << " shows nothing hostile: give it arguments in this test";
    for (const Words& arguments : uses[verb]) show(with(path, arguments));
    // Whatever it knows, it does not know these.
    show(with(path, {"--no" + bytes_}));
    show(with(path, {"--store", "/nonexistent/no" + bytes_, "no" + bytes_}));
  }
  show({"no" + bytes_});
}

TEST_F(HostileText, NamesOfStudiesAndProfilesThatNoneCanHaveAreNotRead) {
  FullStore::change(
      store_.path(),
      "UPDATE studies SET name = name || char(27) || '[2J' || char(10) || 'forged' || "
      "char(8238) WHERE id = 1;"
      "UPDATE profiles SET name = '../' || name WHERE id = 1;");
  const Words store = {"--store", store_.path()};
  for (Words words : std::vector<Words>{{"studies"},
                                        {"studies", "--json"},
                                        {"profiles", "list"},
                                        {"best"},
                                        {"trials", "1"},
                                        {"studies", "rm", "1"}}) {
    words.insert(words.end(), store.begin(), store.end());
    show(words);
  }
  const Answer listed = ask_hocket({"studies", "--store", store_.path()});
  EXPECT_EQ(listed.status, 0);
  EXPECT_THAT(listed.err, ::testing::HasSubstr("study 1 of the store cannot be read"));
}

}  // namespace
}  // namespace hocket
