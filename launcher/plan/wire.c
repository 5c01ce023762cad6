#define _GNU_SOURCE
#include "plan/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fatal.h"
#include "protocol.h"

/* Enough for a few hundred ordinary plans in one read. */
#define IN_BYTES_FIRST (64u * 1024)
#define OUT_BYTES_FIRST (16u * 1024)
/* Above this, no more requests are answered; the exits of all running jobs may be added. */
#define OUT_BYTES_CONGESTED (256u * 1024)
/* More than all frames about one job: its output, if that was held, and five files of its cgroup. */
#define JOB_BYTES_MAX (HELD_BYTES_MAX + 32u * 1024)
#define IN_BYTES_MAX (4 + FRAME_BYTES_MAX)
#define OUT_BYTES_MAX (2 * OUT_BYTES_CONGESTED + JOBS_MAX * JOB_BYTES_MAX)

static void grow(uint8_t **buffer, size_t *size, size_t wanted, size_t most);
static void put_u32(uint8_t *bytes, uint32_t value);
static void make_room(struct wire *wire);
static void start_small(uint8_t **buffer, size_t *size, size_t first);
static void drop_sent(struct wire *wire);

void wire_open(struct wire *wire, int fd) {
  memset(wire, 0, sizeof *wire);
  wire->fd = fd;
  start_small(&wire->in, &wire->in_size, IN_BYTES_FIRST);
  start_small(&wire->out, &wire->out_size, OUT_BYTES_FIRST);
}

enum wire_result wire_fill(struct wire *wire) {
  make_room(wire);
  if (wire->in_used == wire->in_size) return WIRE_BROKEN;
  ssize_t got = recv(wire->fd, wire->in + wire->in_used, wire->in_size - wire->in_used, MSG_DONTWAIT);
  if (got == 0) return WIRE_CLOSED;
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return WIRE_EMPTY;
    return errno == ECONNRESET ? WIRE_CLOSED : WIRE_BROKEN;
  }
  wire->in_used += (size_t)got;
  return WIRE_OK;
}

enum wire_result wire_next(struct wire *wire, struct frame *frame) {
  uint8_t *head = wire->in + wire->in_taken;
  size_t waiting = wire->in_used - wire->in_taken;
  if (waiting < 4) return WIRE_EMPTY;
  uint32_t length = read_u32(head);
  if (length < FRAME_HEAD_BYTES || length > FRAME_BYTES_MAX) return WIRE_BROKEN;
  if (waiting < 4 + (size_t)length) return WIRE_EMPTY;
  frame->type = head[4];
  frame->id = read_u32(head + 5);
  frame->fields = head + 4 + FRAME_HEAD_BYTES;
  frame->fields_bytes = length - FRAME_HEAD_BYTES;
  frame->whole_bytes = 4 + (size_t)length;
  return WIRE_OK;
}

void wire_done(struct wire *wire, const struct frame *frame) {
  explicit_bzero(wire->in + wire->in_taken, frame->whole_bytes);
  wire->in_taken += frame->whole_bytes;
}

enum wire_result wire_field(const struct frame *frame, size_t *position, struct field *field) {
  size_t left = frame->fields_bytes - *position;
  if (left == 0) return WIRE_EMPTY;
  if (left < FIELD_HEAD_BYTES) return WIRE_BROKEN;
  const uint8_t *head = frame->fields + *position;
  field->tag = head[0];
  field->length = read_u32(head + 1);
  field->bytes = head + FIELD_HEAD_BYTES;
  if (field->length > left - FIELD_HEAD_BYTES) return WIRE_BROKEN;
  *position += FIELD_HEAD_BYTES + field->length;
  return WIRE_OK;
}

bool field_u32(const struct field *field, uint32_t *value) {
  if (field->length != 4) return false;
  *value = read_u32(field->bytes);
  return true;
}

bool field_u64(const struct field *field, uint64_t *value) {
  if (field->length != 8) return false;
  *value = read_u64(field->bytes);
  return true;
}

