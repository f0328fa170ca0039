#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/application.h"
#include "cli/base/context.h"
#include "core/base/json.h"
#include "store/open.h"
#include "tests/archive/studies/kept_study.h"
#include "tests/cli/answer.h"
#include "tests/temporary_folder.h"
#include "tests/tuner/explain/well_formed.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Explain : public ::testing::Test {
 protected:
  Answer ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--store", store_});
    return ask_as_it_is(arguments);
  }
  static Answer ask_as_it_is(const std::vector<std::string>& arguments) {
    return ask_hocket(arguments);
  }

  void keep(const StudyToKeep& study) const { keep_study(*open_store(store_).value(), study); }

  /// Larger windows are better; the search simulates.
  void keep_knobs(const std::string& name, SearchMethod method = SearchMethod::model,
                  const std::vector<std::string>& objectives = {"wall"}) const {
    const auto function = [&](const Params& params) {
      const auto bytes = std::get<std::int64_t>(params.at("credit_bytes"));
      auto outcome = complete_trial({1e8 + 1e14 / static_cast<double>(bytes)});
      if (objectives.size() > 1) {
        outcome.others = {static_cast<double>(bytes)};
        outcome.metrics[metric_of_other(0)] = outcome.others;
      }
      return outcome;
    };
    keep({name,
          5,
          {"credit_bytes=levels:1M,4M,16M,64M", "order=choice:fifo,static"},
          function,
          method,
          objectives});
  }

  TemporaryFolder folder_;
  const std::string store_ = folder_.file("store.db");
};

TEST_F(Explain, SaysOfAPlacedStepHowManyLayersTheDeviceKeeps) {
  const auto step = folder_.write("placed.json",
                                  R"({"format":"hocket-step","version":1,
      "device_memory_bytes":4000000,"to_device":{"beta_ns_per_byte":0.1},
      "to_host":{"beta_ns_per_byte":0.2},
      "tasks":[{"name":"forward","duration_ns":1000000,"reads":["w"],"writes":["x"]},
               {"name":"backward","duration_ns":2000000,"reads":["w","x"],"writes":["g"]},
               {"name":"update","duration_ns":100000,"host_duration_ns":9000000,
                "updates_layer":0,"reads":["g"],"updates":["w","m"]}],
      "data":[{"name":"w","bytes":500000,"layer":0},{"name":"m","bytes":1000000,"layer":0},
              {"name":"g","bytes":500000},{"name":"x","bytes":100000}]})");
  const auto better = folder_.file("better.json");
  const auto answer = ask_as_it_is({"explain", step, "--output", better});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("host, "), HasSubstr("device, "), HasSubstr("best")));
  const auto document = ask_as_it_is({"explain", step, "--json"}).json();
  EXPECT_EQ(document.at("candidates")[0].at("busiest"), "host");
  EXPECT_EQ(document.at("config").at("offload_k"), 1);
  EXPECT_EQ(ask_as_it_is({"explain", step, "--json", "--config", better}).json(), document);
}

