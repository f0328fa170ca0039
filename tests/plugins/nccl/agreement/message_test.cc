#include "plugins/nccl/agreement/message.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/mutate.h"
#include "tests/rounds.h"

namespace hocket::nccl {
namespace {

Decoded decode_text(const std::string& bytes) {
  return hocket::nccl::decode(std::as_bytes(std::span(bytes)));
}

std::string text(std::mt19937_64& random, std::size_t max_size) {
  std::string bytes(random() % (max_size + 1), '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

Proposal any_proposal(std::mt19937_64& random) {
  Proposal proposal{.version = 1 + random() % 1000, .payloads = {}, .gates = {}};
  for (std::size_t i = 0; i < 1 + random() % kMaxPayloads; ++i) {
    proposal.payloads.push_back(text(random, 40));
  }
  std::uint64_t call = random() >> 8;
  for (std::size_t i = 0; i < 1 + random() % kMaxGates; ++i) {
    proposal.gates.push_back(
        {.call = call += 1 + random() % 100,
         .payload = static_cast<std::uint8_t>(random() % proposal.payloads.size()),
         .is_return = i > 0 && random() % 2 == 0});
  }
  return proposal;
}

Arrived any_arrival(std::mt19937_64& random) {
  return {random(), static_cast<std::uint32_t>(random()), random(), random()};
}

/// Returns one message of each type.
std::vector<Message> any_messages(std::mt19937_64& random) {
  const auto small = [&] { return static_cast<std::uint32_t>(random()); };
  return {
      Hello{small(), small(), random(), static_cast<std::uint16_t>(small()), random(), random()},
      Ping{random()},
      Pong{random(), random()},
      any_proposal(random),
      Passed{random(), random()},
      Refused{random(), text(random, kMaxReasonBytes)},
      Abstention{text(random, kMaxReasonBytes)},
      any_arrival(random),
      Verdict{random(), small(), random() % 2 == 0},
      Ask{small(), any_arrival(random)},
      Unknown{random(), small(), random() % 2 == 0},
      Goodbye{random()},
      Statistics{text(random, 100)}};
}

TEST(Message, EachTypeIsReadBackAsItWasWritten) {
  for (std::uint64_t seed = 0; seed < rounds(400); ++seed) {
    std::mt19937_64 random(seed);
    const auto messages = any_messages(random);
    ASSERT_EQ(messages.size(), std::variant_size_v<Message>);
    for (std::size_t type = 0; type < messages.size(); ++type) {
      ASSERT_EQ(messages[type].index(), type);
      const std::string frame = encode(messages[type]);
      const Decoded decoded = decode_text(frame + "more");
      ASSERT_EQ(decoded.error, "") << "seed " << seed << ", type " << type;
      ASSERT_EQ(decoded.consumed, frame.size());
      ASSERT_TRUE(decoded.message == messages[type]) << "seed " << seed << ", type " << type;
    }
  }
}

TEST(Message, PartOfAFrameNeedsMoreAndIsNoError) {
  std::mt19937_64 random(1);
  for (const Message& message : any_messages(random)) {
    const std::string frame = encode(message);
    for (std::size_t size = 0; size < frame.size(); ++size) {
      const Decoded decoded = decode_text(frame.substr(0, size));
      ASSERT_FALSE(decoded.message);
      ASSERT_EQ(decoded.consumed, 0u);
      ASSERT_EQ(decoded.error, "");
    }
  }
}

TEST(Message, DamagedFramesAreRefusedOrAreTheOnlyFormOfWhatIsRead) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < rounds(20000); ++seed) {
    std::mt19937_64 random(seed);
    const auto messages = any_messages(random);
    const std::string bytes = mutate(encode(messages[random() % messages.size()]), random);
    const Decoded decoded = decode_text(bytes);
    if (!decoded.message) {
      ASSERT_EQ(decoded.consumed, 0u) << "seed " << seed;
      refused += !decoded.error.empty();
      continue;
    }
    ASSERT_EQ(decoded.error, "") << "seed " << seed;
    ASSERT_EQ(encode(*decoded.message), bytes.substr(0, decoded.consumed)) << "seed " << seed;
  }
  EXPECT_GT(refused, 0u);
}

TEST(Message, TheLayoutIsTheDocumentedOne) {
  const std::string frame = encode(Verdict{0x0102030405060708, 9, true});
  const std::string expected("\x0f\0\0\0\x01\x08\x08\x07\x06\x05\x04\x03\x02\x01\x09\0\0\0\x01",
                             19);
  EXPECT_EQ(frame, expected);
}

TEST(Message, WrongHeadersAreRefused) {
  const std::string frame = encode(Ping{1});
  const auto with = [&](std::size_t at, char byte) {
    std::string changed = frame;
    changed[at] = byte;
    return decode_text(changed).error;
  };
  EXPECT_EQ(with(0, 1), "a frame is too short");
  EXPECT_EQ(with(3, 1), "a frame is too long");
  EXPECT_EQ(with(4, 2), "a frame has an unknown version");
  EXPECT_EQ(with(5, std::variant_size_v<Message>), "a frame has an unknown type");
  EXPECT_EQ(with(0, 9), "the frame is shorter than its message");
  std::string longer = frame + '\0';
  ++longer[0];
  EXPECT_EQ(decode_text(longer).error, "the frame is longer than its message");
  std::string flag = encode(Verdict{1, 0, true});
  flag.back() = 2;
  EXPECT_EQ(decode_text(flag).error, "a flag is neither 0 nor 1");
}

TEST(Message, BoundsHoldOnBothSides) {
  const std::string longest(kMaxPayloadBytes, 'x');
  const Decoded cut = decode_text(encode(Statistics{longest + "y"}));
  ASSERT_TRUE(cut.message);
  EXPECT_EQ(std::get<Statistics>(*cut.message).bytes, longest);
  std::string over = encode(Statistics{longest}) + "y";
  over[0] += 1;  // the frame's length
  over[6] += 1;  // the text's length
  EXPECT_EQ(decode_text(over).error, "a text is too long");
  const Proposal largest{1, std::vector<std::string>(kMaxPayloads, longest), {{5, 0, false}}};
  EXPECT_TRUE(decode_text(encode(largest)).message == Message(largest));
}

TEST(Message, InvalidProposalsAreRefused) {
  const Proposal valid{7, {"a", "b"}, {{10, 0, false}, {20, 1, true}}};
  EXPECT_EQ(problem_of(valid), "");
  std::vector<std::pair<Proposal, std::string_view>> wrong;
  const auto add = [&](std::string_view problem) -> Proposal& {
    return wrong.emplace_back(valid, problem).first;
  };
  add("a proposal has no version").version = 0;
  add("a proposal has no gate").gates.clear();
  add("a proposal begins with a return gate").gates[0].is_return = true;
  add("a gate has no payload").gates[1].payload = 2;
  add("a gate's call is too large").gates[1].call = kNoGate;
  add("gates do not ascend").gates[1].call = 10;
  for (const auto& [proposal, problem] : wrong) {
    EXPECT_EQ(problem_of(proposal), problem);
    EXPECT_EQ(decode_text(encode(proposal)).error, problem);
  }
  Proposal many = valid;
  many.gates.resize(kMaxGates + 1);
  EXPECT_EQ(problem_of(many), "a proposal has too many gates");
  many = valid;
  many.payloads.resize(kMaxPayloads + 1);
  EXPECT_EQ(problem_of(many), "a proposal has too many payloads");
  many = valid;
  many.payloads[0].resize(kMaxPayloadBytes + 1);
  EXPECT_EQ(problem_of(many), "a payload is too long");
}

}  // namespace
}  // namespace hocket::nccl
