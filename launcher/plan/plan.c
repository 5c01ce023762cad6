#define _GNU_SOURCE
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "plan/plan-check.h"
#include "protocol.h"

/* How often each field occurs, to size the lists and to refuse repeated single fields. */
struct counts {
  size_t of[256];
};

/* kind, flags, mode, size, uid, gid and the two lengths */
#define MOUNT_HEAD_BYTES (1 + 1 + 4 + 8 + 4 + 4 + 4 + 4)
/* kind and the length of the path */
#define HOME_HEAD_BYTES (1 + 4)
#define MOUNT_FLAGS \
  (MOUNT_SKIP_MISSING | MOUNT_PER_JOB | MOUNT_WRITABLE | MOUNT_NOEXEC | MOUNT_ONE_FILE | MOUNT_IDMAP)

static bool count_fields(const struct frame *frame, struct counts *counts, struct failure *failure);
static bool read_fields(struct plan *plan, const struct frame *frame, struct failure *failure);
static bool read_field(struct plan *plan, const struct field *field, size_t *args, size_t *envs);
static bool read_hold(const struct field *field, uint32_t *hold_ms);
static bool read_port(const struct field *field, uint32_t *port);
static bool read_stdin(struct plan *plan, const struct field *field);
static bool read_home_step(struct plan *plan, const struct field *field);
static bool read_mount(struct plan *plan, const struct field *field);
static bool read_rlimit(struct plan *plan, const struct field *field);
static void reserve(struct plan *plan, const struct frame *frame, const struct counts *counts);
static void *take(struct plan *plan, size_t bytes);
static const char *take_text(struct plan *plan, const uint8_t *bytes, size_t length);
static bool is_text(const uint8_t *bytes, size_t length);

enum plan_result plan_read(struct plan *plan, const struct frame *frame, struct failure *failure) {
  struct counts counts;
  memset(plan, 0, sizeof *plan);
  memset(&counts, 0, sizeof counts);
  errno = EPROTO;
  if (!count_fields(frame, &counts, failure)) return PLAN_BROKEN;
  reserve(plan, frame, &counts);
  if (!read_fields(plan, frame, failure)) return PLAN_BROKEN;
  errno = EINVAL;
  bool has_limits = counts.of[TAG_STDOUT_MAX] == 1 && counts.of[TAG_STDERR_MAX] == 1;
  bool has_ids = counts.of[TAG_UID] == 1 && counts.of[TAG_GID] == 1;
  bool has_some_id = counts.of[TAG_UID] + counts.of[TAG_GID] > 0;
  if (!has_limits) return fail(failure, STEP_PLAN, "an output limit is missing"), PLAN_REFUSED;
  if (counts.of[TAG_PROTECTIONS] == 0) return fail(failure, STEP_PLAN, "protections are missing"), PLAN_REFUSED;
  if (has_ids != plan_asks(plan, PROTECT_IDS) || has_some_id != has_ids) {
    return fail(failure, STEP_PLAN, "uid and gid go with the ids protection"), PLAN_REFUSED;
  }
  return plan_check(plan, failure) ? PLAN_OK : PLAN_REFUSED;
}

void plan_forget(struct plan *plan) {
  if (plan->memory != NULL) {
    explicit_bzero(plan->memory, plan->memory_bytes);
    free(plan->memory);
  }
  memset(plan, 0, sizeof *plan);
}

bool plan_asks(const struct plan *plan, uint32_t protection) { return (plan->protections & protection) != 0; }

bool plan_maps_owners(const struct plan *plan) {
  for (size_t i = 0; i < plan->mounts_count; i++) {
    if ((plan->mounts[i].flags & MOUNT_IDMAP) != 0) return true;
  }
  return false;
}

static size_t most_of(uint8_t tag) {
  switch (tag) {
    case TAG_ARG: return ARGS_MAX;
    case TAG_ENV: return ENV_MAX;
    case TAG_MOUNT: return MOUNTS_MAX;
    case TAG_RLIMIT: return RLIMITS_MAX;
    case TAG_MASK: return MASKS_MAX;
    case TAG_HOME_ENTRY: return HOME_ENTRIES_MAX;
    default: return tag >= TAG_ARG && tag <= TAG_LISTEN_PORT ? 1 : 0;
  }
}

