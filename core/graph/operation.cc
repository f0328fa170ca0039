#include "core/graph/operation.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/nearest_name.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kShownWordBytes = 40;
constexpr std::size_t kMostIntegers = 8;
constexpr std::size_t kMostGroupBytes = 400;

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kOperationKinds; ++i)
    names.push_back(to_string(static_cast<OperationKind>(i)));
  return names;
}

tl::unexpected<Error> wrong(std::string_view name, const std::string& what) {
  return failure(ErrorCode::invalid_argument, std::string(name) + ": " + what);
}

std::string range_text(const AttributeDeclaration& declared) {
  const auto text = [](double value) {
    if (std::abs(value) >= 1e15) return std::string("any");
    std::string digits = std::to_string(value);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.ends_with('.')) digits.pop_back();
    return digits;
  };
  return text(declared.low) + " to " + text(declared.high);
}

Result<void> check_range(const AttributeDeclaration& declared, double value) {
  if (value >= declared.low && value <= declared.high) return {};
  return wrong(declared.name,
               "expected " + range_text(declared) + ", found " + std::to_string(value));
}

Result<void> check_group(const AttributeDeclaration& declared, const std::string& group) {
  const auto is_in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '+';
  };
  if (!group.empty() && group.size() <= kMostGroupBytes && std::ranges::all_of(group, is_in_name))
    return {};
  return wrong(declared.name, "expected names of axes joined by \"+\", found \"" +
                                  printable(group, kShownWordBytes) + "\"");
}

Result<void> check_word(const AttributeDeclaration& declared, const std::string& word) {
  if (declared.words.empty()) return check_group(declared, word);
  if (std::ranges::find(declared.words, word) != declared.words.end()) return {};
  std::string all;
  for (const std::string_view each : declared.words)
    all += (all.empty() ? "" : ", ") + std::string(each);
  return wrong(declared.name,
               "expected one of " + all + ", found \"" + printable(word, kShownWordBytes) + "\"");
}

Result<void> check_value(const AttributeDeclaration& declared, const AttributeValue& value) {
  if (declared.value.index() != value.index()) {
    constexpr std::string_view kTypes[] = {"an integer",           "a number",
                                           "true or false",        "a type of numbers",
                                           "integers in brackets", "a word"};
    return wrong(declared.name, "expected " + std::string(kTypes[declared.value.index()]));
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return check_range(declared, static_cast<double>(*integer));
  if (const auto* number = std::get_if<double>(&value)) return check_range(declared, *number);
  if (const auto* word = std::get_if<std::string>(&value)) return check_word(declared, *word);
  const auto* integers = std::get_if<std::vector<std::int64_t>>(&value);
  if (!integers) return {};
  if (integers->size() > kMostIntegers)
    return wrong(declared.name, "expected at most " + std::to_string(kMostIntegers) + " integers");
  for (const std::int64_t each : *integers)
    HOCKET_TRY(check_range(declared, static_cast<double>(each)));
  return {};
}

bool is_there(const ValueDeclaration& value, const OperationDeclaration& declared,
              const Attributes& attributes) {
  if (value.if_set.empty()) return true;
  const auto attribute =
      std::ranges::find(declared.attributes, value.if_set, &AttributeDeclaration::name);
  HOCKET_CHECK(attribute != declared.attributes.end(),
               "a value depends on an attribute of its kind");
  const AttributeValue* const set = attributes.find(value.if_set);
  return set && *set != attribute->value;
}

std::vector<std::string_view> names_of(const std::vector<ValueDeclaration>& values,
                                       const OperationDeclaration& declared,
                                       const Attributes& attributes) {
  std::vector<std::string_view> names;
  for (const ValueDeclaration& value : values)
    if (is_there(value, declared, attributes)) names.push_back(value.name);
  return names;
}

template <class T>
const T& value_of(const Attributes& attributes, std::string_view name) {
  const AttributeValue* const value = attributes.find(name);
  HOCKET_CHECK(value && std::holds_alternative<T>(*value), "an attribute of the kind");
  return std::get<T>(*value);
}

}  // namespace

