#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/answer.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class LayoutVerb : public testing::Test {
 protected:
  LayoutVerb() {
    const Answer model =
        ask_hocket({"graph", "model", "gpt2", "--layers", "2", "--heads", "4", "--width", "16",
                    "--vocabulary", "32", "--positions", "16", "--sequence", "16", "--batch", "8"});
    graph_ = folder_.write("gpt2.graph", model.out);
  }

  Answer layout_of(const std::string& signals, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"layout", folder_.write("signals.yaml", signals), graph_};
    words.insert(words.end(), more.begin(), more.end());
    return ask_hocket(words);
  }

  const TemporaryFolder folder_;
  std::string graph_;
};

constexpr const char* kSignals = R"(mesh: {data: 2, tensor: 4}
regions:
  "*": {batch: data}
  "block*.attention.qkv": {columns: tensor}
  "block*.attention.out": {weight: {rows: tensor}}
)";

TEST_F(LayoutVerb, SaysWhereValuesAreAndWhatIsSent) {
  const Answer answer = layout_of(kSignals);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("block*.attention.qkv.weight   2      float32[48, 16]  "
                                          "[tensor*3, -]"),
                                HasSubstr("block*.attention  2      forward   all_reduce "),
                                HasSubstr("A rank sends "), HasSubstr("Memory of rank 0: ")));
}

TEST_F(LayoutVerb, OfOneRankSendsNothing) {
  EXPECT_THAT(layout_of("mesh: {data: 1}").out, HasSubstr("Ranks do not communicate."));
}

TEST_F(LayoutVerb, SaysWhatIsWrongWithAFile) {
  const Answer answer = layout_of("mesh: {data: 2}\nregions:\n  head: {batch: dat}\n");
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("signals.yaml: region \"head\": "), HasSubstr("line 3"),
                                HasSubstr("did you mean \"data\"")));
  EXPECT_THAT(layout_of(kSignals, {"--rank", "8"}).err, HasSubstr("--rank: expected 0 to 7"));
}

TEST_F(LayoutVerb, GraphShowPrintsTheProgramOfARank) {
  const std::string signals = folder_.write("signals.yaml", kSignals);
  const Answer first = ask_hocket({"graph", "show", graph_, "--output", "loss", "--after", "fusion",
                                   "--optimiser", "sgd", "--signals", signals});
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out,
              AllOf(HasSubstr("input \"tokens\" : int32[4, 16]"), HasSubstr("all_reduce"),
                    HasSubstr("group=tensor, ranks=4"), HasSubstr("bias=true")));
  const Answer plain = ask_hocket({"graph", "show", graph_, "--signals", signals, "--rank", "7"});
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.out, Not(HasSubstr("updated/")));
}

}  // namespace
}  // namespace hocket
