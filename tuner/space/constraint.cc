#include "tuner/space/constraint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/base/text.h"
#include "tuner/space/size_text.h"

namespace hocket {
namespace {

constexpr int kMaxDepth = 32;
/// Each open bracket keeps one sum and one product on the stack, as do the outermost level and the
/// comparison.
constexpr std::size_t kStackSize = 2 * (kMaxDepth + 2) + 1;
constexpr std::size_t kQuoteLimitBytes = 80;

constexpr std::string_view kComparisons[] = {"<=", "<", ">=", ">", "==", "!="};

enum class TokenKind { number, name, quoted, sign, comparison, end };

struct Token {
  TokenKind kind;
  std::string_view text;  ///< without quotes
  double number = 0;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name_start(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

std::string quoted_text(std::string_view text) {
  return '"' + printable(text, kQuoteLimitBytes) + '"';
}

Result<Token> read_number_token(std::string_view rest) {
  double number = 0;
  const char* const last = rest.data() + rest.size();
  auto [end, error] = std::from_chars(rest.data(), last, number);
  if (error != std::errc{} || !std::isfinite(number)) {
    return invalid("expected a number within the range of doubles at " + quoted_text(rest));
  }
  const char* const unit_end = std::find_if_not(end, last, is_name_start);
  const auto factor = size_factor({end, unit_end});
  if (!factor || (unit_end != last && (is_digit(*unit_end) || *unit_end == '.'))) {
    return invalid(std::string("expected a number, with ") + kSizeUnitsText + ", at " +
                   quoted_text(rest));
  }
  number *= static_cast<double>(*factor);
  end = unit_end;
  return Token{TokenKind::number, rest.substr(0, static_cast<std::size_t>(end - rest.data())),
               number};
}

/// Reads the token at the start of `rest`, which must not be empty or start with a space.
Result<Token> read_token(std::string_view rest) {
  const char first = rest.front();
  if (is_digit(first) || first == '.') return read_number_token(rest);
  if (is_name_start(first)) {
    const auto end = std::find_if_not(rest.begin(), rest.end(),
                                      [](char c) { return is_name_start(c) || is_digit(c); });
    return Token{TokenKind::name, rest.substr(0, static_cast<std::size_t>(end - rest.begin()))};
  }
  if (first == '"' || first == '\'') {
    const auto end = rest.find(first, 1);
    if (end == std::string_view::npos) return invalid("a quote is not closed");
    return Token{TokenKind::quoted, rest.substr(1, end - 1)};
  }
  for (const auto comparison : kComparisons) {
    if (rest.starts_with(comparison)) return Token{TokenKind::comparison, comparison};
  }
  if (std::string_view("+-*/()").find(first) != std::string_view::npos) {
    return Token{TokenKind::sign, rest.substr(0, 1)};
  }
  return invalid("cannot read " + quoted_text(rest) +
                 (first == '=' ? "; equality is written ==" : ""));
}

/// Returns the tokens of `text` followed by an end token.
Result<std::vector<Token>> read_tokens(std::string_view text) {
  std::vector<Token> tokens;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const auto token = read_token(text);
    HOCKET_TRY(token);
    tokens.push_back(*token);
    text.remove_prefix(token->text.size() + (token->kind == TokenKind::quoted ? 2 : 0));
  }
  tokens.push_back({TokenKind::end, "the end"});
  return tokens;
}

}  // namespace

/// Parses one constraint by recursive descent.
class ConstraintParser {
 public:
  ConstraintParser(std::vector<Token> tokens, std::span<const Parameter> parameters)
      : tokens_(std::move(tokens)), parameters_(parameters) {}

  Result<Constraint> parse(std::string_view text) {
    const auto by_words = words();
    HOCKET_TRY(by_words);
    if (!*by_words) {
      HOCKET_TRY(sum(0).and_then([&] { return comparison(); }).and_then([&] { return sum(0); }));
      if (token().kind == TokenKind::comparison) {
        return invalid("expected one comparison, found another at " + found() +
                       "; write two constraints");
      }
      if (token().kind != TokenKind::end) return invalid("expected the end, found " + found());
    }
    auto& places = constraint_.parameters_;
    if (places.empty()) return invalid("it names no parameter; there are " + known());
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    constraint_.text_ = text;
    return std::move(constraint_);
  }

 private:
  using Operation = Constraint::Operation;
  using Status = Result<void>;

  const Token& token() const { return tokens_[at_]; }

  std::string found() const {
    return token().kind == TokenKind::end ? "the end" : quoted_text(token().text);
  }

  std::string known() const {
    std::string names;
    for (const auto& parameter : parameters_) {
      names += (names.empty() ? "" : ", ") + parameter.name;
    }
    return names;
  }

  bool take(std::string_view sign) {
    if (token().kind != TokenKind::sign || token().text != sign) return false;
    ++at_;
    return true;
  }

