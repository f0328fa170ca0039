#include "tuner/space/constraint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/tuner/random_space.h"
#include "tuner/space/size_text.h"

namespace hocket {
namespace {

const std::vector<Parameter> kParameters{
    {"a", IntegerRange{-1000, 1000}, std::int64_t{1}},
    {"b", RealRange{-1000, 1000}, 1.0},
    {"order", Choices{{"fifo", "static", "8K", "a b"}}, std::string("fifo")},
    {"n", Levels{{std::int64_t{1}, std::int64_t{8}}}, std::int64_t{1}}};

/// Returns whether `text` holds for a, b, the index of the order, and n.
bool holds(std::string_view text, double a, double b = 0, double order = 0, double n = 1) {
  const auto constraint = Constraint::parse(text, kParameters);
  EXPECT_TRUE(constraint) << text << ": " << constraint.error().message;
  return constraint && constraint->holds(std::vector<double>{a, b, order, n});
}

std::string constraint_problem(std::string_view text) {
  const auto constraint = Constraint::parse(text, kParameters);
  return constraint ? "accepted" : constraint.error().message;
}

TEST(Constraint, ComparesSidesByEachSign) {
  for (const double a : {1.0, 2.0, 3.0}) {
    EXPECT_EQ(holds("a<=b", a, 2), a <= 2);
    EXPECT_EQ(holds("a<b", a, 2), a < 2);
    EXPECT_EQ(holds("a>=b", a, 2), a >= 2);
    EXPECT_EQ(holds("a>b", a, 2), a > 2);
    EXPECT_EQ(holds("a==b", a, 2), a == 2);
    EXPECT_EQ(holds("a!=b", a, 2), a != 2);
  }
}

TEST(Constraint, ReadsNumbersAndPrecedence) {
  EXPECT_TRUE(holds("a == 8G", std::ldexp(8, 30)));
  EXPECT_TRUE(holds("a == 1.5K", 1536));
  EXPECT_TRUE(holds("a == 2e3", 2000));
  EXPECT_TRUE(holds("a == 1 + 2 * 3 - 4 / 2", 5));
  EXPECT_TRUE(holds("a == 10 - 3 - 2", 5));
  EXPECT_TRUE(holds("a == 16 / 4 / 2", 2));
  EXPECT_TRUE(holds("a == -(1 + 2) * -2", 6));
  EXPECT_TRUE(holds("a*n*4096<=8M", 256, 0, 0, 8));
  EXPECT_FALSE(holds("a*n*4096<=8M", 257, 0, 0, 8));
}

TEST(Constraint, ComparesAChoiceWithAWord) {
  EXPECT_TRUE(holds("order==static", 0, 0, 1));
  EXPECT_FALSE(holds("order==static", 0, 0, 0));
  EXPECT_TRUE(holds("fifo != order", 0, 0, 1));
  EXPECT_FALSE(holds("order!=\"a b\"", 0, 0, 3));
  EXPECT_TRUE(holds("order == 'static'", 0, 0, 1));
  EXPECT_TRUE(holds("order == 8K", 0, 0, 2));
}

TEST(Constraint, AComparisonWithWhatIsNoNumberIsFalse) {
  for (const char* sign : {"<=", "<", ">=", ">", "==", "!="}) {
    EXPECT_FALSE(holds("a/b" + std::string(sign) + "1", 0, 0)) << sign;
  }
  EXPECT_TRUE(holds("1/b>=1", 0, 0));
}

TEST(Constraint, KnowsWhatItNames) {
  const auto constraint = Constraint::parse("  n*n <= b+n ", kParameters).value();
  EXPECT_EQ(constraint.text(), "n*n <= b+n");
  EXPECT_EQ(constraint.parameters(), (std::vector<std::size_t>{1, 3}));
}

TEST(Constraint, SaysWhatIsWrong) {
  const std::pair<const char*, std::string> cases[] = {
      {"", "expected a parameter, a number or (, found the end"},
      {"a", "expected one of <=, <, >=, >, ==, !=, found the end"},
      {"a=4", "cannot read \"=4\"; equality is written =="},
      {"a<=", "expected a parameter, a number or (, found the end"},
      {"a<=1<=2", "expected one comparison, found another at \"<=\"; write two constraints"},
      {"a<=4)", "expected the end, found \")\""},
      {"(a<=4", "expected ), found \"<=\""},
      {"a<=4x", std::string("expected a number, with ") + kSizeUnitsText + ", at \"4x\""},
      {"a<=4KB3", std::string("expected a number, with ") + kSizeUnitsText + ", at \"4KB3\""},
      {"a<=1e999", "expected a number within the range of doubles at \"1e999\""},
      {"a<=.", "expected a number within the range of doubles at \".\""},
      {"a<='x", "a quote is not closed"},
      {"a<='x'", "expected a parameter, a number or (, found \"x\""},
      {"c<=4", "no parameter is named \"c\"; there are a, b, order, n"},
      {"a<=inf", "no parameter is named \"inf\"; there are a, b, order, n"},
      {"1<=2", "it names no parameter; there are a, b, order, n"},
      {"a#4", "cannot read \"#4\""},
      {"order<=fifo",
       "parameter order holds words: compare it alone, by == or !=, with one of fifo, static, 8K, "
       "a b"},
      {"order==lifo",
       "parameter order holds words: compare it alone, by == or !=, with one of fifo, static, 8K, "
       "a b"},
      {"a*order<=4",
       "parameter order holds words: compare it alone, by == or !=, with one of fifo, static, 8K, "
       "a b"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(constraint_problem(text), "constraint \"" + std::string(text) + "\": " + message);
  }
}

TEST(Constraint, RefusesWhatIsTooLongOrTooDeep) {
  EXPECT_EQ(constraint_problem(std::string(2000, 'a')),
            "a constraint has 2000 bytes; at most 1000 are read");
  for (const auto* deep : {"(", "-"}) {
    std::string text;
    for (int i = 0; i < 500; ++i) text += deep;
    EXPECT_NE(constraint_problem(text + "a<=1").find("more than 32 levels of brackets and signs"),
              std::string::npos);
  }
  std::string deepest = "a<=1";
  for (int i = 0; i < 32; ++i) deepest = "1+1*(" + deepest;
  deepest.insert(deepest.size() - 3, std::string(32, ')'));
  EXPECT_EQ(constraint_problem(deepest), "accepted");
}

/// A random sum as text, with or without all brackets, and its value.
struct Sum {
  std::string text;
  double value;
  bool is_plain_sum = false;  ///< + or - is outside of brackets
};

Sum random_sum(Random& random, const std::vector<double>& numbers, int depth) {
  switch (pick(random, 0, depth == 0 ? 2 : 6)) {
    case 0:
      return {"a", numbers[0]};
    case 1:
      return {"b", numbers[1]};
    case 2: {
      const auto number = pick(random, 0, 99);
      return {std::to_string(number), static_cast<double>(number)};
    }
    case 3: {
      const Sum inner = random_sum(random, numbers, depth - 1);
      return {"-(" + inner.text + ")", -inner.value};
    }
    default: {
      const Sum left = random_sum(random, numbers, depth - 1);
      const Sum right = random_sum(random, numbers, depth - 1);
      if (pick(random, 0, 1) == 0) {
        return {left.text + " + " + right.text, left.value + right.value, true};
      }
      const auto bracketed = [](const Sum& sum) {
        return sum.is_plain_sum ? "(" + sum.text + ")" : sum.text;
      };
      return {bracketed(left) + "*" + bracketed(right), left.value * right.value};
    }
  }
}

TEST(Constraint, ComputesWhatItSays) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    // Integers, so that the order of additions does not matter.
    const std::vector<double> numbers{static_cast<double>(pick(random, -9, 9)),
                                      static_cast<double>(pick(random, -9, 9)), 0, 1};
    const Sum sum = random_sum(random, numbers, 4);
    if (std::abs(sum.value) > 0x1p50) continue;
    const auto constraint = Constraint::parse(sum.text + "==a+" + "b*0", kParameters);
    ASSERT_TRUE(constraint) << sum.text;
    ASSERT_EQ(constraint->holds(numbers), sum.value == numbers[0]) << sum.text;
    const auto exact = Constraint::parse(
        sum.text + "==" + std::to_string(static_cast<long long>(sum.value)) + "+0*a", kParameters);
    ASSERT_TRUE(exact) << sum.text;
    ASSERT_TRUE(exact->holds(numbers)) << sum.text << " is " << sum.value;
  }
}

TEST(Constraint, MutatedTextIsRefusedOrComputes) {
  const char* valid[] = {"a>=b", "a*n*4096<=8G", "-(a+2*b)/3 < 1.5e3 - n", "order!='a b'",
                         "fifo == order"};
  const std::vector<double> numbers{1, 2, 0, 8};
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto text = mutated(valid[seed % std::size(valid)], random);
    const auto constraint = Constraint::parse(text, kParameters);
    if (!constraint) continue;
    ++accepted;
    const auto again = Constraint::parse(constraint->text(), kParameters);
    ASSERT_TRUE(again && *again == *constraint);
    ASSERT_EQ(again->holds(numbers), constraint->holds(numbers));
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace hocket
