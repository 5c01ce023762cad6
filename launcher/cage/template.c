#define _GNU_SOURCE
#include "cage/template.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cage/build-template.h"
#include "fatal.h"
#include "protocol.h"

/* A worker has a few kinds of job, and a kind has one set of shared mounts. */
#define TEMPLATES_MAX 8
/* device, inode, mount */
#define IDENTITY_NUMBERS 4

struct template {
  uint8_t *key;
  size_t key_bytes;
  int namespace_fd;
  uint64_t last_use;
};

struct key {
  uint8_t *bytes;
  size_t used, size;
};

static struct template templates[TEMPLATES_MAX];
static uint64_t uses;

static void key_add(struct key *key, const void *bytes, size_t length);
static bool key_add_step(struct key *key, struct mount_step *step, struct failure *failure);
static bool look_at_source(struct mount_step *step, uint64_t *identity, struct failure *failure);
static struct template *find_template(const struct key *key);
static struct template *oldest_template(void);
static void forget_template(struct template *template);

bool template_for(struct plan *plan, int *namespace_fd, struct failure *failure) {
  static struct key key;
  key.used = 0;
  for (size_t i = 0; i < plan->mounts_count; i++) {
    if (!key_add_step(&key, &plan->mounts[i], failure)) return false;
  }
  struct template *found = find_template(&key);
  if (found == NULL) {
    int built_fd;
    if (!build_template(plan, &built_fd, failure)) return false;
    found = oldest_template();
    forget_template(found);
    found->key = malloc(key.used + 1);
    if (found->key == NULL) fatal("no memory for a template");
    if (key.used > 0) memcpy(found->key, key.bytes, key.used);
    found->key_bytes = key.used;
    found->namespace_fd = built_fd;
  }
  found->last_use = ++uses;
  *namespace_fd = found->namespace_fd;
  return true;
}

/* The parts of a plan that define its template: all of a shared step, and only the mount point of an own one. */
static bool key_add_step(struct key *key, struct mount_step *step, struct failure *failure) {
  uint64_t identity[IDENTITY_NUMBERS] = {0};
  bool is_bind = step->kind == MOUNT_BIND_RO || step->kind == MOUNT_BIND_RW;
  bool is_unknown = step->source_kind == SOURCE_UNKNOWN;
  if (is_bind && is_unknown && !look_at_source(step, identity, failure)) return false;
  if (step->is_nested) return true;
  uint8_t shape[3] = {step->kind, step->is_own, (uint8_t)step->source_kind};
  key_add(key, shape, sizeof shape);
  key_add(key, step->target, strlen(step->target) + 1);
  if (step->is_own) return true;
  uint64_t numbers[4] = {step->flags, step->mode, step->size, step->source_bytes};
  key_add(key, numbers, sizeof numbers);
  key_add(key, step->source, step->source_bytes);
  key_add(key, identity, sizeof identity);
  return true;
}

/* A file that is replaced by renaming, as resolv.conf is, has another inode; a bind would keep the old one. */
static bool look_at_source(struct mount_step *step, uint64_t *identity, struct failure *failure) {
  struct statx source;
  memset(&source, 0, sizeof source);
  int result = statx(AT_FDCWD, step->source, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO | STATX_MNT_ID, &source);
  if (result != 0) {
    bool may_skip = (step->flags & MOUNT_SKIP_MISSING) != 0 && (errno == ENOENT || errno == ENOTDIR);
    step->source_kind = SOURCE_MISSING;
    return may_skip || fail(failure, STEP_MOUNT, "%s: looking at %s", step->target, step->source);
  }
  step->source_kind = S_ISDIR(source.stx_mode) ? SOURCE_DIRECTORY : SOURCE_FILE;
  identity[0] = source.stx_dev_major;
  identity[1] = source.stx_dev_minor;
  identity[2] = source.stx_ino;
  identity[3] = source.stx_mnt_id;
  return true;
}

static void key_add(struct key *key, const void *bytes, size_t length) {
  if (key->used + length > key->size) {
    size_t size = (key->used + length) * 2;
    key->bytes = realloc(key->bytes, size);
    if (key->bytes == NULL) fatal("no memory for a key of %zu bytes", size);
    key->size = size;
  }
  if (length > 0) memcpy(key->bytes + key->used, bytes, length);
  key->used += length;
}

static struct template *find_template(const struct key *key) {
  for (size_t i = 0; i < TEMPLATES_MAX; i++) {
    struct template *template = &templates[i];
    if (template->key == NULL || template->key_bytes != key->used) continue;
    if (key->used == 0 || memcmp(template->key, key->bytes, key->used) == 0) return template;
  }
  return NULL;
}

static struct template *oldest_template(void) {
  struct template *oldest = &templates[0];
  for (size_t i = 1; i < TEMPLATES_MAX; i++) {
    if (templates[i].last_use < oldest->last_use) oldest = &templates[i];
  }
  return oldest;
}

static void forget_template(struct template *template) {
  if (template->key == NULL) return;
  // The namespace ends with its last user: jobs that were made from it live in copies.
  if (close(template->namespace_fd) != 0) fatal("closing a template");
  free(template->key);
  memset(template, 0, sizeof *template);
}