uint32_t read_u32(const uint8_t *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

uint64_t read_u64(const uint8_t *bytes) { return (uint64_t)read_u32(bytes) | (uint64_t)read_u32(bytes + 4) << 32; }

/* Where the frame that is being written starts; there is one wire and one writer. */
static size_t reply_start;

void reply_begin(struct wire *wire, uint8_t type, uint32_t id) {
  reply_start = wire->out_used;
  grow(&wire->out, &wire->out_size, wire->out_used + 4 + FRAME_HEAD_BYTES, OUT_BYTES_MAX);
  wire->out[reply_start + 4] = type;
  put_u32(wire->out + reply_start + 5, id);
  wire->out_used += 4 + FRAME_HEAD_BYTES;
}

void reply_bytes(struct wire *wire, uint8_t tag, const void *bytes, size_t length) {
  grow(&wire->out, &wire->out_size, wire->out_used + FIELD_HEAD_BYTES + length, OUT_BYTES_MAX);
  uint8_t *head = wire->out + wire->out_used;
  head[0] = tag;
  put_u32(head + 1, (uint32_t)length);
  memcpy(head + FIELD_HEAD_BYTES, bytes, length);
  wire->out_used += FIELD_HEAD_BYTES + length;
}

void reply_text(struct wire *wire, uint8_t tag, const char *text) { reply_bytes(wire, tag, text, strlen(text)); }

void reply_u32(struct wire *wire, uint8_t tag, uint32_t value) {
  uint8_t bytes[4];
  put_u32(bytes, value);
  reply_bytes(wire, tag, bytes, sizeof bytes);
}

void reply_u64(struct wire *wire, uint8_t tag, uint64_t value) {
  uint8_t bytes[8];
  put_u32(bytes, (uint32_t)value);
  put_u32(bytes + 4, (uint32_t)(value >> 32));
  reply_bytes(wire, tag, bytes, sizeof bytes);
}

void reply_end(struct wire *wire) {
  put_u32(wire->out + reply_start, (uint32_t)(wire->out_used - reply_start - 4));
}

enum wire_result wire_flush(struct wire *wire) {
  while (wire->out_sent < wire->out_used) {
    size_t waiting = wire->out_used - wire->out_sent;
    ssize_t sent = send(wire->fd, wire->out + wire->out_sent, waiting, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return drop_sent(wire), WIRE_OK;
      return errno == EPIPE || errno == ECONNRESET ? WIRE_CLOSED : WIRE_BROKEN;
    }
    wire->out_sent += (size_t)sent;
  }
  // It may contain output of a job, and the next job starts as a copy of the launcher's memory.
  if (wire->out_used > 0) explicit_bzero(wire->out, wire->out_used);
  wire->out_sent = 0;
  wire->out_used = 0;
  if (wire->out_size > OUT_BYTES_CONGESTED) start_small(&wire->out, &wire->out_size, OUT_BYTES_FIRST);
  return WIRE_EMPTY;
}

bool wire_is_congested(const struct wire *wire) { return wire->out_used - wire->out_sent > OUT_BYTES_CONGESTED; }

/* Moves a half frame to the front, and lets the buffer grow to what it needs and shrink again after it. */
static void make_room(struct wire *wire) {
  size_t rest = wire->in_used - wire->in_taken;
  if (wire->in_taken > 0) {
    memmove(wire->in, wire->in + wire->in_taken, rest);
    explicit_bzero(wire->in + rest, wire->in_used - rest);
    wire->in_taken = 0;
    wire->in_used = rest;
  }
  if (rest == 0 && wire->in_size > IN_BYTES_FIRST) start_small(&wire->in, &wire->in_size, IN_BYTES_FIRST);
  if (rest == wire->in_size && wire->in_size < IN_BYTES_MAX) {
    grow(&wire->in, &wire->in_size, wire->in_size + 1, IN_BYTES_MAX);
  }
}

/*
 * With a worker that is slower than its jobs the buffer never becomes empty, so sent bytes are dropped before that.
 * This is done only when they are more than the waiting ones: then no byte is moved more often than it is sent.
 */
static void drop_sent(struct wire *wire) {
  size_t waiting = wire->out_used - wire->out_sent;
  if (wire->out_sent <= waiting) return;
  memcpy(wire->out, wire->out + wire->out_sent, waiting);
  explicit_bzero(wire->out + waiting, wire->out_used - waiting);
  wire->out_sent = 0;
  wire->out_used = waiting;
}

/* Each job starts as a copy of the launcher: unused memory makes every start slower. The buffer is empty. */
static void start_small(uint8_t **buffer, size_t *size, size_t first) {
  free(*buffer);
  *buffer = malloc(first);
  if (*buffer == NULL) fatal("no memory for %zu bytes", first);
  *size = first;
}

static void grow(uint8_t **buffer, size_t *size, size_t wanted, size_t most) {
  if (wanted <= *size) return;
  if (wanted > most) fatal("a buffer to or from the worker would pass %zu bytes", most);
  size_t next = *size;
  while (next < wanted) next *= 2;
  if (next > most) next = most;
  // Not realloc: the old copy may contain secrets and has to be overwritten before it is freed.
  uint8_t *larger = malloc(next);
  if (larger == NULL) fatal("no memory for %zu bytes", next);
  memcpy(larger, *buffer, *size);
  explicit_bzero(*buffer, *size);
  free(*buffer);
  *buffer = larger;
  *size = next;
}

static void put_u32(uint8_t *bytes, uint32_t value) {
  bytes[0] = (uint8_t)value;
  bytes[1] = (uint8_t)(value >> 8);
  bytes[2] = (uint8_t)(value >> 16);
  bytes[3] = (uint8_t)(value >> 24);
}
