#include "tuner/space/constraint.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/nearest_name.h"
#include "core/base/text.h"
#include "tuner/space/constraint_tokens.h"

namespace hocket {
namespace {

constexpr int kMaxDepth = 32;
/// Each open bracket keeps at most the left sides of an `or`, an `and`, a comparison, a sum and a
/// product on the stack; the outermost level also that of the `if`. Two choices that are compared
/// take four values more than a sum does.
constexpr std::size_t kStackSize = 5 * (kMaxDepth + 2) + 6;
constexpr std::size_t kQuoteLimitBytes = 80;

constexpr std::string_view kJoiningWords[] = {"if", "and", "or", "not"};

std::string quoted_text(std::string_view text) {
  return '"' + printable(text, kQuoteLimitBytes) + '"';
}

}  // namespace

/// Parses one constraint by recursive descent.
class ConstraintParser {
 public:
  /// `text` must have no surrounding blanks.
  ConstraintParser(std::string_view text, std::span<const Parameter> parameters)
      : text_(text), tokens_(read_constraint_tokens(text)), parameters_(parameters) {}

  Result<Constraint> parse() {
    HOCKET_TRY(whole_condition());
    if (take_word("if")) {
      HOCKET_TRY(whole_condition());
      add(Operation::provided);
    }
    if (token().kind == ConstraintTokenKind::comparison) {
      return failure(
          problem("expected one comparison, found another at " + found(), "join two by `and`"));
    }
    if (token().kind != ConstraintTokenKind::end) {
      return failure(
          unexpected(is_conditional() ? "`and`, `or` or the end" : "`and`, `or`, `if` or the end"));
    }
    auto& places = constraint_.parameters_;
    if (places.empty()) return invalid("it names no parameter; there are " + known());
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    constraint_.text_ = text_;
    return std::move(constraint_);
  }

 private:
  using Operation = Constraint::Operation;
  using Status = Result<void>;

  /// The result of an expression.
  enum class Kind { number, condition };

  const ConstraintToken& token() const { return tokens_[at_]; }

  /// Returns the token behind this one, or the end.
  const ConstraintToken& next_token() const {
    return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
  }

  bool is_conditional() const {
    return !constraint_.steps_.empty() &&
           constraint_.steps_.back().operation == Operation::provided;
  }

  std::string found() const {
    return token().kind == ConstraintTokenKind::end ? "the end" : quoted_text(token().text);
  }

  /// Returns "character 5", counted from 1 to the start of the token.
  std::string place() const {
    const auto before = text_.substr(0, text_.size() - token().rest.size());
    const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    return "character " + std::to_string(std::count_if(before.begin(), before.end(), starts) + 1);
  }

  Error problem(const std::string& message, const std::string& advice) const {
    return {ErrorCode::invalid_argument, message + " (" + place() + "); " + advice};
  }

  Error unexpected(const std::string& expected) const {
    if (token().kind == ConstraintTokenKind::unknown) {
      return problem(found() + ": " + token().problem, kConstraintSyntaxText);
    }
    return problem("expected " + expected + ", found " + found(), kConstraintSyntaxText);
  }

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> names;
    for (const auto& parameter : parameters_) names.push_back(parameter.name);
    return names;
  }

  std::string known() const {
    std::string list;
    for (const auto name : names()) list += (list.empty() ? "" : ", ") + std::string(name);
    return list;
  }

  bool take(std::string_view sign) {
    if (token().kind != ConstraintTokenKind::sign || token().text != sign) return false;
    ++at_;
    return true;
  }

  /// Takes a joining word where no parameter can be.
  bool take_word(std::string_view word) {
    if (token().kind != ConstraintTokenKind::name || lower_case(token().text) != word) return false;
    ++at_;
    return true;
  }

  /// Takes a `not` that is not the parameter of that name: an operand follows.
  bool take_not() {
    const ConstraintToken& next = next_token();
    const bool denies = next.kind == ConstraintTokenKind::name ||
                        next.kind == ConstraintTokenKind::number ||
                        next.kind == ConstraintTokenKind::quoted ||
                        (next.kind == ConstraintTokenKind::sign && next.text == "(");
    return denies && take_word("not");
  }

  std::optional<std::size_t> place_of(const ConstraintToken& name) const {
    if (name.kind != ConstraintTokenKind::name) return std::nullopt;
    const auto it = std::find_if(parameters_.begin(), parameters_.end(),
                                 [&](const Parameter& p) { return p.name == name.text; });
    if (it == parameters_.end()) return std::nullopt;
    return static_cast<std::size_t>(it - parameters_.begin());
  }

