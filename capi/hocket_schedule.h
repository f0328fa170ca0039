#pragma once

// Schedules the communication of a training framework: hocket decides which part of which tensor is
// communicated next, and the framework computes and communicates by its own means. For programs in
// C, or in any language that can call C. Link libhocket_client.so. docs/guides/frameworks.md is the
// guide.
//
// Every rank opens a schedule and adds the same tensors in the same order. In each step, on every
// rank:
//
//   hocket_schedule_enqueue(schedule, tensor);        all tensors of the step, in the same order
//   hocket_schedule_notify_ready(schedule, tensor);   when its values are computed
//   hocket_schedule_wait(schedule, tensor, …);        before its values are used
//   hocket_schedule_end_step(schedule);
//
// and, on one or more threads of the program:
//
//   while (hocket_schedule_next(schedule, &part, …) == 1) {
//     … all-reduce the part.bytes bytes from part.offset_bytes on of tensor part.tensor …
//     hocket_schedule_notify_finish(schedule, part.index);
//   }
//
// All ranks get the same parts with the same `index`; with one thread, also in the same order. Part
// sizes, the credit window, the number of parts in flight and their order are those of the
// configuration: its knobs partition_bytes, credit_bytes, comm_channels and order have an effect.
//
// Threads: all functions may be called from any thread, except that nothing may be called during or
// after hocket_schedule_close. Nothing throws, and no function ends the process.
//
// Errors: a function that fails returns NULL or -1, and hocket_error() (hocket_client.h) returns
// the message. Once communication has failed, every function but hocket_schedule_record, _stop and
// _close fails with that error.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hocket_schedule hocket_schedule;
typedef struct hocket_client hocket_client;  // hocket_client.h

// Zero-initialize, set `size`, then the known members. Strings are copied.
typedef struct hocket_schedule_options {
  size_t size;  // sizeof(hocket_schedule_options)

  int64_t rank, world_size;
  // The configuration, as JSON (docs/formats/schedule_config.md), equal on all ranks. NULL: the
  // default.
  const char* config_json;
  // For order=static: the step that the order is made for, as JSON (docs/formats/step.md), equal on
  // all ranks; its collectives are the tensors in the order of enqueuing. A step that is not this
  // one communicates in the order of enqueuing. NULL: order=static is order=negotiated.
  const char* step_json;
  // For order=negotiated with several ranks: sends `size` bytes of rank 0 to all other ranks, into
  // the same place. Called on a thread of the library, on every rank in the same order; blocks.
  // Returns 0, or another value if a rank is gone: every function then fails. NULL: the order must
  // not be negotiated.
  int (*broadcast)(void* bytes, size_t size, void* context);
  // The time that `broadcast` waits on a rank before it returns an error; the library cannot
  // interrupt it. Rank 0 calls it at least four times as often, also when there is nothing to send.
  // 0: 30 s.
  int64_t broadcast_timeout_ns;

  void* context;  // passed to the callbacks

  // Called from within hocket_schedule_open and hocket_schedule_reconfigure with each warning for
  // the user, such as of a knob that has no effect here. NULL: warnings are dropped. A program
  // compiled before this member existed passes a smaller `size`.
  void (*warn)(const char* message, void* context);
} hocket_schedule_options;

typedef struct hocket_schedule_tensor {
  size_t size;       // sizeof(hocket_schedule_tensor)
  const char* name;  // unique
  int64_t bytes;
  int64_t priority;  // 0 is most urgent: the place in the forward pass of the layer that needs it
} hocket_schedule_tensor;

// A part begins at a multiple of 64 bytes.
typedef struct hocket_schedule_part {
  int64_t tensor;
  int64_t offset_bytes, bytes;
  int64_t index;    // the same for this part on every rank
  int64_t channel;  // 0 to comm_channels - 1: a lane of this rank that no other part in flight has
} hocket_schedule_part;

hocket_schedule* hocket_schedule_open(const hocket_schedule_options* options);

// Adds a tensor, or a bucket of tensors that are communicated as one. Returns its number, counted
// from 0, or -1.
int64_t hocket_schedule_add(hocket_schedule* schedule, const hocket_schedule_tensor* tensor);

// Announces that the tensor will be communicated in this step; fails while its last communication
// is unfinished. Returns 0, or -1.
int hocket_schedule_enqueue(hocket_schedule* schedule, int64_t tensor);
// Says that the values of an enqueued tensor are computed. Returns 0, or -1.
int hocket_schedule_notify_ready(hocket_schedule* schedule, int64_t tensor);

// Waits for the next part, at most `timeout_ns`. Returns 1 with the part, 0 when there is none, 2
// once hocket_schedule_stop was called, or -1.
int hocket_schedule_next(hocket_schedule* schedule, hocket_schedule_part* part, int64_t timeout_ns);
// Says that the part with this index is communicated. Returns 0, or -1.
int hocket_schedule_notify_finish(hocket_schedule* schedule, int64_t index);

// Waits until all parts of the tensor's last communication are done. Returns 0, or -1 after
// `timeout_ns`; the message says what it waits for. Tensors of a step must be waited for before the
// next step ends.
int hocket_schedule_wait(hocket_schedule* schedule, int64_t tensor, int64_t timeout_ns);

// Ends the step. Returns 0, or -1.
int hocket_schedule_end_step(hocket_schedule* schedule);

// Changes the configuration, and the step of order=static, between the same two steps on every
// rank. While tensors are unfinished, only partition_bytes, credit_bytes and comm_channels may
// change. Returns 0, or -1 and changes nothing.
int hocket_schedule_reconfigure(hocket_schedule* schedule, const char* config_json,
                                const char* step_json);

// Says that communication has failed, for example because a rank is gone: every call that waits
// ends, and all fail with `message` from now on. Returns 0, or -1.
int hocket_schedule_fail(hocket_schedule* schedule, const char* message);

// Records `steps` steps from the next one on: what was ready when, and what ran when. The first and
// the last are not whole, so record at least 4. Returns 0, or -1.
int hocket_schedule_record(hocket_schedule* schedule, int64_t steps);
// Ends the recording and returns the step that it describes, as JSON: for `step_json`, and for
// `hocket simulate`. NULL when it has no whole step. Valid until the next call for this schedule.
const char* hocket_schedule_recorded_step(hocket_schedule* schedule);
// Saves the last recording, once hocket_schedule_recorded_step has returned its step, as a profile
// of the client's job in the store (HOCKET_STORE), for `hocket profiles`, `hocket simulate
// --profile` and the tuner. For rank 0. Returns 0, or -1.
int hocket_schedule_save_profile(hocket_schedule* schedule, const hocket_client* client);

// Ends the communication, on every rank once all its tensors are waited for: every call that waits
// ends, and nothing can be enqueued. Returns 0, or -1.
int hocket_schedule_stop(hocket_schedule* schedule);

// Stops, and frees the schedule. With a negotiated order it waits until rank 0 has stopped, or
// until `broadcast` returns an error. NULL is allowed. Not for a child of fork(), which has none of
// the library's threads.
void hocket_schedule_close(hocket_schedule* schedule);

#ifdef __cplusplus
}
#endif
