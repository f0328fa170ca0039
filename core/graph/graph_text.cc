#include "core/graph/graph_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kShownTextBytes = 40;

template <class Number>
std::string digits_of(Number number) {
  std::array<char, 40> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), written.ptr};
}

std::string text_of(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return digits_of(*integer);
  if (const auto* number = std::get_if<double>(&value)) return digits_of(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* type = std::get_if<NumberType>(&value)) return std::string(to_string(*type));
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  return to_string(std::get<Shape>(value));
}

std::string attributes_text(const Operation& operation) {
  std::string text;
  for (const AttributeDeclaration& declared : declaration_of(operation.kind).attributes) {
    const AttributeValue& value = *operation.attributes.find(declared.name);
    if (!declared.is_required && value == declared.value) continue;
    text += (text.empty() ? " {" : ", ") + std::string(declared.name) + "=" + text_of(value);
  }
  return text.empty() ? "" : text + "}";
}

std::string text_of(ValueId value) {
  return "%" + std::to_string(value.index);
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/' || c == '+';
}

tl::unexpected<Error> expected(const std::string& what, std::string_view found) {
  return failure(ErrorCode::invalid_argument,
                 "expected " + what + ", found " +
                     (found.empty() ? "the end of the line"
                                    : "\"" + printable(found, kShownTextBytes) + "\""));
}

/// The rest of a line.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) { skip(); }

  bool is_at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    skip();
    return true;
  }
  Result<void> need(std::string_view token) {
    if (take(token)) return {};
    return expected("\"" + std::string(token) + "\"", rest_);
  }
  /// Takes a word, which may be a number.
  Result<std::string_view> word(const std::string& what) {
    std::size_t size = 0;
    while (size < rest_.size() && is_word_character(rest_[size])) ++size;
    if (size == 0) return expected(what, rest_);
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    skip();
    return word;
  }
  Result<std::string_view> quoted() {
    const std::size_t end = rest_.starts_with("\"") ? rest_.find('"', 1) : std::string_view::npos;
    if (end == std::string_view::npos) return expected("a name in quotes", rest_);
    const std::string_view name = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    skip();
    return name;
  }
  template <class Number>
  Result<Number> number() {
    auto text = word("a number");
    HOCKET_TRY(text);
    Number value{};
    const auto read = std::from_chars(text->data(), text->data() + text->size(), value);
    if (read.ec == std::errc() && read.ptr == text->data() + text->size()) return value;
    return expected(std::is_integral_v<Number> ? "an integer" : "a number", *text);
  }
  Result<Shape> integers() {
    HOCKET_TRY(need("["));
    Shape all;
    while (!take("]")) {
      if (!all.empty()) HOCKET_TRY(need(","));
      const auto each = number<std::int64_t>();
      HOCKET_TRY(each);
      if (all.size() == kMostDimensions)
        return expected("at most " + std::to_string(kMostDimensions) + " integers", rest_);
      all.push_back(*each);
    }
    return all;
  }

 private:
  void skip() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

Result<ValueType> parse_type(Line& line) {
  const auto name = line.word("a type of numbers");
  HOCKET_TRY(name);
  const auto numbers = parse_number_type(*name);
  HOCKET_TRY(numbers);
  auto shape = line.integers();
  HOCKET_TRY(shape);
  HOCKET_TRY(check_shape(*shape));
  return ValueType{*numbers, std::move(*shape)};
}