TEST_F(Explain, AStudyAsJson) {
  keep(parabola());
  const auto answer = ask({"explain", "parabola", "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto document = answer.json();
  EXPECT_EQ(document.at("of"), "study parabola");
  EXPECT_EQ(document.at("unit"), "ns");
  EXPECT_EQ(document.at("completed").get<int>() + document.at("failed").get<int>(), 14);
  EXPECT_GT(document.at("failed"), 0);
  EXPECT_EQ(document.at("importance").size(), 2U);
  EXPECT_EQ(document.at("importance")[0].at("parameter"), "X");
  EXPECT_GT(document.at("importance")[0].at("alone"), 0.8);
  EXPECT_EQ(document.at("calibration").at("trials").size(),
            document.at("completed").get<std::size_t>());
  EXPECT_NEAR(document.at("recommended").at("params").at("X").get<double>(), 12, 3);
  EXPECT_EQ(document.at("slices")[0].at("points").size(), 40U);
  EXPECT_EQ(document.at("surface").at("x"), "X");
  EXPECT_GT(document.at("rejected"), 0);

  const auto stored = ask({"trials", "parabola", "--json"}).json().at("trials");
  const auto& trials = document.at("trials");
  ASSERT_EQ(trials.size(), 14U);
  EXPECT_EQ(trials[0].at("reason"), "the default");
  for (std::size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(trials[i].at("number"), stored[i].at("number"));
    EXPECT_EQ(trials[i].at("params"), stored[i].at("params"));
    EXPECT_EQ(trials[i].at("value"), stored[i].at("value"));
    EXPECT_EQ(trials[i].at("message"), stored[i].at("message"));
    // The search asks for the same settings when it is run again.
    EXPECT_THAT(trials[i].at("reason").get<std::string>(), Not(HasSubstr("another setting")));
  }
}

TEST_F(Explain, AStudyAsText) {
  keep(parabola());
  const auto answer = ask({"explain", "parabola"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_EQ(answer.err, "");
  EXPECT_THAT(answer.out, AllOf(HasSubstr("importance"), HasSubstr("90 % interval"),
                                HasSubstr("recommended: X="), HasSubstr("why each trial was run"),
                                HasSubstr("the default"), HasSubstr("rejected: "),
                                HasSubstr("out of <memory>"), HasSubstr(" ms")));
  EXPECT_EQ(ask({"explain", "parabola"}).out, answer.out);
}

TEST_F(Explain, WhatTheSimulatorLearned) {
  keep_knobs("knobs");
  const auto simulator = ask({"explain", "knobs", "--json"}).json().at("simulator");
  ASSERT_TRUE(simulator.is_object());
  EXPECT_EQ(simulator.at("constants").back().at("constant"), "trust");
  for (const auto& constant : simulator.at("constants")) {
    EXPECT_GT(constant.at("expected_deviation"), 0);
    EXPECT_LE(constant.at("deviation"), 1.000001 * constant.at("expected_deviation").get<double>());
  }
  EXPECT_GT(simulator.at("noise"), 0);
  EXPECT_THAT(ask({"explain", "knobs"}).out,
              AllOf(HasSubstr("the simulator that the search calibrated"),
                    HasSubstr("time of a byte on the link"), HasSubstr("× 1 ("),
                    HasSubstr("noise between trials")));

  keep_knobs("random", SearchMethod::random);
  keep(parabola());
  keep_knobs("memory", SearchMethod::model, {"memory"});
  keep_knobs("several", SearchMethod::model, {"wall", "memory"});
  for (const std::string study : {"random", "parabola", "memory", "several"}) {
    EXPECT_EQ(ask({"explain", study, "--json"}).json().at("simulator"), nullptr);
    EXPECT_THAT(ask({"explain", study}).out, Not(HasSubstr("the simulator that")));
  }
}

TEST_F(Explain, TheFirstOfSeveralObjectives) {
  keep_knobs("several", SearchMethod::model, {"wall", "memory"});
  const auto document = ask({"explain", "several", "--json"}).json();
  EXPECT_EQ(document.at("objective"), "wall");
  EXPECT_EQ(document.at("other_objectives"), nlohmann::json({"memory"}));
  for (const auto& trial : document.at("trials"))
    EXPECT_THAT(trial.at("reason").get<std::string>(), Not(HasSubstr("another setting")));
  EXPECT_THAT(document.at("trials")[1].at("reason").get<std::string>(),
              HasSubstr("weighs the objectives"));
  EXPECT_THAT(ask({"explain", "several"}).out,
              HasSubstr("explains the first objective, not memory\n"));

  const auto plots = ask({"plot", "several", "-o", folder_.file("plots"), "--json"});
  ASSERT_EQ(plots.status, kDone) << plots.err;
  ASSERT_EQ(plots.json().at("written").size(), 7U);
  const auto front = read_file(plots.json().at("written").back().get<std::string>());
  ASSERT_TRUE(front);
  EXPECT_EQ(xml_complaint(*front), "");
  EXPECT_THAT(*front, AllOf(HasSubstr("study several: front"), HasSubstr("time (wall)"),
                            HasSubstr("value (memory)"), HasSubstr(" MiB</text>")));

  keep_knobs("one");
  EXPECT_THAT(ask({"explain", "one"}).out, Not(HasSubstr("explains the first")));
}

TEST_F(Explain, ATable) {
  std::string text = "a b,c,iteration_ns\n";
  for (int a = 1; a <= 6; ++a)
    for (int c = 1; c <= 3; ++c)
      text += std::to_string(a) + "," + std::to_string(c) + "," + std::to_string(1000 * a) + "\n";
  text += "6,3,oom\n";
  const std::string path = folder_.write("table.csv", text);
  const auto answer =
      ask_as_it_is({"explain", "--table", path, "--objective-column", "iteration_ns", "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto document = answer.json();
  EXPECT_EQ(document.at("completed"), 18);
  EXPECT_EQ(document.at("failed"), 1);
  EXPECT_EQ(document.at("unit"), "ns");
  EXPECT_EQ(document.at("importance")[0].at("parameter"), "a_b");
  EXPECT_LT(document.at("importance")[1].at("total"), 0.05);
  EXPECT_EQ(document.at("recommended").at("params").at("a_b"), 1);
  EXPECT_EQ(document.at("trials")[0].at("reason"), nullptr);
  const auto plain =
      ask_as_it_is({"explain", "--table", path, "--objective-column", "iteration_ns"});
  EXPECT_THAT(plain.out, Not(HasSubstr("why each trial was run")));

  const auto target = folder_.file("plots");
  const auto plots = ask_as_it_is(
      {"plot", "--table", path, "--objective-column", "iteration_ns", "-o", target, "--json"});
  ASSERT_EQ(plots.status, kDone) << plots.err;
  const auto written = plots.json();
  ASSERT_EQ(written.at("written").size(), 6U);
  for (const std::string name : written.at("written")) {
    const auto drawing = read_file(name);
    ASSERT_TRUE(drawing);
    EXPECT_EQ(xml_complaint(*drawing), "") << name;
    EXPECT_THAT(*drawing, HasSubstr("table.csv"));
  }
}

TEST_F(Explain, PlotsAreWrittenWhole) {
  keep(parabola());
  const auto target = folder_.file("deep/plots");
  const auto answer = ask({"plot", "parabola", "-o", target});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(target))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names,
              ::testing::UnorderedElementsAre("convergence.svg", "slices.svg", "contour.svg",
                                              "parallel.svg", "importance.svg", "calibration.svg"));
  EXPECT_EQ(answer.err, "");
  for (const auto& name : names) {
    EXPECT_THAT(answer.out, HasSubstr("wrote " + target + "/" + name + "\n"));
    const auto document = read_file(target + "/" + name);
    ASSERT_TRUE(document);
    EXPECT_EQ(xml_complaint(*document), "") << name;
    EXPECT_THAT(*document, HasSubstr("study parabola"));
  }
  // Overwrites existing files.
  const auto again = ask({"plot", "parabola", "-o", target, "--json"});
  EXPECT_EQ(again.json().at("written").size(), 6U);
}

TEST_F(Explain, AContourOfTheParametersAskedFor) {
  keep(parabola());
  const auto contour_of = [&](const std::string& folder, const std::vector<std::string>& choice) {
    std::vector<std::string> arguments = {"plot", "parabola", "-o", folder_.file(folder)};
    arguments.insert(arguments.end(), choice.begin(), choice.end());
    const auto answer = ask(arguments);
    EXPECT_EQ(answer.status, kDone) << answer.err;
    return read_file(folder_.file(folder) + "/contour.svg").value();
  };
  const auto first = contour_of("first", {});
  EXPECT_EQ(contour_of("same", {"--contour", "X,Y"}), first);
  EXPECT_NE(contour_of("transposed", {"--contour", "Y,X"}), first);
  for (const auto& [choice, named] : std::vector<std::pair<std::string, std::string>>{
           {"X,Q", "there are X, Y"}, {"X,X", "X twice"}, {"X", "X,Y"}, {",X", "X,Y"}}) {
    const auto answer = ask({"plot", "parabola", "-o", folder_.file("none"), "--contour", choice});
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_THAT(answer.err, HasSubstr(named));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.file("none")));
}

TEST_F(Explain, ANoteSaysWhichPlotIsNotThere) {
  keep({"short", 2, {"X=int:1..40"}, [](const Params& params) {
          return complete_trial({static_cast<double>(std::get<std::int64_t>(params.at("X")))});
        }});
  const auto answer = ask({"plot", "short", "-o", folder_.file("plots")});
  ASSERT_EQ(answer.status, kDone);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("note: no plot \"contour\": "),
                                HasSubstr("note: no plot \"calibration\": ")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.file("plots")), {}), 4);
  const auto asked = ask({"plot", "short", "-o", folder_.file("none"), "--contour", "X,Y"});
  EXPECT_EQ(asked.status, kBadInput);
  EXPECT_THAT(asked.err, HasSubstr("--contour: no plot"));
}