  const Choices* choices_of(const ConstraintToken& name) const {
    const auto place = place_of(name);
    return place ? std::get_if<Choices>(&parameters_[*place].domain) : nullptr;
  }

  void add(Operation operation) { constraint_.steps_.push_back({operation}); }

  void add_number(double number) { constraint_.steps_.push_back({Operation::number, number}); }

  void add_parameter(std::size_t place) {
    constraint_.steps_.push_back({Operation::parameter, 0, place});
    constraint_.parameters_.push_back(place);
  }

  /// Parses a condition; a number alone is refused.
  Status whole_condition() {
    const auto kind = condition(0);
    HOCKET_TRY(kind);
    if (*kind == Kind::number) return failure(unexpected("one of <=, <, >=, >, ==, !="));
    return {};
  }

  /// Parses operands joined by `word`; what is joined must be conditions.
  template <class Operand>
  Result<Kind> joined(std::string_view word, Operation operation, Operand operand) {
    const auto first = operand();
    HOCKET_TRY(first);
    Kind kind = *first;
    while (token().kind == ConstraintTokenKind::name && lower_case(token().text) == word) {
      if (kind == Kind::number) return failure(unexpected("one of <=, <, >=, >, ==, !="));
      ++at_;
      const auto next = operand();
      HOCKET_TRY(next);
      if (*next == Kind::number) return failure(unexpected("one of <=, <, >=, >, ==, !="));
      add(operation);
    }
    return kind;
  }

  Result<Kind> condition(int depth) {
    const auto denials = [&] { return denial(depth); };
    return joined("or", Operation::either, [&] { return joined("and", Operation::both, denials); });
  }

  Result<Kind> denial(int depth) {
    if (depth > kMaxDepth) return failure(too_deep());
    if (!take_not()) return comparison(depth);
    const auto kind = denial(depth + 1);
    HOCKET_TRY(kind);
    if (*kind == Kind::number) return failure(unexpected("one of <=, <, >=, >, ==, !="));
    add(Operation::deny);
    return Kind::condition;
  }

  Result<Kind> comparison(int depth) {
    const auto by_words = words();
    HOCKET_TRY(by_words);
    if (*by_words) return Kind::condition;
    const auto left = sum(depth);
    HOCKET_TRY(left);
    if (*left == Kind::condition || token().kind != ConstraintTokenKind::comparison) return *left;
    const Operation operation = compared_by(token().text);
    ++at_;
    HOCKET_TRY(number_only(sum(depth)));
    add(operation);
    return Kind::condition;
  }

  static Operation compared_by(std::string_view sign) {
    constexpr Operation kOperations[] = {Operation::at_most, Operation::below, Operation::at_least,
                                         Operation::above,   Operation::equal, Operation::unequal};
    return kOperations[std::find(std::begin(kConstraintComparisons),
                                 std::end(kConstraintComparisons), sign) -
                       std::begin(kConstraintComparisons)];
  }

  /// Parses a comparison of a choice with a word or with another choice, in either order; false if
  /// there is none here.
  Result<bool> words() {
    if (token().kind == ConstraintTokenKind::end ||
        next_token().kind != ConstraintTokenKind::comparison)
      return false;
    const ConstraintToken& left = tokens_[at_];
    const ConstraintToken& right =
        tokens_[at_ + 2];  // behind a comparison there is at least the end
    const bool turned = !choices_of(left);
    const ConstraintToken& subject = turned ? right : left;
    const auto* choices = choices_of(subject);
    if (!choices) return false;
    const Operation operation = compared_by(next_token().text);
    if (operation != Operation::equal && operation != Operation::unequal) {
      return failure(not_a_number(subject));
    }
    const std::size_t word_at = turned ? at_ : at_ + 2;
    std::size_t taken = 1;
    auto place = turned ? std::nullopt : long_word_place(*choices, word_at, taken);
    if (!place) place = word_place(*choices, tokens_[word_at].text);
    const auto* others = choices_of(tokens_[word_at]);
    if (!place && others == nullptr) {
      at_ = word_at;
      return failure(not_a_word(subject, *choices));
    }
    add_parameter(*place_of(subject));
    if (place) {
      add_number(static_cast<double>(*place));
      add(operation);
    } else {
      constraint_.steps_.pop_back();
      HOCKET_TRY(same_words(*place_of(subject), *place_of(tokens_[word_at])));
      if (operation == Operation::unequal) add(Operation::deny);
    }
    at_ += 2 + (turned ? 1 : taken);
    return true;
  }