Result<AttributeValue> parse_attribute(const AttributeDeclaration& declared, Line& line) {
  if (std::holds_alternative<Shape>(declared.value)) {
    auto all = line.integers();
    HOCKET_TRY(all);
    return AttributeValue(std::move(*all));
  }
  if (std::holds_alternative<std::int64_t>(declared.value)) {
    const auto integer = line.number<std::int64_t>();
    HOCKET_TRY(integer);
    return AttributeValue(*integer);
  }
  if (std::holds_alternative<double>(declared.value)) {
    const auto number = line.number<double>();
    HOCKET_TRY(number);
    if (!std::isfinite(*number)) return expected("a finite number", "inf or nan");
    return AttributeValue(*number);
  }
  const auto word = line.word("a word");
  HOCKET_TRY(word);
  if (std::holds_alternative<NumberType>(declared.value)) {
    const auto type = parse_number_type(*word);
    HOCKET_TRY(type);
    return AttributeValue(*type);
  }
  if (std::holds_alternative<std::string>(declared.value))
    return AttributeValue(std::string(*word));
  if (*word != "true" && *word != "false") return expected("true or false", *word);
  return AttributeValue(*word == "true");
}

Result<Attributes> parse_attributes(OperationKind kind, Line& line) {
  Attributes attributes;
  if (!line.take("{")) return attributes;
  do {
    const auto name = line.word("an attribute");
    HOCKET_TRY(name);
    const auto& all = declaration_of(kind).attributes;
    const auto declared = std::ranges::find(all, *name, &AttributeDeclaration::name);
    if (declared == all.end())
      return expected("an attribute of " + std::string(to_string(kind)), *name);
    if (attributes.find(*name)) return expected("each attribute once", *name);
    HOCKET_TRY(line.need("="));
    auto value = parse_attribute(*declared, line);
    if (!value) return failure(value.error().in(std::string(*name)));
    attributes.set(*name, std::move(*value));
  } while (line.take(","));
  HOCKET_TRY(line.need("}"));
  return attributes;
}

/// A graph that is read line by line.
class GraphReader {
 public:
  Result<void> read(Line line) {
    if (line.take("output ")) return read_output(line);
    std::vector<std::string> results;
    do {
      auto name = read_value(line);
      HOCKET_TRY(name);
      results.push_back(std::move(*name));
    } while (line.take(","));
    HOCKET_TRY(line.need("="));
    const auto word = line.word("an operation");
    HOCKET_TRY(word);
    const auto kind = parse_operation_kind(*word);
    HOCKET_TRY(kind);
    const auto first = read_operation(*kind, line);
    HOCKET_TRY(first);
    return name_results(results, *first);
  }

  Graph take() { return std::move(graph_); }

 private:
  static Result<std::string> read_value(Line& line) {
    if (!line.rest().starts_with("%")) return expected("a value, such as %3", line.rest());
    HOCKET_TRY(line.need("%"));
    const auto word = line.word("the name of a value");
    HOCKET_TRY(word);
    if (word->size() > kMostNameBytes) return expected("a shorter name", *word);
    return std::string(*word);
  }

  Result<ValueId> known(const std::string& name) const {
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    return failure(ErrorCode::invalid_argument,
                   "%" + printable(name, kShownTextBytes) + " is no value of a line before");
  }

  Result<void> read_output(Line& line) {
    const auto name = line.quoted();
    HOCKET_TRY(name);
    HOCKET_TRY(line.need("="));
    const auto value = read_value(line);
    HOCKET_TRY(value);
    const auto id = known(*value);
    HOCKET_TRY(id);
    if (!line.is_at_end()) return expected("the end of the line", line.rest());
    return graph_.add_output(std::string(*name), *id);
  }

