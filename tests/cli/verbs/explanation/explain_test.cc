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

}  // namespace
}  // namespace hocket
