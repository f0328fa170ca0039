#include "profiler/formats/chrome_events.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace hocket {
namespace {

template <class Member>
using Field = std::pair<std::string_view, Member>;

using IntegerField = Field<std::optional<std::int64_t> ChromeArguments::*>;
using TextField = Field<std::string ChromeArguments::*>;

constexpr std::array kIntegers{
    IntegerField{"step", &ChromeArguments::step},
    IntegerField{"task", &ChromeArguments::task},
    IntegerField{"bytes", &ChromeArguments::bytes},
    IntegerField{"sequence", &ChromeArguments::sequence},
    IntegerField{"lane", &ChromeArguments::lane},
    IntegerField{"submitted_ns", &ChromeArguments::submitted_ns},
    IntegerField{"ready_ns", &ChromeArguments::ready_ns},
    IntegerField{"ranks", &ChromeArguments::ranks},
    IntegerField{"dropped", &ChromeArguments::dropped},
    IntegerField{"quarantined", &ChromeArguments::quarantined},
    IntegerField{"clock_ns", &ChromeArguments::clock_ns},
    IntegerField{"realtime_ns", &ChromeArguments::realtime_ns},
    IntegerField{"stream", &ChromeArguments::stream},
    IntegerField{"device", &ChromeArguments::device},
    IntegerField{"correlation", &ChromeArguments::correlation},
    IntegerField{"In msg nelems", &ChromeArguments::elements_in},
    IntegerField{"Out msg nelems", &ChromeArguments::elements_out},
    IntegerField{"External id", &ChromeArguments::external_id},
    IntegerField{"external id", &ChromeArguments::external_id},
    IntegerField{"Seq", &ChromeArguments::group_sequence},
    IntegerField{"Group size", &ChromeArguments::group_size},
    IntegerField{"Process Group ID", &ChromeArguments::group_id},
};

/// Bounds the list of groups in a file's head.
constexpr std::size_t kMostGroups = 1 << 16;

constexpr std::array kTexts{
    TextField{"collective", &ChromeArguments::collective},
    TextField{"host", &ChromeArguments::host},
    TextField{"source", &ChromeArguments::source},
    TextField{"name", &ChromeArguments::name},
    TextField{"Collective name", &ChromeArguments::collective_name},
    TextField{"dtype", &ChromeArguments::element_type},
    TextField{"Process Group Name", &ChromeArguments::group},
    TextField{"Process Group Ranks", &ChromeArguments::group_ranks},
    TextField{"group", &ChromeArguments::group},
    TextField{"group_ranks", &ChromeArguments::group_ranks},
};

constexpr std::array kDialectIntegers{
    Field<std::optional<std::int64_t> DialectArguments::*>{"count", &DialectArguments::count},
    Field<std::optional<std::int64_t> DialectArguments::*>{"step_num",
                                                           &DialectArguments::step_number},
};

constexpr std::array kDialectTexts{
    Field<std::string DialectArguments::*>{"Task Type", &DialectArguments::task_type},
    Field<std::string DialectArguments::*>{"data_type", &DialectArguments::data_type},
    Field<std::string DialectArguments::*>{"hlo_op", &DialectArguments::hlo_op},
};

template <class Fields>
auto member_of(const Fields& fields, std::string_view key) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const auto& field) { return field.first == key; });
  return found == fields.end() ? nullptr : found->second;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The handler of nlohmann's SAX parser. Its stack has only containers whose content is kept, so
/// depth costs nothing here; the parser itself keeps one bit per level and does not recurse.
class EventReader {
 public:
  EventReader(std::istream& in, const std::function<void(const ChromeEvent&)>& take)
      : in_(in), take_(take) {}