TEST_F(Explain, PlotsThatCannotBeWrittenLeaveNothing) {
  keep(parabola());
  const std::string file = folder_.write("file", "");
  const auto under_a_file = ask({"plot", "parabola", "-o", file + "/plots"});
  EXPECT_EQ(under_a_file.status, kFailed);
  EXPECT_THAT(under_a_file.err, AllOf(HasSubstr("cannot be written"), HasSubstr(file)));
  EXPECT_EQ(ask({"plot", "parabola", "-o", file}).status, kFailed);
  EXPECT_EQ(ask({"plot", "parabola", "-o", ""}).status, kBadInput);

  const auto blocked = folder_.file("blocked");
  std::filesystem::create_directories(blocked + "/parallel.svg");
  const auto answer = ask({"plot", "parabola", "-o", blocked});
  EXPECT_EQ(answer.status, kFailed);
  EXPECT_THAT(answer.err, HasSubstr("parallel.svg"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(blocked), {}), 1);
}

TEST_F(Explain, SaysWhatItCannotExplain) {
  keep(parabola(1));
  keep({"broken", 4, {"X=int:1..40"}, [](const Params&) { return TrialOutcome{}; }});
  const std::string one = folder_.write("one.csv", "a,value\n1,4\n2,oom\n");
  const std::string text = folder_.write("text.csv", "a\n1\n");
  struct Misuse {
    std::vector<std::string> arguments;
    std::string named;
  };
  for (const auto& [arguments, named] : std::vector<Misuse>{
           {{"explain", "none"}, "none"},
           {{"plot", "none", "-o", folder_.file("p")}, "none"},
           {{"explain", "parabola"}, "study parabola: 1 of 1 trials"},
           {{"plot", "parabola", "-o", folder_.file("p")}, "at least 2"},
           {{"explain", "broken"}, "study broken: 0 of 4 trials"},
           {{"explain"}, "--table TABLE"},
           {{"explain", "parabola", "--table", one}, "--table TABLE"},
           {{"plot", "-o", folder_.file("p")}, "--table TABLE"},
           {{"plot", "--table", one, "-o", folder_.file("p")}, "1 of 2 trials"},
           {{"plot", "--table", text, "-o", folder_.file("p")}, "no column \"value\""},
           {{"explain", "--table", one}, "1 of 2 trials"},
           {{"explain", "--table", text}, "no column \"value\""},
           {{"explain", "--table", folder_.file("none.csv")}, "none.csv"},
       }) {
    SCOPED_TRACE(named);
    const auto answer = ask(arguments);
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_EQ(answer.out, "");
    EXPECT_THAT(answer.err, AllOf(::testing::StartsWith("hocket: "), HasSubstr(named)));
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.file("p")));
}