static bool count_fields(const struct frame *frame, struct counts *counts, struct failure *failure) {
  size_t position = 0;
  struct field field;
  enum wire_result result;
  while ((result = wire_field(frame, &position, &field)) == WIRE_OK) {
    size_t most = most_of(field.tag);
    if (most == 0) return fail(failure, STEP_PLAN, "START has no field %u", field.tag);
    if (++counts->of[field.tag] > most) return fail(failure, STEP_PLAN, "field %u comes too often", field.tag);
  }
  return result == WIRE_EMPTY || fail(failure, STEP_PLAN, "the lengths of the fields do not add up");
}

/* One piece of memory for everything: lists first, because they need alignment, then strings. */
static void reserve(struct plan *plan, const struct frame *frame, const struct counts *counts) {
  size_t args = counts->of[TAG_ARG] + 1, envs = counts->of[TAG_ENV] + 1;
  size_t lists = (args + envs + counts->of[TAG_MASK]) * sizeof(char *) +
                 counts->of[TAG_MOUNT] * sizeof(struct mount_step) + counts->of[TAG_RLIMIT] * sizeof(struct rlimit_step);
  // A string needs one byte more than its field has; the five bytes of the field's head make up for that.
  plan->memory_bytes = lists + frame->fields_bytes;
  plan->memory = calloc(1, plan->memory_bytes);
  if (plan->memory == NULL) fatal("no memory for a plan of %zu bytes", plan->memory_bytes);
  plan->mounts = take(plan, counts->of[TAG_MOUNT] * sizeof(struct mount_step));
  plan->rlimits = take(plan, counts->of[TAG_RLIMIT] * sizeof(struct rlimit_step));
  plan->argv = take(plan, args * sizeof(char *));
  plan->env = take(plan, envs * sizeof(char *));
  plan->masks = take(plan, counts->of[TAG_MASK] * sizeof(char *));
}

static bool read_fields(struct plan *plan, const struct frame *frame, struct failure *failure) {
  size_t position = 0, args = 0, envs = 0;
  struct field field;
  while (wire_field(frame, &position, &field) == WIRE_OK) {
    if (!read_field(plan, &field, &args, &envs)) return fail(failure, STEP_PLAN, "field %u is malformed", field.tag);
  }
  return true;
}

static bool read_text(struct plan *plan, const struct field *field, const char **text) {
  if (!is_text(field->bytes, field->length)) return false;
  *text = take_text(plan, field->bytes, field->length);
  return true;
}

static bool read_field(struct plan *plan, const struct field *field, size_t *args, size_t *envs) {
  switch (field->tag) {
    case TAG_ARG: return read_text(plan, field, (const char **)&plan->argv[(*args)++]);
    case TAG_ENV: return read_text(plan, field, (const char **)&plan->env[(*envs)++]);
    case TAG_CWD: return read_text(plan, field, &plan->cwd);
    case TAG_CGROUP: return read_text(plan, field, &plan->cgroup);
    case TAG_CGROUP_IO_LIFT: return read_text(plan, field, &plan->cgroup_io_lift);
    case TAG_GIVE_DIR: return read_text(plan, field, &plan->give_dir);
    case TAG_HOSTNAME: return read_text(plan, field, &plan->hostname);
    case TAG_STDOUT_FILE: return read_text(plan, field, &plan->stdout_file);
    case TAG_STDERR_FILE: return read_text(plan, field, &plan->stderr_file);
    case TAG_PROTECTIONS: return field_u32(field, &plan->protections) && (plan->protections & ~PROTECT_ALL) == 0;
    case TAG_UID: return field_u32(field, &plan->uid);
    case TAG_GID: return field_u32(field, &plan->gid);
    case TAG_STDOUT_MAX: return field_u64(field, &plan->stdout_max);
    case TAG_STDERR_MAX: return field_u64(field, &plan->stderr_max);
    case TAG_MOUNT: return read_mount(plan, field);
    case TAG_RLIMIT: return read_rlimit(plan, field);
    case TAG_MASK: return read_text(plan, field, &plan->masks[plan->masks_count++]);
    case TAG_STDIN: return read_stdin(plan, field);
    case TAG_STDIN_FILE: return read_text(plan, field, &plan->stdin_file);
    case TAG_HOLD_MS: return read_hold(field, &plan->hold_ms);
    case TAG_HOLD_WRITTEN_MS: return read_hold(field, &plan->hold_written_ms);
    case TAG_LISTEN_PORT: return read_port(field, &plan->listen_port);
    case TAG_HOME: return read_text(plan, field, &plan->home);
    case TAG_HOME_ENTRY: return read_home_step(plan, field);
    default: return false;
  }
}

