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
    {"n", Levels{{std::int64_t{1}, std::int64_t{8}}}, std::int64_t{1}},
    {"mode", Choices{{"reduce", "reduce-overhead", "static", "0.5x", "c:d"}},
     std::string("reduce")},
    {"regions.top.bytes", IntegerRange{1, 1 << 30}, std::int64_t{1}}};

/// Returns whether `text` holds for a, b, the index of the order, n, and the index of the mode.
bool holds(std::string_view text, double a, double b = 0, double order = 0, double n = 1,
           double mode = 0, double bytes = 1) {
  const auto constraint = Constraint::parse(text, kParameters);
  EXPECT_TRUE(constraint) << text << ": " << constraint.error().message;
  return constraint && constraint->holds(std::vector<double>{a, b, order, n, mode, bytes});
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

TEST(Constraint, BindsOnlyWhereItsConditionHolds) {
  EXPECT_TRUE(holds("a<=16 if order==static", 17, 0, 0));
  EXPECT_FALSE(holds("a<=16 if order==static", 17, 0, 1));
  EXPECT_TRUE(holds("a<=16 if order==static", 16, 0, 1));
  EXPECT_FALSE(holds("order!=fifo if a>4", 5, 0, 0));
  EXPECT_FALSE(holds("a*n<=16 and b<4 if order==static or n>1", 1, 4, 0, 8));
  EXPECT_TRUE(holds("a*n<=16 and b<4 if order==static or n>1", 1, 4, 0, 1));
  EXPECT_FALSE(holds("a<=1 IF order==static", 2, 0, 1));
}

TEST(Constraint, JoinsConditions) {
  for (const double a : {1.0, 2.0}) {
    for (const double b : {1.0, 2.0}) {
      const bool is_a = a == 1, is_b = b == 1;
      EXPECT_EQ(holds("a==1 and b==1", a, b), is_a && is_b);
      EXPECT_EQ(holds("a==1 or b==1", a, b), is_a || is_b);
      EXPECT_EQ(holds("not a==1", a, b), !is_a);
      EXPECT_EQ(holds("not (a==1 and b==1)", a, b), !(is_a && is_b));
      EXPECT_EQ(holds("not a==1 AND Not b==1", a, b), !is_a && !is_b);
      EXPECT_EQ(holds("a==1 or a==2 and b==1", a, b), is_a || is_b);
      EXPECT_EQ(holds("(a==1 or a==2) and b==1", a, b), is_b);
      EXPECT_EQ(holds("((a)==(1)) and (b+1)*2==4", a, b), is_a && is_b);
    }
  }
}

TEST(Constraint, JoiningWordsMayBeNamesOfParameters) {
  const std::vector<Parameter> parameters{{"if", IntegerRange{1, 9}, std::int64_t{1}},
                                          {"and", IntegerRange{1, 9}, std::int64_t{1}},
                                          {"not", IntegerRange{1, 9}, std::int64_t{1}}};
  const auto constraint = Constraint::parse("if<and and not>2 and not not==4 if if<=5", parameters);
  ASSERT_TRUE(constraint) << constraint.error().message;
  EXPECT_TRUE(constraint->holds(std::vector<double>{1, 2, 3}));
  EXPECT_FALSE(constraint->holds(std::vector<double>{1, 2, 4}));
  EXPECT_FALSE(constraint->holds(std::vector<double>{2, 2, 3}));
  EXPECT_TRUE(constraint->holds(std::vector<double>{6, 2, 3}));
}

TEST(Constraint, ReadsWordsThatAreNoNames) {
  EXPECT_TRUE(holds("mode==reduce-overhead and a>1", 2, 0, 0, 1, 1));
  EXPECT_FALSE(holds("mode==reduce-overhead", 2, 0, 0, 1, 0));
  EXPECT_TRUE(holds("(mode==reduce)", 2, 0, 0, 1, 0));
  EXPECT_TRUE(holds("a<1 if mode==0.5x", 2, 0, 0, 1, 2));
  EXPECT_FALSE(holds("a<1 if mode==0.5x", 2, 0, 0, 1, 3));
  EXPECT_FALSE(holds("not (mode != c:d)", 2, 0, 0, 1, 3));
  EXPECT_TRUE(holds("regions.top.bytes<=4M", 0, 0, 0, 1, 0, 4 << 20));
}

TEST(Constraint, ComparesTwoChoicesByTheirWords) {
  for (int order = 0; order < 4; ++order) {
    for (int mode = 0; mode < 5; ++mode) {
      const bool is_same = order == 1 && mode == 2;
      EXPECT_EQ(holds("order==mode", 0, 0, order, 1, mode), is_same);
      EXPECT_EQ(holds("order!=mode", 0, 0, order, 1, mode), !is_same);
    }
  }
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

TEST(Constraint, SaysWhatIsWrongAndHowToWriteIt) {
  const std::string numbers = std::string("expected a number, with ") + kSizeUnitsText;
  const std::string words =
      "parameter order holds words: compare it alone, by == or !=, with one of fifo, static, 8K, "
      "a b";
  const std::pair<const char*, std::string> cases[] = {
      {"", "expected a parameter, a number or (, found the end (character 1)"},
      {"a", "expected one of <=, <, >=, >, ==, !=, found the end (character 2)"},
      {"a=4", "\"=4\": cannot be read: equality is written == (character 2)"},
      {"a => 4",
       "\"=>\": cannot be read: at least is written >=, and a condition follows `if` (character "
       "3)"},
      {"a<4 && b<4", "\"&&\": cannot be read: write `and` (character 5)"},
      {"a<4 || b<4", "\"||\": cannot be read: write `or` (character 5)"},
      {"!a<4", "\"!a<4\": cannot be read: write `not` (character 1)"},
      {"a<=", "expected a parameter, a number or (, found the end (character 4)"},
      {"a<=4)", "expected `and`, `or`, `if` or the end, found \")\" (character 5)"},
      {"a<=4 when b<4", "expected `and`, `or`, `if` or the end, found \"when\" (character 6)"},
      {"a<=4 if b<4 if n==1", "expected `and`, `or` or the end, found \"if\" (character 13)"},
      {"a<=4 if", "expected a parameter, a number or (, found the end (character 8)"},
      {"if b<4 a<=4", "expected a parameter, a number or (, found \"if\" (character 1)"},
      {"a<=4 and b", "expected one of <=, <, >=, >, ==, !=, found the end (character 11)"},
      {"a or b<4", "expected one of <=, <, >=, >, ==, !=, found \"or\" (character 3)"},
      {"a<=4 if b", "expected one of <=, <, >=, >, ==, !=, found the end (character 10)"},
      {"(a<=4) + 1 < 2", "there is a condition where a number must be, before \"+\" (character 8)"},
      {"1 + (a<=4) < 2",
       "there is a condition where a number must be, before \"<\" (character 12)"},
      {"(a<=4", "expected ), found the end (character 6)"},
      {"a<=4x", "\"4x\": " + numbers + " (character 4)"},
      {"a<=4KB3", "\"4KB3\": " + numbers + " (character 4)"},
      {"a<=1e999", "\"1e999\": expected a number within the range of doubles (character 4)"},
      {"a<=.", "\".\": expected a number within the range of doubles (character 4)"},
      {"a<='x", "\"'x\": a quote is not closed (character 4)"},
      {"a<='x'", "expected a parameter, a number or (, found \"x\" (character 4)"},
      {"order=='é' and a#4",
       "parameter order is never \"é\" (character 8); it is one of fifo, static, 8K, a b"},
      {"order!=fifo and a#4", "\"#4\": cannot be read (character 18)"},
      {"order<=fifo", words + " (character 1)"},
      {"order==a+b",
       "parameter order is never \"a+b\" (character 8); did you mean \"a b\"; it is one of fifo, "
       "static, 8K, a b"},
      {"order==lifo",
       "parameter order is never \"lifo\" (character 8); did you mean \"fifo\"; it is one of fifo, "
       "static, 8K, a b"},
      {"a==order",
       "parameter order is never \"a\" (character 1); it is one of fifo, static, 8K, a b"},
      {"a*order<=4", words + " (character 3)"},
  };
  for (const auto& [text, message] : cases) {
    const bool is_word = message.find("; it is") != std::string::npos;
    EXPECT_EQ(constraint_problem(text),
              "constraint \"" + std::string(text) + "\": " + message +
                  (is_word ? "" : std::string("; ") + kConstraintSyntaxText));
  }
}

TEST(Constraint, NamesTheNearestParameter) {
  const std::string known = "there are a, b, order, n, mode, regions.top.bytes";
  EXPECT_EQ(constraint_problem("a<4 if oder==fifo"),
            "constraint \"a<4 if oder==fifo\": no parameter is named \"oder\" (character 8); did "
            "you mean \"order\"; " +
                known);
  EXPECT_EQ(constraint_problem("memory<=4"),
            "constraint \"memory<=4\": no parameter is named \"memory\" (character 1); " + known +
                "; " + kConstraintSyntaxText);
  EXPECT_EQ(constraint_problem("1<=2"), "constraint \"1<=2\": it names no parameter; " + known);
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
                                      static_cast<double>(pick(random, -9, 9)),
                                      0,
                                      1,
                                      0,
                                      1};
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

/// A random condition as text and whether it is true; `strength` is that of its outermost word:
/// 0 or, 1 and, 2 none.
struct Condition {
  std::string text;
  bool is_true;
  int strength = 2;
};

Condition random_condition(Random& random, const std::vector<double>& numbers, int depth) {
  const auto bracketed = [](const Condition& condition, int least) {
    return condition.strength < least ? "(" + condition.text + ")" : condition.text;
  };
  switch (pick(random, 0, depth == 0 ? 1 : 4)) {
    case 0: {
      const auto& words = std::get<Choices>(kParameters[2].domain).names;
      const auto word = static_cast<std::size_t>(pick(random, 0, 2));
      const bool is_same = pick(random, 0, 1) == 0;
      return {std::string(is_same ? "order==" : "order != ") + words[word],
              (numbers[2] == static_cast<double>(word)) == is_same};
    }
    case 1: {
      const auto limit = pick(random, -9, 9);
      return {"a <= " + std::to_string(limit), numbers[0] <= static_cast<double>(limit)};
    }
    case 2: {
      const Condition inner = random_condition(random, numbers, depth - 1);
      return {"not " + bracketed(inner, 2), !inner.is_true};
    }
    default: {
      const Condition left = random_condition(random, numbers, depth - 1);
      const Condition right = random_condition(random, numbers, depth - 1);
      const int strength = static_cast<int>(pick(random, 0, 1));
      return {bracketed(left, strength) + (strength == 1 ? " and " : " or ") +
                  bracketed(right, strength),
              strength == 1 ? left.is_true && right.is_true : left.is_true || right.is_true,
              strength};
    }
  }
}

TEST(Constraint, DecidesWhatItsConditionsSay) {
  int held = 0, violated = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::vector<double> numbers{static_cast<double>(pick(random, -9, 9)),
                                      0,
                                      static_cast<double>(pick(random, 0, 2)),
                                      1,
                                      0,
                                      1};
    const Condition bound = random_condition(random, numbers, 3);
    const Condition when = random_condition(random, numbers, 3);
    const std::string text = bound.text + " if " + when.text;
    const auto constraint = Constraint::parse(text, kParameters);
    ASSERT_TRUE(constraint) << text << ": " << constraint.error().message;
    const bool expected = bound.is_true || !when.is_true;
    ASSERT_EQ(constraint->holds(numbers), expected) << text;
    ++(expected ? held : violated);
  }
  EXPECT_GT(held, 300);
  EXPECT_GT(violated, 300);
}

TEST(Constraint, MutatedTextIsRefusedOrComputes) {
  const char* valid[] = {"a>=b",
                         "a*n*4096<=8G",
                         "-(a+2*b)/3 < 1.5e3 - n",
                         "order!='a b'",
                         "fifo == order",
                         "a<=16 and not (b>2 or n==1) if mode!=reduce-overhead",
                         "order==mode or b<1"};
  const std::vector<double> numbers{1, 2, 0, 8, 1, 4};
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 30'000; ++seed) {
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