  Result<ValueId> read_operation(OperationKind kind, Line& line) {
    std::string name;
    if (kind == OperationKind::input || kind == OperationKind::parameter) {
      const auto quoted = line.quoted();
      HOCKET_TRY(quoted);
      name = *quoted;
    }
    std::vector<ValueId> operands;
    while (line.rest().starts_with("%")) {
      const auto value = read_value(line);
      HOCKET_TRY(value);
      const auto id = known(*value);
      HOCKET_TRY(id);
      operands.push_back(*id);
      if (!line.take(",")) break;
    }
    auto attributes = parse_attributes(kind, line);
    HOCKET_TRY(attributes);
    std::vector<ValueType> types;
    if (line.take(":")) {
      do {
        auto type = parse_type(line);
        HOCKET_TRY(type);
        types.push_back(std::move(*type));
      } while (line.take(","));
    }
    std::string region;
    if (line.take("@")) {
      const auto word = line.word("the name of a region");
      HOCKET_TRY(word);
      region = *word;
    }
    if (!line.is_at_end()) return expected("the end of the line", line.rest());
    if (kind > OperationKind::constant) {
      const auto first = graph_.add(kind, std::move(operands), *attributes, std::move(region));
      HOCKET_TRY(first);
      HOCKET_TRY(check_types(*first, types));
      return first;
    }
    if (types.size() != 1 || !operands.empty())
      return expected("the type of the value, and no operands", "another line");
    switch (kind) {
      case OperationKind::input:
        return graph_.add_input(std::move(name), types[0], std::move(region));
      case OperationKind::parameter:
        return graph_.add_parameter(std::move(name), types[0], std::move(region));
      default:
        break;
    }
    const AttributeValue* const value = attributes->find("value");
    if (!value) return expected("an attribute \"value\"", "none");
    return graph_.add_constant(std::get<double>(*value), types[0], std::move(region));
  }

  std::size_t results_from(ValueId first) const { return graph_.values() - first.index; }

  Result<void> check_types(ValueId first, std::span<const ValueType> types) const {
    if (types.empty()) return {};
    if (types.size() != results_from(first)) {
      return expected(std::to_string(results_from(first)) + " types of results",
                      std::to_string(types.size()));
    }
    for (std::uint32_t i = 0; i < types.size(); ++i) {
      const ValueType& type = graph_.type({first.index + i});
      if (type != types[i]) return expected(to_string(type), to_string(types[i]));
    }
    return {};
  }

  Result<void> name_results(const std::vector<std::string>& names, ValueId first) {
    if (names.size() != results_from(first)) {
      return expected(std::to_string(results_from(first)) + " results",
                      std::to_string(names.size()));
    }
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      if (values_.emplace(names[i], ValueId{first.index + i}).second) continue;
      return failure(ErrorCode::invalid_argument,
                     "%" + printable(names[i], kShownTextBytes) + " is a value already");
    }
    return {};
  }

  Graph graph_;
  std::map<std::string, ValueId> values_;
};

}  // namespace

std::string to_text(const Graph& graph, const Operation& operation) {
  const std::size_t results = graph.results(operation);
  std::string text, types;
  for (std::size_t i = 0; i < results; ++i) {
    const ValueId value = graph.result(operation, i);
    text += (i > 0 ? ", " : "") + text_of(value);
    types += (i > 0 ? ", " : " : ") + to_string(graph.type(value));
  }
  text += " = " + std::string(to_string(operation.kind));
  if (!operation.name.empty()) text += " \"" + operation.name + "\"";
  for (std::size_t i = 0; i < operation.operands.size(); ++i)
    text += (i > 0 ? ", " : " ") + text_of(operation.operands[i]);
  text += attributes_text(operation) + types;
  return operation.region.empty() ? text : text + " @" + operation.region;
}

std::string to_text(const Graph& graph) {
  std::string text;
  for (const Operation& operation : graph.operations()) text += to_text(graph, operation) + "\n";
  for (const GraphOutput& output : graph.outputs())
    text += "output \"" + output.name + "\" = " + text_of(output.value) + "\n";
  return text;
}

Result<Graph> parse_graph(std::string_view text) {
  if (text.size() > kMostGraphTextBytes)
    return failure(ErrorCode::invalid_argument, "a graph: expected at most 256 MiB of text");
  GraphReader reader;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const Line content(line);
    if (content.is_at_end() || content.rest().starts_with("#")) continue;
    if (auto ok = reader.read(content); !ok)
      return failure(ok.error().in("line " + std::to_string(number)));
  }
  return reader.take();
}

}  // namespace hocket
