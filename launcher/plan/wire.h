#ifndef WRIT_WIRE_H
#define WRIT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The socket to the worker, with the received bytes and those that are to be sent. */
struct wire {
  int fd;
  uint8_t *in;
  size_t in_taken, in_used, in_size;
  uint8_t *out;
  size_t out_sent, out_used, out_size;
};

/* One frame in the wire's buffer, valid until the next call that reads. */
struct frame {
  uint8_t type;
  uint32_t id;
  uint8_t *fields;
  size_t fields_bytes;
  size_t whole_bytes;
};

struct field {
  uint8_t tag;
  uint32_t length;
  const uint8_t *bytes;
};

enum wire_result { WIRE_OK, WIRE_EMPTY, WIRE_CLOSED, WIRE_BROKEN };

void wire_open(struct wire *wire, int fd);

/* Reads all bytes that the socket has. WIRE_CLOSED at its end, WIRE_BROKEN when reading fails. */
enum wire_result wire_fill(struct wire *wire);
/* The next whole frame, WIRE_EMPTY while it has not arrived in full, WIRE_BROKEN when it can never be valid. */
enum wire_result wire_next(struct wire *wire, struct frame *frame);
/* Forgets the frame and overwrites it, since a plan's environment may hold secrets and children copy our memory. */
void wire_done(struct wire *wire, const struct frame *frame);

/* Walks over the fields: WIRE_OK, WIRE_EMPTY after the last, WIRE_BROKEN when lengths do not add up. */
enum wire_result wire_field(const struct frame *frame, size_t *position, struct field *field);
bool field_u32(const struct field *field, uint32_t *value);
bool field_u64(const struct field *field, uint64_t *value);
uint32_t read_u32(const uint8_t *bytes);
uint64_t read_u64(const uint8_t *bytes);

/* A reply is written between begin and end; nothing is sent before wire_flush. */
void reply_begin(struct wire *wire, uint8_t type, uint32_t id);
void reply_bytes(struct wire *wire, uint8_t tag, const void *bytes, size_t length);
void reply_text(struct wire *wire, uint8_t tag, const char *text);
void reply_u32(struct wire *wire, uint8_t tag, uint32_t value);
void reply_u64(struct wire *wire, uint8_t tag, uint64_t value);
void reply_end(struct wire *wire);

/* Sends what the socket accepts; WIRE_EMPTY when everything is sent, WIRE_OK when some has to wait. */
enum wire_result wire_flush(struct wire *wire);
/* While the worker does not read its answers, no more requests are taken, so the waiting bytes stay bounded. */
bool wire_is_congested(const struct wire *wire);

#endif