static bool read_hold(const struct field *field, uint32_t *hold_ms) {
  return field_u32(field, hold_ms) && *hold_ms >= 1 && *hold_ms <= HOLD_MS_MAX;
}

static bool read_port(const struct field *field, uint32_t *port) {
  return field_u32(field, port) && *port >= 1 && *port <= UINT16_MAX;
}

/* Not a text, because it may contain zeros. */
static bool read_stdin(struct plan *plan, const struct field *field) {
  if (field->length > STDIN_BYTES_MAX) return false;
  uint8_t *bytes = take(plan, field->length);
  memcpy(bytes, field->bytes, field->length);
  plan->stdin_bytes = bytes;
  plan->stdin_length = field->length;
  return true;
}

static bool read_home_step(struct plan *plan, const struct field *field) {
  struct home_step *step = &plan->home_steps[plan->home_steps_count];
  if (field->length < HOME_HEAD_BYTES) return false;
  size_t rest = field->length - HOME_HEAD_BYTES, path_bytes = read_u32(field->bytes + 1);
  const uint8_t *path = field->bytes + HOME_HEAD_BYTES;
  step->kind = field->bytes[0];
  if (step->kind != HOME_DIRECTORY && step->kind != HOME_FILE) return false;
  if (path_bytes > rest || !is_text(path, path_bytes)) return false;
  step->content_bytes = rest - path_bytes;
  if (step->kind == HOME_DIRECTORY && step->content_bytes > 0) return false;
  step->path = take_text(plan, path, path_bytes);
  uint8_t *content = take(plan, step->content_bytes);
  memcpy(content, path + path_bytes, step->content_bytes);
  step->content = content;
  plan->home_steps_count++;
  return true;
}

static bool read_mount(struct plan *plan, const struct field *field) {
  struct mount_step *step = &plan->mounts[plan->mounts_count];
  const uint8_t *bytes = field->bytes;
  if (field->length < MOUNT_HEAD_BYTES) return false;
  size_t names = field->length - MOUNT_HEAD_BYTES;
  step->kind = bytes[0];
  step->flags = bytes[1];
  step->mode = read_u32(bytes + 2);
  step->size = read_u64(bytes + 6);
  step->uid = read_u32(bytes + 14);
  step->gid = read_u32(bytes + 18);
  step->idmap_fd = -1;
  size_t target_bytes = read_u32(bytes + 22);
  if (target_bytes > names) return false;
  const uint8_t *target = bytes + 26;
  step->source_bytes = read_u32(target + target_bytes);
  const uint8_t *source = target + target_bytes + 4;
  if (step->source_bytes != names - target_bytes) return false;
  if (step->kind < MOUNT_BIND_RO || step->kind > MOUNT_JOB) return false;
  if ((step->flags & ~MOUNT_FLAGS) != 0) return false;
  if (!is_text(target, target_bytes)) return false;
  if (step->kind != MOUNT_FILE && !is_text(source, step->source_bytes)) return false;
  step->target = take_text(plan, target, target_bytes);
  step->source = take_text(plan, source, step->source_bytes);
  plan->mounts_count++;
  return true;
}

static bool read_rlimit(struct plan *plan, const struct field *field) {
  struct rlimit_step *step = &plan->rlimits[plan->rlimits_count];
  if (field->length != 4 + 8 + 8) return false;
  step->resource = read_u32(field->bytes);
  step->soft = read_u64(field->bytes + 4);
  step->hard = read_u64(field->bytes + 12);
  plan->rlimits_count++;
  return true;
}

static void *take(struct plan *plan, size_t bytes) {
  if (bytes > plan->memory_bytes - plan->memory_used) fatal("a plan is larger than it was measured");
  void *piece = plan->memory + plan->memory_used;
  plan->memory_used += bytes;
  return piece;
}

static const char *take_text(struct plan *plan, const uint8_t *bytes, size_t length) {
  char *text = take(plan, length + 1);
  memcpy(text, bytes, length);
  text[length] = '\0';
  return text;
}

static bool is_text(const uint8_t *bytes, size_t length) { return memchr(bytes, 0, length) == NULL; }
