#define _GNU_SOURCE
#include "process/job-cgroup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fatal.h"
#include "protocol.h"

/* Longer than any of the files that are read here; the first lines are enough. */
#define COUNTS_BYTES_MAX 4096

static void reply_file(const struct job_cgroup *cgroup, struct wire *wire, uint8_t tag, const char *name);
static bool lift_io(const struct job_cgroup *cgroup);

bool job_cgroup_open(struct job_cgroup *cgroup, const struct plan *plan, struct failure *failure) {
  if (plan->cgroup == NULL) return true;
  cgroup->fd = open(plan->cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (cgroup->fd < 0) return fail(failure, STEP_CGROUP, "opening %s", plan->cgroup);
  if (plan->cgroup_io_lift == NULL) return true;
  size_t path_bytes = strlen(plan->cgroup) + 1, lift_bytes = strlen(plan->cgroup_io_lift) + 1;
  cgroup->path = malloc(path_bytes + lift_bytes);
  if (cgroup->path == NULL) fatal("no memory for the path of a cgroup");
  memcpy(cgroup->path, plan->cgroup, path_bytes);
  cgroup->io_lift = memcpy(cgroup->path + path_bytes, plan->cgroup_io_lift, lift_bytes);
  return true;
}

void job_cgroup_end(struct job_cgroup *cgroup, struct wire *wire) {
  if (cgroup->path == NULL) return;
  reply_file(cgroup, wire, TAG_CGROUP_CPU_STAT, "cpu.stat");
  reply_file(cgroup, wire, TAG_CGROUP_MEMORY_PEAK, "memory.peak");
  reply_file(cgroup, wire, TAG_CGROUP_MEMORY_EVENTS, "memory.events");
  reply_file(cgroup, wire, TAG_CGROUP_PIDS_PEAK, "pids.peak");
  reply_file(cgroup, wire, TAG_CGROUP_IO_STAT, "io.stat");
  bool is_removed = lift_io(cgroup) && rmdir(cgroup->path) == 0;
  reply_u32(wire, TAG_CGROUP_REMOVED, is_removed ? 1 : 0);
}

void job_cgroup_close(struct job_cgroup *cgroup) {
  if (cgroup->fd >= 0 && close(cgroup->fd) != 0) fatal("closing a cgroup");
  free(cgroup->path);
  *cgroup = (struct job_cgroup){.fd = -1};
}

/* A file that the host's kernel does not have leaves its field out. */
static void reply_file(const struct job_cgroup *cgroup, struct wire *wire, uint8_t tag, const char *name) {
  char text[COUNTS_BYTES_MAX];
  int fd = openat(cgroup->fd, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t got = read(fd, text, sizeof text);
  if (close(fd) != 0) fatal("closing a file of a cgroup");
  if (got >= 0) reply_bytes(wire, tag, text, (size_t)got);
}

/* Data that is not on the disk yet would be throttled for every process that waits for it. */
static bool lift_io(const struct job_cgroup *cgroup) {
  size_t length = strlen(cgroup->io_lift);
  if (length == 0) return true;
  int fd = openat(cgroup->fd, "io.max", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool is_lifted = write(fd, cgroup->io_lift, length) == (ssize_t)length;
  if (close(fd) != 0) fatal("closing a file of a cgroup");
  return is_lifted;
}
