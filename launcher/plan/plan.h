#ifndef WRIT_PLAN_H
#define WRIT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"
#include "protocol.h"
#include "plan/wire.h"

/* The kind of a bind's source when the start began; UNKNOWN for steps without a source. */
enum source_kind { SOURCE_UNKNOWN, SOURCE_MISSING, SOURCE_FILE, SOURCE_DIRECTORY };

struct mount_step {
  uint8_t kind, flags;
  uint32_t mode;
  uint64_t size;
  uint32_t uid, gid;
  int idmap_fd; /* the user namespace of an idmapped mount, -1 without one */
  const char *target;
  const char *source; /* a path, or the content of a file: then source_bytes counts, zeros may be inside */
  size_t source_bytes;
  /* The step belongs to one job, or lies beneath such a mount: it cannot be shared between jobs. */
  bool is_own;
  /* It lies beneath an own one, so its mount point can only be made for this job. */
  bool is_nested;
  enum source_kind source_kind;
};

struct rlimit_step {
  uint32_t resource;
  uint64_t soft, hard;
};

/* A file or directory in the job's home. The content may contain zeros. */
struct home_step {
  uint8_t kind;
  const char *path;
  const uint8_t *content;
  size_t content_bytes;
};

/* A START frame, parsed and checked. All its pointers lead into `memory`. */
struct plan {
  char **argv, **env;
  const char **masks;
  size_t masks_count;
  const uint8_t *stdin_bytes; /* NULL without any */
  size_t stdin_length;
  const char *cwd, *cgroup, *cgroup_io_lift, *give_dir, *hostname, *stdin_file, *stdout_file, *stderr_file,
      *home;
  uint32_t protections, uid, gid;
  uint32_t hold_ms; /* 0: output goes to its files at once */
  uint32_t hold_written_ms; /* 0: as hold_ms */
  uint32_t listen_port;     /* 0: nothing listens in its network */
  struct home_step home_steps[HOME_ENTRIES_MAX];
  size_t home_steps_count;
  uint64_t stdout_max, stderr_max;
  struct mount_step *mounts;
  size_t mounts_count;
  struct rlimit_step *rlimits;
  size_t rlimits_count;
  uint8_t *memory;
  size_t memory_bytes, memory_used;
};

enum plan_result { PLAN_OK, PLAN_REFUSED, PLAN_BROKEN };

/*
 * PLAN_BROKEN: the frame breaks the protocol; PLAN_REFUSED: it is well formed but cannot be carried out. Both note the
 * reason in `failure`. Call plan_forget after any of the three.
 */
enum plan_result plan_read(struct plan *plan, const struct frame *frame, struct failure *failure);
/* Overwrites and frees it. */
void plan_forget(struct plan *plan);

/* Does the plan have an idmapped mount, in which the job acts as a user of the host? */
bool plan_maps_owners(const struct plan *plan);

bool plan_asks(const struct plan *plan, uint32_t protection);

#endif
