// A framework in C that lets hocket schedule its communication: one thread computes layers and
// waits for each one's gradient only when its next forward needs it, another communicates. Here
// communication is a wait as long as a link of 1 Gbit/s takes; a real framework calls its
// all-reduce. Prints the step that hocket has learned, for `hocket simulate FILE`.
//
//   bin/c_schedule [CONFIG]     CONFIG: docs/formats/schedule_config.md

#define _POSIX_C_SOURCE 200809L  // nanosleep

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "capi/hocket_client.h"
#include "capi/hocket_schedule.h"

enum { LAYERS = 4, STEPS = 12 };

static const int64_t layer_bytes[LAYERS] = {250000, 1000000, 500000, 2000000};

static void spend(int64_t ns) {
  const struct timespec time = {ns / 1000000000, ns % 1000000000};
  nanosleep(&time, NULL);
}

static void* communicate(void* schedule) {
  const int64_t hour_ns = INT64_C(3600000000000);
  hocket_schedule_part part;
  while (hocket_schedule_next(schedule, &part, hour_ns) == 1) {
    spend(8 * part.bytes);
    hocket_schedule_notify_finish(schedule, part.index);
  }
  return NULL;
}

static int train_step(hocket_schedule* schedule) {
  for (int layer = 0; layer < LAYERS; ++layer) {
    if (hocket_schedule_wait(schedule, layer, 10000000000) != 0) return -1;
    spend(2000000);  // forward
  }
  for (int layer = LAYERS - 1; layer >= 0; --layer)
    if (hocket_schedule_enqueue(schedule, layer) != 0) return -1;
  for (int layer = LAYERS - 1; layer >= 0; --layer) {
    spend(4000000);  // backward
    if (hocket_schedule_notify_ready(schedule, layer) != 0) return -1;
  }
  return hocket_schedule_end_step(schedule);
}

int main(int argc, char** argv) {
  const hocket_schedule_options options = {
      .size = sizeof options, .world_size = 1, .config_json = argc > 1 ? argv[1] : NULL};
  hocket_schedule* const schedule = hocket_schedule_open(&options);
  if (schedule == NULL) {
    fprintf(stderr, "c_schedule: %s\n", hocket_error());
    return 2;
  }
  for (int layer = 0; layer < LAYERS; ++layer) {
    char name[16];
    snprintf(name, sizeof name, "layer%d", layer);
    const hocket_schedule_tensor tensor = {
        .size = sizeof tensor, .name = name, .bytes = layer_bytes[layer], .priority = layer};
    hocket_schedule_add(schedule, &tensor);
  }
  pthread_t communicator;
  if (pthread_create(&communicator, NULL, communicate, schedule) != 0) return 1;
  hocket_schedule_record(schedule, STEPS - 2);
  int status = 0;
  for (int step = 0; step < STEPS && status == 0; ++step) status = train_step(schedule);
  for (int layer = 0; layer < LAYERS && status == 0; ++layer)
    status = hocket_schedule_wait(schedule, layer, 10000000000);
  const char* const step = status == 0 ? hocket_schedule_recorded_step(schedule) : NULL;
  if (step != NULL) {
    puts(step);
  } else {
    fprintf(stderr, "c_schedule: %s\n", hocket_error());
  }
  hocket_schedule_stop(schedule);
  pthread_join(communicator, NULL);
  hocket_schedule_close(schedule);
  return step == NULL;
}