std::string_view to_string(OperationKind kind) {
  return declaration_of(kind).name;
}

Result<OperationKind> parse_operation_kind(std::string_view text) {
  static const std::vector<std::string_view> names = kind_names();
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<OperationKind>(found - names.begin());
  return failure(ErrorCode::invalid_argument, "no operation is called \"" +
                                                  printable(text, kShownWordBytes) + "\"" +
                                                  did_you_mean(text, names));
}

Attributes::Attributes(std::initializer_list<std::pair<std::string_view, AttributeValue>> values) {
  for (const auto& [name, value] : values) set(name, value);
}

void Attributes::set(std::string_view name, AttributeValue value) {
  for (auto& [known, old] : values_) {
    if (known != name) continue;
    old = std::move(value);
    return;
  }
  values_.emplace_back(name, std::move(value));
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const auto& [known, value] : values_)
    if (known == name) return &value;
  return nullptr;
}

std::int64_t Attributes::integer(std::string_view name) const {
  return value_of<std::int64_t>(*this, name);
}
double Attributes::number(std::string_view name) const {
  return value_of<double>(*this, name);
}
bool Attributes::flag(std::string_view name) const {
  return value_of<bool>(*this, name);
}
NumberType Attributes::type(std::string_view name) const {
  return value_of<NumberType>(*this, name);
}
const std::vector<std::int64_t>& Attributes::integers(std::string_view name) const {
  return value_of<std::vector<std::int64_t>>(*this, name);
}

const std::string& Attributes::word(std::string_view name) const {
  return value_of<std::string>(*this, name);
}

bool is_of_one_rank(OperationKind kind, const Attributes& attributes) {
  if (is_of_ranks(kind)) return true;
  if (kind == OperationKind::slice) return false;
  return std::ranges::any_of(declaration_of(kind).attributes, [&](const auto& declared) {
    const bool is_part = declared.name == "begin" || declared.name == "whole";
    const AttributeValue* const value = attributes.find(declared.name);
    return is_part && value && *value != declared.value;
  });
}

std::vector<std::string_view> operand_names(OperationKind kind, const Attributes& attributes) {
  const OperationDeclaration& declared = declaration_of(kind);
  return names_of(declared.operands, declared, attributes);
}

std::vector<std::string_view> result_names(OperationKind kind, const Attributes& attributes) {
  const OperationDeclaration& declared = declaration_of(kind);
  return names_of(declared.results, declared, attributes);
}

std::optional<std::size_t> operand_place(OperationKind kind, const Attributes& attributes,
                                         std::string_view operand) {
  const auto names = operand_names(kind, attributes);
  const auto found = std::ranges::find(names, operand);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::size_t result_count(OperationKind kind, const Attributes& attributes) {
  const OperationDeclaration& declared = declaration_of(kind);
  return static_cast<std::size_t>(std::ranges::count_if(
      declared.results,
      [&](const ValueDeclaration& result) { return is_there(result, declared, attributes); }));
}

Result<Attributes> complete(OperationKind kind, const Attributes& attributes) {
  const OperationDeclaration& declared = declaration_of(kind);
  std::vector<std::string_view> names;
  for (const AttributeDeclaration& each : declared.attributes) names.push_back(each.name);
  for (const auto& [name, value] : attributes.all()) {
    if (std::ranges::find(names, name) == names.end()) {
      return failure(ErrorCode::invalid_argument, "it has no attribute \"" +
                                                      printable(name, kShownWordBytes) + "\"" +
                                                      did_you_mean(name, names));
    }
  }
  Attributes all;
  for (const AttributeDeclaration& each : declared.attributes) {
    const AttributeValue* const given = attributes.find(each.name);
    if (!given && each.is_required) return wrong(each.name, "is missing");
    AttributeValue value = given ? *given : each.value;
    // "1" is an integer where nothing says more.
    const auto* const integer = std::get_if<std::int64_t>(&value);
    if (integer && std::holds_alternative<double>(each.value))
      value = static_cast<double>(*integer);
    HOCKET_TRY(check_value(each, value));
    all.set(each.name, std::move(value));
  }
  return all;
}

}  // namespace hocket