  // The interface of nlohmann::json_sax.
  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(std::int64_t value) { return take_number(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) { return take_number(std::to_string(value)); }
  bool number_float(double, const std::string& text) { return take_number(text); }
  bool string(const std::string& text) { return take_text(text); }
  bool binary(const std::vector<std::uint8_t>&) { return true; }
  bool key(const std::string& text) {
    if (skipped_ == 0) key_ = text;
    return true;
  }
  bool start_object(std::size_t) { return enter(true); }
  bool start_array(std::size_t) { return enter(false); }
  bool end_object() { return leave(); }
  bool end_array() { return leave(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& why) {
    head_.is_cut_off = in_.eof();
    if (!head_.is_cut_off) {
      error_ = Error{ErrorCode::invalid_argument,
                     "no JSON at byte " + std::to_string(position) + ": " + reason(why.what())};
    }
    return false;
  }

  Result<ChromeHead> result() {
    if (!error_.message.empty()) return failure(error_);
    return head_;
  }

 private:
  enum class Place {
    root,
    events,
    event,
    arguments,
    distributed,
    groups,
    group,
    group_ranks,
    input_shapes,
    first_shape,
    input_types
  };

  /// Returns the parser's message without its name and number, in one line of bounded length.
  static std::string reason(std::string text) {
    const auto begin = text.rfind(": ");
    if (begin != std::string::npos && begin + 2 < text.size()) text.erase(0, begin + 2);
    text.resize(std::min<std::size_t>(text.size(), 160));
    for (char& c : text) {
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
    }
    return text;
  }

  bool enter(bool is_object) {
    const auto place = skipped_ > 0 ? std::nullopt : place_of_child(is_object);
    if (!place) {
      ++skipped_;
      return true;
    }
    if (*place == Place::event) event_ = {};
    if (*place == Place::group) head_.groups.emplace_back();
    if (*place == Place::first_shape) event_.arguments.input_elements = 1;
    places_.push_back(*place);
    return true;
  }

  bool leave() {
    if (skipped_ > 0) {
      --skipped_;
      return true;
    }
    const Place place = places_.back();
    places_.pop_back();
    if (place == Place::event) take_(event_);
    return true;
  }

  std::optional<Place> place_of_child(bool is_object) const {
    if (places_.empty()) return is_object ? Place::root : Place::events;
    switch (places_.back()) {
      case Place::root:
        if (!is_object && key_ == "traceEvents") return Place::events;
        if (is_object && key_ == "distributedInfo") return Place::distributed;
        break;
      case Place::events:
        if (is_object) return Place::event;
        break;
      case Place::event:
        if (is_object && key_ == "args") return Place::arguments;
        break;
      case Place::arguments:
        if (!is_object && key_ == "Input Dims") return Place::input_shapes;
        if (!is_object && key_ == "Input type") return Place::input_types;
        break;
      case Place::input_shapes:
        if (!is_object && !event_.arguments.input_elements) return Place::first_shape;
        break;
      case Place::distributed:
        if (!is_object && key_ == "pg_config") return Place::groups;
        break;
      case Place::groups:
        if (is_object && head_.groups.size() < kMostGroups) return Place::group;
        break;
      case Place::group:
        if (!is_object && key_ == "ranks") return Place::group_ranks;
        break;
      case Place::group_ranks:
      case Place::first_shape:
      case Place::input_types:
        break;
    }
    return std::nullopt;
  }

  bool take_number(const std::string& text) {
    if (skipped_ > 0 || places_.empty()) return true;
    switch (places_.back()) {
      case Place::root:
        if (key_ == "baseTimeNanoseconds") head_.base_ns = integer_of(text);
        if (key_ == "schemaVersion") head_.is_kineto = true;
        break;
      case Place::distributed:
        head_.is_kineto = true;
        if (key_ == "rank") head_.rank = integer_of(text);
        if (key_ == "world_size") head_.world_size = integer_of(text);
        break;
      case Place::event:
        if (key_ == "ts") event_.begin_ns = nanoseconds_of(text);
        if (key_ == "dur") event_.duration_ns = nanoseconds_of(text);
        take_label(text);
        break;
      case Place::arguments:
        if (const auto member = member_of(kIntegers, key_)) {
          event_.arguments.*member = integer_of(text);
        } else if (const auto dialect = member_of(kDialectIntegers, key_)) {
          event_.dialect.*dialect = integer_of(text);
        }
        break;
      case Place::first_shape:
        take_dimension(integer_of(text).value_or(0));
        break;
      case Place::group:
        if (key_ == "pg_name") head_.groups.back().name = text;
        break;
      case Place::group_ranks:
        // A value that is no rank makes the list useless.
        head_.groups.back().ranks.push_back(integer_of(text).value_or(-1));
        break;
      case Place::groups:
      case Place::events:
      case Place::input_shapes:
      case Place::input_types:
        break;
    }
    return true;
  }

  /// A shape that cannot be true has no elements.
  void take_dimension(std::int64_t size) {
    auto& elements = event_.arguments.input_elements;
    if (size < 0 || __builtin_mul_overflow(*elements, size, &*elements)) elements = 0;
  }

  bool take_text(const std::string& text) {
    if (skipped_ > 0 || places_.empty()) return true;
    const Place place = places_.back();
    if (place == Place::root && key_ == "host_name") head_.host = text;
    if (place == Place::group && key_ == "pg_name") head_.groups.back().name = text;
    if (place == Place::group_ranks) head_.groups.back().ranks.push_back(-1);
    if (place == Place::input_types && !event_.arguments.input_type)
      event_.arguments.input_type = text;
    if (place == Place::event) {
      if (key_ == "ph") event_.phase = text;
      if (key_ == "name") event_.name = text;
      if (key_ == "cat") event_.category = text;
      // Ascend quotes times, whose digits a double would not keep.
      if (key_ == "ts") event_.begin_ns = nanoseconds_of(text);
      if (key_ == "dur") event_.duration_ns = nanoseconds_of(text);
      take_label(text);
    }
    if (place == Place::arguments) {
      if (const auto member = member_of(kTexts, key_)) event_.arguments.*member = text;
      // Some versions of Kineto quote numbers.
      if (const auto member = member_of(kIntegers, key_)) {
        event_.arguments.*member = integer_of(text);
      }
      if (const auto dialect = member_of(kDialectTexts, key_)) event_.dialect.*dialect = text;
      if (const auto dialect = member_of(kDialectIntegers, key_))
        event_.dialect.*dialect = integer_of(text);
    }
    return true;
  }

  /// Takes a label, which is a number in some files and a text in others.
  void take_label(const std::string& text) {
    if (key_ == "pid") event_.process = text;
    if (key_ == "tid") event_.thread = text;
    if (key_ == "id") event_.id = text;
  }

  std::istream& in_;
  const std::function<void(const ChromeEvent&)>& take_;
  std::vector<Place> places_;
  std::uint64_t skipped_ = 0;  ///< open containers whose content is not kept
  std::string key_;            ///< the last key read outside those
  ChromeEvent event_;
  ChromeHead head_;
  Error error_;
};

}  // namespace

std::optional<std::int64_t> nanoseconds_of(std::string_view text) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto mantissa_end = std::min(text.find_first_of("eE"), text.size());
  std::int64_t exponent = 3;
  if (mantissa_end < text.size()) {
    std::string_view power = text.substr(mantissa_end + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const auto value = integer_of(power);
    if (!value || *value < -10'000 || *value > 10'000) return std::nullopt;
    exponent += *value;
  }
  std::uint64_t value = 0;
  bool in_fraction = false, has_digits = false;
  for (const char c : text.substr(0, mantissa_end)) {
    if (c == '.' && !in_fraction) {
      in_fraction = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    has_digits = true;
    const bool fits = value <= (kMost - 9) / 10;
    if (fits) value = 10 * value + static_cast<std::uint64_t>(c - '0');
    exponent += (fits ? 0 : 1) - (in_fraction ? 1 : 0);
  }
  if (!has_digits) return std::nullopt;
  for (; exponent > 0 && value != 0; --exponent) {
    if (value > kMost / 10) return std::nullopt;
    value *= 10;
  }
  for (; exponent < -1 && value != 0; ++exponent) value /= 10;
  if (exponent < 0) value = value / 10 + (value % 10 >= 5 ? 1 : 0);
  if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
  const auto magnitude = static_cast<std::int64_t>(value);
  return negative ? -magnitude : magnitude;
}

Result<ChromeHead> read_chrome_events(std::istream& in,
                                      const std::function<void(const ChromeEvent&)>& take) {
  EventReader reader(in, take);
  nlohmann::json::sax_parse(in, &reader);
  return reader.result();
}

}  // namespace hocket