TEST_F(Explain, EqualValuesShowNoEffect) {
  keep({"flat", 6, {"X=int:1..40", "Y=float:0..1"}, [](const Params&) {
          return complete_trial({5});
        }});
  const auto answer = ask({"explain", "flat"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("no parameter shows an effect"));
  EXPECT_EQ(ask({"plot", "flat", "-o", folder_.file("flat")}).status, kDone);
}

/// Two hosts of four ranks; a flat all-reduce between them takes about as long as the computation.
constexpr const char* kSlowNetwork =
    R"({"format":"hocket-step","version":1,"ranks":8,"ranks_per_host":4,"channel_split":0,
        "links":{"host":"800gbit,1us","network":"8gbit,20us"},
        "layers":[{"name":"a","parameter_bytes":8000000,"forward_ns":4e6,"backward_ns":8e6},
                  {"name":"b","parameter_bytes":8000000,"forward_ns":4e6,"backward_ns":8e6},
                  {"name":"c","parameter_bytes":8000000,"forward_ns":4e6,"backward_ns":8e6}]})";

TEST_F(Explain, AStepAsJson) {
  const auto step = folder_.write("slow.json", kSlowNetwork);
  const auto better = folder_.file("better.json");
  const auto answer = ask_as_it_is({"explain", step, "--json", "--output", better});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto document = answer.json();
  EXPECT_EQ(document.at("of"), "step " + step);
  EXPECT_LT(document.at("iteration_ns"), document.at("baseline_ns"));
  EXPECT_GE(document.at("iteration_ns"), document.at("bound_ns"));
  EXPECT_EQ(document.at("changes").at("group_ranks"), 4);
  EXPECT_NEAR(document.at("speedup").get<double>(),
              document.at("baseline_ns").get<double>() / document.at("iteration_ns").get<double>(),
              1e-9);
  const auto& rejected = document.at("rejected");
  ASSERT_GT(rejected.size(), 10U);
  EXPECT_TRUE(std::any_of(rejected.begin(), rejected.end(), [](const auto& row) {
    return row.at("changes").empty();
  })) << "the base was rejected";
  for (const auto& row : rejected) {
    EXPECT_FALSE(row.at("instead").empty());
    EXPECT_FALSE(row.at("reason").get<std::string>().empty());
    if (row.at("iteration_ns").is_null()) continue;
    EXPECT_EQ(row.at("difference_ns").get<std::int64_t>(),
              row.at("iteration_ns").get<std::int64_t>() -
                  document.at("iteration_ns").get<std::int64_t>());
  }
  // The written configuration is the chosen one, and its prediction matches.
  EXPECT_EQ(nlohmann::json::parse(read_file(better).value()), document.at("config"));
  const auto simulated = ask_as_it_is({"simulate", step, "--config", better, "--json"}).json();
  EXPECT_EQ(simulated.at("iteration_ns"), document.at("iteration_ns"));
  EXPECT_EQ(simulated.at("bound_ns"), document.at("bound_ns"));
  // Nothing is left to improve from there.
  const auto again = ask_as_it_is({"explain", step, "--json", "--config", better}).json();
  EXPECT_LE(again.at("iteration_ns"), document.at("iteration_ns"));
  EXPECT_EQ(again.at("baseline_ns"), document.at("iteration_ns"));
}