  std::optional<std::size_t> place_of(const Token& name) const {
    if (name.kind != TokenKind::name) return std::nullopt;
    const auto it = std::find_if(parameters_.begin(), parameters_.end(),
                                 [&](const Parameter& p) { return p.name == name.text; });
    if (it == parameters_.end()) return std::nullopt;
    return static_cast<std::size_t>(it - parameters_.begin());
  }

  const Choices* choices_of(const Token& name) const {
    const auto place = place_of(name);
    return place ? std::get_if<Choices>(&parameters_[*place].domain) : nullptr;
  }

  void add(Operation operation) { constraint_.steps_.push_back({operation}); }

  void add_parameter(std::size_t place) {
    constraint_.steps_.push_back({Operation::parameter, 0, place});
    constraint_.parameters_.push_back(place);
  }

  /// Parses a whole constraint of the form CHOICE == WORD, in either order; false if it has another
  /// form.
  Result<bool> words() {
    if (tokens_.size() != 4 || tokens_[1].kind != TokenKind::comparison) return false;
    const bool turned = !choices_of(tokens_[0]);
    const Token& subject = tokens_[turned ? 2 : 0];
    const Token& word = tokens_[turned ? 0 : 2];
    const auto* choices = choices_of(subject);
    if (!choices) return false;
    at_ = 1;
    HOCKET_TRY(comparison());
    using Comparison = Constraint::Comparison;
    const bool equality = constraint_.comparison_ == Comparison::equal ||
                          constraint_.comparison_ == Comparison::unequal;
    const auto it = std::find(choices->names.begin(), choices->names.end(), word.text);
    if (!equality || it == choices->names.end()) return failure(not_a_number(subject));
    add_parameter(*place_of(subject));
    constraint_.steps_.push_back(
        {Operation::number, static_cast<double>(it - choices->names.begin())});
    return true;
  }

  Error not_a_number(const Token& name) const {
    const Domain& domain = parameters_[*place_of(name)].domain;
    return {ErrorCode::invalid_argument, "parameter " + std::string(name.text) +
                                             " holds words: compare it alone, by == or !=, with " +
                                             describe(domain)};
  }

  Status comparison() {
    if (token().kind != TokenKind::comparison) {
      return invalid("expected one of <=, <, >=, >, ==, !=, found " + found());
    }
    const auto it = std::find(std::begin(kComparisons), std::end(kComparisons), token().text);
    constraint_.comparison_ = static_cast<Constraint::Comparison>(it - std::begin(kComparisons));
    ++at_;
    return {};
  }

  Status sum(int depth) {
    if (auto ok = product(depth); !ok) return ok;
    for (;;) {
      const bool is_plus = take("+");
      if (!is_plus && !take("-")) return {};
      if (auto ok = product(depth); !ok) return ok;
      add(is_plus ? Operation::add : Operation::subtract);
    }
  }

  Status product(int depth) {
    if (auto ok = factor(depth); !ok) return ok;
    for (;;) {
      const bool is_times = take("*");
      if (!is_times && !take("/")) return {};
      if (auto ok = factor(depth); !ok) return ok;
      add(is_times ? Operation::multiply : Operation::divide);
    }
  }

  Status factor(int depth) {
    if (depth > kMaxDepth) {
      return invalid("more than " + std::to_string(kMaxDepth) + " levels of brackets and signs");
    }
    if (take("-")) {
      if (auto ok = factor(depth + 1); !ok) return ok;
      add(Operation::negate);
      return {};
    }
    if (take("(")) {
      if (auto ok = sum(depth + 1); !ok) return ok;
      return take(")") ? Status() : invalid("expected ), found " + found());
    }
    if (token().kind == TokenKind::number) {
      constraint_.steps_.push_back({Operation::number, token().number});
      ++at_;
      return {};
    }
    if (token().kind != TokenKind::name) {
      return invalid("expected a parameter, a number or (, found " + found());
    }
    const auto place = place_of(token());
    if (!place) return invalid("no parameter is named " + found() + "; there are " + known());
    if (choices_of(token())) return failure(not_a_number(token()));
    add_parameter(*place);
    ++at_;
    return {};
  }

  std::vector<Token> tokens_;
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
  const auto context = "constraint " + quoted_text(text);
  auto tokens = read_tokens(text);
  if (!tokens) return failure(tokens.error().in(context));
  auto constraint = ConstraintParser(std::move(*tokens), parameters).parse(text);
  if (!constraint) return failure(constraint.error().in(context));
  return constraint;
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
    } else {
      const double right = stack[--height];
      double& left = stack[height - 1];
      if (step.operation == Operation::add) left += right;
      if (step.operation == Operation::subtract) left -= right;
      if (step.operation == Operation::multiply) left *= right;
      if (step.operation == Operation::divide) left /= right;
    }
  }
  const double left = stack[0], right = stack[1];
  switch (comparison_) {
    case Comparison::at_most:
      return left <= right;
    case Comparison::below:
      return left < right;
    case Comparison::at_least:
      return left >= right;
    case Comparison::above:
      return left > right;
    case Comparison::equal:
      return left == right;
    case Comparison::unequal:
      // Written this way so that a comparison with NaN is false.
      return left < right || left > right;
  }
  return false;
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
