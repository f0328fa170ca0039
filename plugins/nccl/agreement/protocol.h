#pragma once

// The protocol by which the ranks of a communicator agree on a setting and on the call from which
// they use it: its rules and assumptions, and the limits of both sides. Constants; any thread.
//
// Every rank numbers its calls of the communicator from 0. A proposal has gates in ascending order
// of calls. A rank that reaches a gate's call waits there until it knows the verdict: "go" puts the
// gate's setting in force from this call on, "stay" keeps the setting in force and cancels the
// proposal's later gates. The arbiter beside rank 0 alone decides. A forward gate begins something
// new; a return gate ends in a setting that is known to work.
//
// Invariants
//  1. A gate has one verdict, and it never changes. Gates are decided in their order.
//  2. A forward gate goes only if every rank has arrived at it, all with equal digests of their
//     calls. So every rank holds the whole proposal, and waits, before the first go.
//  3. A rank that has not installed a proposal never arrives, so its first gate stays. Passed and
//     Refused only make this happen sooner; Passed may be followed by Arrived.
//  4. After the first go no rank gets past a later gate of the proposal without its verdict. The
//     arbiter may therefore let a return gate go without ranks that cannot be heard.
//  5. A return gate goes once all ranks but those that have said goodbye have arrived with equal
//     digests, or after the time limit if each missing rank is lost or silent. It stays when
//     digests differ, or when a missing rank still answers pings after the time limit, since that
//     rank may count differently.
//  6. At a forward gate the loss of any link decides "stay" at once.
//  7. Only one proposal is undecided at a time, and none is made unless every rank has joined and
//     answered a ping lately. A new link begins with Hello, after which the arbiter repeats the
//     verdicts of the latest proposal and of the one that the member has not seen decided. These
//     two may differ: a proposal may be made before the loss of a link is noticed.
//  8. A verdict of a gate implies that all earlier gates of its proposal went.
//  9. A member passes on verdicts that the arbiter gave, never what it decided by default.
// 10. A blocked member whose link to rank 0 is lost asks all ranks. A rank that does not know the
//     verdict either, but has a link to rank 0, forwards the question, which counts as an arrival.
// 11. A blocked member that has been without its link, a verdict, and an answer from any rank with
//     a link for isolation_ns decides by default: stay at a forward gate, go at a return gate.
//     These are the verdicts that the arbiter gives without the rank (5, 6). It then accepts no
//     proposal until it learns that the verdict was the same; if it was not, the communicator is
//     frozen. The member waits that long even if all ranks have lost rank 0: if rank 0 is dead, no
//     collective can complete, and if it is not, the link may return.
// 12. Time in which the process did not run (SIGSTOP) does not count, see RunningTime.
//
// Failure model. Processes stop, continue and die. Links are lost with all messages in flight, at
// any moment, and may be replaced; a link delivers in order, and nothing of an old link after its
// successor's first message. A link counts as lost when it is closed, or when the peer's host no
// longer acknowledges. The transport must not count a stopped process as a lost link: a rank that
// waits for a stopped rank 0 has to wait, since rank 0 may have decided. Questions and answers
// between ranks > 0 may be lost. Programs may be wrong: calls that only some ranks make. Messages
// are not forged.
//
// Remaining risk. Two settings for one collective are possible only
//  a. if a rank is cut off from all ranks after it has arrived at a forward gate and before it
//     learns the verdict, and its program's traffic goes on nevertheless. No protocol can close
//     this (two generals); it ends within isolation_ns. So does the same rank at a return gate that
//     stays, which needs a second fault: digests that differ, or a rank that is late.
//  b. if a rank that has made calls of its own cannot be heard for the whole time limit of a return
//     gate (two faults).
//  c. if a rank has made calls of its own that equal those which follow them up to the gate, such
//     as one more of a run of equal calls. Nothing in the calls tells the ranks apart. The
//     communicator closes this where NCCL's profiler is loaded: it adds to the digest how
//     many collectives were launched, by NCCL's own count, from a gate on before which it chooses
//     nothing.

#include <cstddef>
#include <cstdint>

namespace hocket::nccl {

inline constexpr std::uint16_t kProtocolVersion = 1;

/// Bounds of every message, which decoding enforces.
inline constexpr std::size_t kMaxPayloadBytes = 16 * 1024;
inline constexpr std::size_t kMaxPayloads = 8;
inline constexpr std::size_t kMaxGates = 16;
inline constexpr std::size_t kMaxReasonBytes = 256;

/// Value of `Member::next_gate` while no gate lies ahead.
inline constexpr std::uint64_t kNoGate = UINT64_MAX;

/// Target of a message for all ranks that can be reached.
inline constexpr std::uint32_t kEveryone = UINT32_MAX;

}  // namespace hocket::nccl