TEST_F(Explain, AStepAsText) {
  const auto step = folder_.write("slow.json", kSlowNetwork);
  const auto answer = ask_as_it_is({"explain", step});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  for (const char* line :
       {"how to partition it", "chosen ", "group_ranks=4", "iteration ", "of the base ",
        "speed-up ", "bound T* ", "looked at ", "rejected, with what differs from the choice",
        "hocket's defaults", "group_ranks=1", "(the base)", " %", "that differ in more"}) {
    EXPECT_THAT(answer.out, HasSubstr(line));
  }
}

TEST_F(Explain, SaysWhyWhatIsFasterThanTheChoiceWasRejected) {
  // Hiding more of the communication gains less than predictions err.
  const auto step = folder_.write("nearly.json", R"({"format":"hocket-step","version":1,
        "layers":[{"name":"a","parameter_bytes":4000000,"forward_ns":4e6,"backward_ns":8e6},
                  {"name":"b","parameter_bytes":8000000,"forward_ns":400e6,"backward_ns":800e6}],
        "collective":{"beta_ns_per_byte":2}})");
  const auto answer = ask_as_it_is({"explain", step});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("the base: nothing is predicted to be clearly faster"));
  const auto document = ask_as_it_is({"explain", step, "--json"}).json();
  int faster = 0;
  for (const auto& row : document.at("rejected")) {
    if (row.at("difference_ns").is_null() || row.at("difference_ns") >= 0) continue;
    ++faster;
    const auto reason = row.at("reason").get<std::string>();
    EXPECT_THAT(reason, HasSubstr("faster, but by no more than predictions err"));
    EXPECT_THAT(reason, HasSubstr("of the base's knobs, the choice 0"));
    if (faster > 1) continue;
    EXPECT_THAT(answer.out, HasSubstr(reason));
  }
  EXPECT_GT(faster, 0);
}

