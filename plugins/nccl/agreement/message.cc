#include "plugins/nccl/agreement/message.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace hocket::nccl {
namespace {

constexpr std::uint8_t kFormVersion = 1;
constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kMaxFrameBytes = kMaxPayloads * (4 + kMaxPayloadBytes) + 1024;

// Writer and Reader have the same functions, so that `fields` says the form of a message once.

class Writer {
 public:
  template <class Number>
  void number(const Number& value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t byte = 0; byte < sizeof(Number); ++byte) {
      out_.push_back(static_cast<char>(bits >> (8 * byte) & 0xff));
    }
  }
  void flag(bool value) { out_.push_back(value ? 1 : 0); }
  void text(const std::string& value, std::size_t max_bytes) {
    const auto size = static_cast<std::uint32_t>(std::min(value.size(), max_bytes));
    number(size);
    out_.append(value, 0, size);
  }
  template <class Element, class Fields>
  void list(const std::vector<Element>& values, std::size_t max_count, const Fields& fields) {
    const std::size_t count = std::min(values.size(), max_count);
    number(static_cast<std::uint8_t>(count));
    for (std::size_t i = 0; i < count; ++i) fields(values[i]);
  }
  void require(std::string_view) {}

  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class Number>
  void number(Number& value) {
    if (!has(sizeof(Number))) return;
    std::uint64_t bits = 0;
    for (std::size_t byte = 0; byte < sizeof(Number); ++byte) {
      bits |= std::to_integer<std::uint64_t>(bytes_[byte]) << (8 * byte);
    }
    value = static_cast<Number>(bits);
    bytes_ = bytes_.subspan(sizeof(Number));
  }
  void flag(bool& value) {
    std::uint8_t byte = 0;
    number(byte);
    if (byte > 1) require("a flag is neither 0 nor 1");
    value = byte == 1;
  }
  void text(std::string& value, std::size_t max_bytes) {
    std::uint32_t size = 0;
    number(size);
    if (size > max_bytes) return require("a text is too long");
    if (!has(size)) return;
    value.assign(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
  }
  template <class Element, class Fields>
  void list(std::vector<Element>& values, std::size_t max_count, const Fields& fields) {
    std::uint8_t count = 0;
    number(count);
    if (count > max_count) return require("a list is too long");
    for (; count > 0 && error_.empty(); --count) fields(values.emplace_back());
  }
  /// Fails with `problem` unless it is "". The first problem remains.
  void require(std::string_view problem) {
    if (error_.empty()) error_ = problem;
  }

  void end() {
    if (!bytes_.empty()) require("the frame is longer than its message");
  }
  std::string_view error() const { return error_; }

 private:
  bool has(std::size_t size) {
    if (bytes_.size() < size) require("the frame is shorter than its message");
    return error_.empty();
  }

  std::span<const std::byte> bytes_;
  std::string_view error_;
};

template <class Io, class M>
void fields(Io& io, M& m) {
  using T = std::remove_const_t<M>;
  if constexpr (std::is_same_v<T, Hello>) {
    io.number(m.rank), io.number(m.ranks), io.number(m.comm_id);
    io.number(m.protocol), io.number(m.count), io.number(m.undecided);
  } else if constexpr (std::is_same_v<T, Ping>) {
    io.number(m.number);
  } else if constexpr (std::is_same_v<T, Pong>) {
    io.number(m.number), io.number(m.count);
  } else if constexpr (std::is_same_v<T, Proposal>) {
    io.number(m.version);
    io.list(m.payloads, kMaxPayloads, [&](auto& payload) { io.text(payload, kMaxPayloadBytes); });
    io.list(m.gates, kMaxGates, [&](auto& gate) {
      io.number(gate.call), io.number(gate.payload), io.flag(gate.is_return);
    });
    io.require(problem_of(m));
  } else if constexpr (std::is_same_v<T, Passed>) {
    io.number(m.version), io.number(m.count);
  } else if constexpr (std::is_same_v<T, Refused>) {
    io.number(m.version), io.text(m.reason, kMaxReasonBytes);
  } else if constexpr (std::is_same_v<T, Abstention>) {
    io.text(m.reason, kMaxReasonBytes);
  } else if constexpr (std::is_same_v<T, Arrived>) {
    io.number(m.version), io.number(m.gate), io.number(m.call), io.number(m.digest);
  } else if constexpr (std::is_same_v<T, Verdict>) {
    io.number(m.version), io.number(m.gate), io.flag(m.go);
  } else if constexpr (std::is_same_v<T, Ask>) {
    io.number(m.rank), fields(io, m.arrived);
  } else if constexpr (std::is_same_v<T, Unknown>) {
    io.number(m.version), io.number(m.gate), io.flag(m.has_link);
  } else if constexpr (std::is_same_v<T, Goodbye>) {
    io.number(m.count);
  } else {
    static_assert(std::is_same_v<T, Statistics>);
    io.text(m.bytes, kMaxPayloadBytes);
  }
}

/// Makes `message` an empty message of the type `index`. Returns false if there is no such type.
template <std::size_t... Types>
bool emplace(Message& message, std::size_t index, std::index_sequence<Types...>) {
  return ((index == Types && (message.emplace<Types>(), true)) || ...);
}

}  // namespace

std::string_view problem_of(const Proposal& proposal) {
  if (proposal.version == 0) return "a proposal has no version";
  if (proposal.gates.empty()) return "a proposal has no gate";
  if (proposal.gates.size() > kMaxGates) return "a proposal has too many gates";
  if (proposal.payloads.size() > kMaxPayloads) return "a proposal has too many payloads";
  for (const std::string& payload : proposal.payloads) {
    if (payload.size() > kMaxPayloadBytes) return "a payload is too long";
  }
  if (proposal.gates.front().is_return) return "a proposal begins with a return gate";
  for (std::size_t i = 0; i < proposal.gates.size(); ++i) {
    const Gate& gate = proposal.gates[i];
    if (gate.payload >= proposal.payloads.size()) return "a gate has no payload";
    if (gate.call == kNoGate) return "a gate's call is too large";
    if (i > 0 && gate.call <= proposal.gates[i - 1].call) return "gates do not ascend";
  }
  return "";
}

std::string encode(const Message& message) {
  Writer body;
  body.number(kFormVersion);
  body.number(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& m) { fields(body, m); }, message);
  const std::string bytes = body.take();
  Writer frame;
  frame.number(static_cast<std::uint32_t>(bytes.size()));
  return frame.take() + bytes;
}

Decoded decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) return {};
  std::uint32_t size = 0;
  Reader(bytes).number(size);
  if (size < 2) return {.message = {}, .consumed = 0, .error = "a frame is too short"};
  if (size > kMaxFrameBytes) return {.message = {}, .consumed = 0, .error = "a frame is too long"};
  if (bytes.size() - kHeaderBytes < size) return {};
  Reader reader(bytes.subspan(kHeaderBytes, size));
  std::uint8_t version = 0;
  std::uint8_t type = 0;
  reader.number(version);
  reader.number(type);
  Message message;
  constexpr auto kTypes = std::make_index_sequence<std::variant_size_v<Message>>();
  if (version != kFormVersion) reader.require("a frame has an unknown version");
  if (!emplace(message, type, kTypes)) reader.require("a frame has an unknown type");
  if (reader.error().empty()) {
    std::visit([&](auto& m) { fields(reader, m); }, message);
    reader.end();
  }
  if (!reader.error().empty()) return {.message = {}, .consumed = 0, .error = reader.error()};
  return {.message = std::move(message), .consumed = kHeaderBytes + size, .error = ""};
}

}  // namespace hocket::nccl