  static std::optional<std::size_t> word_place(const Choices& choices, std::string_view word) {
    const auto it = std::find(choices.names.begin(), choices.names.end(), word);
    if (it == choices.names.end()) return std::nullopt;
    return static_cast<std::size_t>(it - choices.names.begin());
  }

  /// Finds a word of several tokens, such as reduce-overhead, that ends at a blank or bracket, and
  /// counts these.
  std::optional<std::size_t> long_word_place(const Choices& choices, std::size_t at,
                                             std::size_t& taken) const {
    const std::string_view rest = tokens_[at].rest;
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t)"));
    const auto place = word_place(choices, word);
    if (!place) return std::nullopt;
    while (tokens_[at + taken].rest.size() > rest.size() - word.size()) ++taken;
    return place;
  }

  /// Adds whether two choices have the same word, as the number of words for which both have it.
  Status same_words(std::size_t left, std::size_t right) {
    const auto& words = std::get<Choices>(parameters_[left].domain).names;
    const auto& others = std::get<Choices>(parameters_[right].domain);
    add_number(0);
    bool is_any_shared = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto place = word_place(others, words[i]);
      if (!place) continue;
      is_any_shared = true;
      add_parameter(left);
      add_number(static_cast<double>(i));
      add(Operation::equal);
      add_parameter(right);
      add_number(static_cast<double>(*place));
      add(Operation::equal);
      add(Operation::both);
      add(Operation::either);
    }
    if (is_any_shared) return {};
    return failure(problem("parameters " + parameters_[left].name + " and " +
                               parameters_[right].name + " have no word in common",
                           kConstraintSyntaxText));
  }

  Error not_a_number(const ConstraintToken& name) const {
    const Domain& domain = parameters_[*place_of(name)].domain;
    return problem("parameter " + std::string(name.text) +
                       " holds words: compare it alone, by == or !=, with " + describe(domain),
                   kConstraintSyntaxText);
  }

  Error not_a_word(const ConstraintToken& subject, const Choices& choices) const {
    const std::string_view rest = token().rest;
    const bool is_one_token =
        token().kind == ConstraintTokenKind::quoted || rest.size() > subject.rest.size();
    const std::string_view word =
        is_one_token ? token().text : rest.substr(0, rest.find_first_of(" \t)"));
    const std::string wrong =
        token().kind == ConstraintTokenKind::end ? found() : quoted_text(word);
    return problem(
        "parameter " + std::string(subject.text) + " is never " + wrong,
        meant(word, choices.names) + "it is " + describe(parameters_[*place_of(subject)].domain));
  }

  Error too_deep() const {
    return {ErrorCode::invalid_argument,
            "more than " + std::to_string(kMaxDepth) + " levels of brackets and signs"};
  }

  /// Refuses a condition where a number must be.
  Status number_only(const Result<Kind>& kind) const {
    HOCKET_TRY(kind);
    if (*kind == Kind::number) return {};
    return failure(problem("there is a condition where a number must be, before " + found(),
                           kConstraintSyntaxText));
  }

  Result<Kind> sum(int depth) {
    const auto first = product(depth);
    HOCKET_TRY(first);
    for (;;) {
      const bool is_plus = token().text == "+";
      if (token().kind != ConstraintTokenKind::sign || (!is_plus && token().text != "-"))
        return *first;
      HOCKET_TRY(number_only(first));
      ++at_;
      HOCKET_TRY(number_only(product(depth)));
      add(is_plus ? Operation::add : Operation::subtract);
    }
  }

  Result<Kind> product(int depth) {
    const auto first = factor(depth);
    HOCKET_TRY(first);
    for (;;) {
      const bool is_times = token().text == "*";
      if (token().kind != ConstraintTokenKind::sign || (!is_times && token().text != "/"))
        return *first;
      HOCKET_TRY(number_only(first));
      ++at_;
      HOCKET_TRY(number_only(factor(depth)));
      add(is_times ? Operation::multiply : Operation::divide);
    }
  }

  Result<Kind> factor(int depth) {
    if (depth > kMaxDepth) return failure(too_deep());
    if (take("-")) {
      HOCKET_TRY(number_only(factor(depth + 1)));
      add(Operation::negate);
      return Kind::number;
    }
    if (take("(")) {
      const auto inner = condition(depth + 1);
      HOCKET_TRY(inner);
      if (!take(")")) return failure(unexpected(")"));
      return *inner;
    }
    if (token().kind == ConstraintTokenKind::number) {
      add_number(token().number);
      ++at_;
      return Kind::number;
    }
    const auto place = place_of(token());
    if (!place) return failure(no_parameter());
    if (choices_of(token())) return failure(not_a_number(token()));
    add_parameter(*place);
    ++at_;
    return Kind::number;
  }

  /// Returns "did you mean …; ", or "" when no name is near.
  template <class Names>
  static std::string meant(std::string_view name, const Names& names) {
    const std::string hint = did_you_mean(name, names);
    return hint.empty() ? hint : hint.substr(2) + "; ";
  }

  Error no_parameter() const {
    const bool is_joining =
        std::ranges::find(kJoiningWords, lower_case(token().text)) != std::end(kJoiningWords);
    if (token().kind != ConstraintTokenKind::name || is_joining) {
      return unexpected("a parameter, a number or (");
    }
    const std::string nearest = meant(token().text, names());
    return problem("no parameter is named " + found(),
                   nearest + "there are " + known() +
                       (nearest.empty() ? std::string("; ") + kConstraintSyntaxText : ""));
  }

  std::string_view text_;
  std::vector<ConstraintToken> tokens_;
  std::span<const Parameter> parameters_;
  std::size_t at_ = 0;
  Constraint constraint_;
};