TEST_F(Explain, AStepFromWhatAFrameworkDoes) {
  const auto step = folder_.write("slow.json", kSlowNetwork);
  const auto answer = ask_as_it_is({"explain", step, "--preset", "ddp", "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("note: DDP's first bucket"));
  EXPECT_EQ(answer.json().at("base").at("bucket_bytes"), 25 << 20);
  EXPECT_EQ(answer.json().at("base_name"), "DDP's defaults");
  EXPECT_THAT(ask_as_it_is({"explain", step, "--config",
                            R"({"format":"hocket-schedule","version":1,"bucket_bytes":8388608})"})
                  .err,
              HasSubstr("note: partition_bytes=4MiB decides, not bucket_bytes=8MiB"));
}

TEST_F(Explain, AStepOnOtherRanksAndLinksIsTheOneThatIsSimulated) {
  const auto step = folder_.write("slow.json", kSlowNetwork), chosen = folder_.file("chosen.json");
  const std::vector<std::string> changes = {"--ranks",          "64",
                                            "--ranks-per-host", "8",
                                            "--link",           "host=300gbit,5us",
                                            "--link",           "network=25gbit,20us",
                                            "--compute-scale",  "0.5"};
  const auto ask_of = [&](const char* verb, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {verb, step});
    arguments.insert(arguments.end(), changes.begin(), changes.end());
    const auto answer = ask_as_it_is(arguments);
    EXPECT_EQ(answer.status, kDone) << answer.err;
    return answer;
  };
  const auto explained = ask_of("explain", {"--json", "--output", chosen}).json();
  EXPECT_EQ(explained.at("ranks"), 64);
  EXPECT_EQ(ask_of("simulate", {"--json"}).json().at("iteration_ns"), explained.at("baseline_ns"));
  EXPECT_EQ(ask_of("simulate", {"--json", "--config", chosen}).json().at("iteration_ns"),
            explained.at("iteration_ns"));
  EXPECT_THAT(ask_of("explain", {}).out, HasSubstr("ranks        64"));
  const auto unlinked = folder_.write(
      "unlinked.json", R"({"format":"hocket-step","version":1,"layers":[{"forward_ns":1000}]})");
  EXPECT_THAT(ask_as_it_is({"explain", unlinked, "--ranks", "64"}).err,
              HasSubstr("alpha and beta are kept as given for 1 ranks"));
}

TEST_F(Explain, AStepOfManyTasksAndRanksIsNeverWorseThanAPreset) {
  std::string layers;
  for (int i = 0; i < 480; ++i) {
    layers += (i == 0 ? "" : ",") + std::string(R"({"parameter_bytes":)") +
              std::to_string((i % 7 + 1) * 30'000'000) +
              R"(,"forward_ns":4000000,"backward_ns":8000000})";
  }
  const auto step =
      folder_.write("many.json", R"({"format":"hocket-step","version":1,"ranks":512,)"
                                 R"("ranks_per_host":8,"links":{"host":"300gbit,5us",)"
                                 R"("network":"25gbit,20us"},"layers":[)" +
                                     layers + "]}");
  const auto answer = ask_as_it_is({"explain", step, "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto chosen_ns = answer.json().at("iteration_ns").get<std::int64_t>();
  EXPECT_EQ(answer.json().at("complete"), answer.err.find("cut short") == std::string::npos);
  EXPECT_EQ(answer.json().at("complete"), false) << "the test is of a search that is cut short";
  for (const char* preset : {"ddp", "fsdp", "horovod", "hocket"}) {
    const auto simulated = ask_as_it_is({"simulate", step, "--preset", preset, "--json"});
    EXPECT_LE(chosen_ns, simulated.json().at("iteration_ns").get<std::int64_t>()) << preset;
  }
}

TEST_F(Explain, AStepThatNothingHelpsKeepsTheBase) {
  const auto step = folder_.write(
      "alone.json", R"({"format":"hocket-step","version":1,"layers":[{"forward_ns":1000}]})");
  const auto answer = ask_as_it_is({"explain", step});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("the base: nothing is predicted to be clearly faster"));
  EXPECT_THAT(answer.out, HasSubstr("speed-up     1.000"));
}

TEST_F(Explain, AStepThatCannotBeExplained) {
  const auto refused = [](const std::vector<std::string>& arguments) {
    const auto answer = ask_as_it_is(arguments);
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_EQ(answer.out, "");
    return answer.err;
  };
  const auto step = folder_.write("slow.json", kSlowNetwork);
  EXPECT_THAT(refused({"explain", folder_.file("none.json")}), HasSubstr("none.json"));
  EXPECT_THAT(refused({"explain", folder_.write("other", "no JSON")}), HasSubstr("other"));
  EXPECT_THAT(refused({"explain", step, "--config",
                       R"({"format":"hocket-schedule","version":1,"group_ranks":3})"}),
              HasSubstr("group_ranks"));
  EXPECT_THAT(refused({"explain", step, "--config",
                       R"({"format":"hocket-schedule","version":1,
                           "regions":{"d":{"priority":1}}})"}),
              AllOf(HasSubstr("regions.d"), HasSubstr("slow.json")));
  EXPECT_THAT(refused({"explain", step, "--config", folder_.file("nowhere")}),
              HasSubstr("--config"));
  EXPECT_THAT(refused({"explain", "a-study", "--output", folder_.file("o")}),
              HasSubstr("--output"));
  EXPECT_THAT(refused({"explain", "a-study", "--preset", "ddp"}), HasSubstr("--preset"));
  EXPECT_THAT(refused({"explain", step, "--preset", "dpp"}), HasSubstr("the nearest is ddp"));
  EXPECT_THAT(refused({"explain", "a-study", "--ranks", "64"}), HasSubstr("--ranks"));
  EXPECT_THAT(refused({"explain", step, "--ranks", "0"}), HasSubstr("ranks"));
  EXPECT_THAT(refused({"explain", step, "--link", "rack=1gbit"}), HasSubstr("network="));
}

}  // namespace
}  // namespace hocket