Result<Constraint> Constraint::parse(std::string_view text, std::span<const Parameter> parameters) {
  text = trimmed(text);
  if (text.size() > kMaxTextBytes) {
    return invalid("a constraint has " + std::to_string(text.size()) + " bytes; at most " +
                   std::to_string(kMaxTextBytes) + " are read");
  }
  auto constraint = ConstraintParser(text, parameters).parse();
  if (!constraint) {
    return failure(constraint.error().in("constraint " + quoted_text(text)));
  }
  return constraint;
}

double Constraint::combined(Operation operation, double left, double right) {
  switch (operation) {
    case Operation::add:
      return left + right;
    case Operation::subtract:
      return left - right;
    case Operation::multiply:
      return left * right;
    case Operation::divide:
      return left / right;
    case Operation::at_most:
      return left <= right ? 1 : 0;
    case Operation::below:
      return left < right ? 1 : 0;
    case Operation::at_least:
      return left >= right ? 1 : 0;
    case Operation::above:
      return left > right ? 1 : 0;
    case Operation::equal:
      return left == right ? 1 : 0;
    case Operation::unequal:
      // Written this way so that a comparison with NaN is false.
      return left < right || left > right ? 1 : 0;
    case Operation::both:
      return left != 0 && right != 0 ? 1 : 0;
    case Operation::either:
      return left != 0 || right != 0 ? 1 : 0;
    case Operation::provided:
      return left != 0 || right == 0 ? 1 : 0;
    case Operation::number:
    case Operation::parameter:
    case Operation::negate:
    case Operation::deny:
      break;
  }
  HOCKET_CHECK(false, "these have no two sides");
  return 0;
}

bool Constraint::holds(std::span<const double> numbers) const {
  std::array<double, kStackSize> stack;
  std::size_t height = 0;
  for (const auto& step : steps_) {
    if (step.operation == Operation::number) {
      stack[height++] = step.number;
    } else if (step.operation == Operation::parameter) {
      stack[height++] = numbers[step.parameter];
    } else if (step.operation == Operation::negate) {
      stack[height - 1] = -stack[height - 1];
    } else if (step.operation == Operation::deny) {
      stack[height - 1] = stack[height - 1] == 0 ? 1 : 0;
    } else {
      const double right = stack[--height];
      stack[height - 1] = combined(step.operation, stack[height - 1], right);
    }
  }
  return stack[0] != 0;
}

double number_of(const Domain& domain, const ParameterValue& value) {
  if (const auto* choices = std::get_if<Choices>(&domain)) {
    const auto& names = choices->names;
    const auto it = std::find(names.begin(), names.end(), std::get<std::string>(value));
    return static_cast<double>(it - names.begin());
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return std::get<double>(value);
}

}  // namespace hocket
