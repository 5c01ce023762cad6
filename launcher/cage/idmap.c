#define _GNU_SOURCE
#include "cage/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fatal.h"
#include "kernel.h"
#include "protocol.h"
#include "cage/user-namespace.h"

/* The size of the cache, and the most owners in one plan. The entry that was unused longest is replaced. */
#define IDMAPS_MAX 16
/* The holder is killed as soon as its namespace is open; this bound is for a launcher that was killed before. */
#define HOLDER_MS_MAX 10000

struct idmap {
  uint32_t owner_uid, owner_gid, job_uid, job_gid;
  int namespace_fd;
  uint64_t last_use;
};

static struct idmap idmaps[IDMAPS_MAX];
/* Counts plans, so that a plan never replaces an entry that one of its own mounts uses. */
static uint64_t uses;

static bool do_without_map(struct mount_step *step, struct failure *failure);
static bool find_idmap(const struct idmap *wanted, int *namespace_fd, struct failure *failure);
static bool is_same(const struct idmap *left, const struct idmap *right);
static bool make_namespace(struct idmap *idmap, struct failure *failure);
_Noreturn static void hold_namespace(pid_t launcher);
static bool write_map(pid_t holder, const char *name, uint32_t owner, uint32_t job, struct failure *failure);
static bool open_namespace(pid_t holder, int *namespace_fd, struct failure *failure);

bool make_idmaps(struct plan *plan, struct failure *failure) {
  uses++;
  for (size_t i = 0; i < plan->mounts_count; i++) {
    struct mount_step *step = &plan->mounts[i];
    if ((step->flags & MOUNT_IDMAP) == 0) continue;
    if (in_user_namespace()) {
      if (!do_without_map(step, failure)) return false;
      continue;
    }
    struct idmap wanted = {step->uid, step->gid, plan->uid, plan->gid, -1, uses};
    if (!find_idmap(&wanted, &step->idmap_fd, failure)) return false;
  }
  return true;
}

/* In a user namespace the job is the owner already, if the files belong to the launcher's user. */
static bool do_without_map(struct mount_step *step, struct failure *failure) {
  errno = EPERM;
  if (!is_namespace_owner(step->uid)) {
    return fail(failure, STEP_IDMAP, "%s belongs to uid %u; without root a job acts only for the worker's own user",
                step->source, step->uid);
  }
  step->flags &= (uint8_t)~MOUNT_IDMAP;
  step->uid = step->gid = 0;
  return true;
}

static bool find_idmap(const struct idmap *wanted, int *namespace_fd, struct failure *failure) {
  struct idmap *place = &idmaps[0];
  for (size_t i = 0; i < IDMAPS_MAX; i++) {
    if (is_same(&idmaps[i], wanted)) {
      idmaps[i].last_use = uses;
      *namespace_fd = idmaps[i].namespace_fd;
      return true;
    }
    if (idmaps[i].last_use < place->last_use) place = &idmaps[i];
  }
  errno = E2BIG;
  if (place->last_use == uses) return fail(failure, STEP_JOB_MOUNT, "more than %d owners in one plan", IDMAPS_MAX);
  struct idmap made = *wanted;
  if (!make_namespace(&made, failure)) return false;
  if (place->last_use > 0 && close(place->namespace_fd) != 0) fatal("closing a user namespace");
  *place = made;
  *namespace_fd = made.namespace_fd;
  return true;
}

static bool is_same(const struct idmap *left, const struct idmap *right) {
  return left->last_use > 0 && left->owner_uid == right->owner_uid && left->owner_gid == right->owner_gid &&
         left->job_uid == right->job_uid && left->job_gid == right->job_gid;
}

/* A new namespace needs a process; the launcher writes the maps of that process from outside. */
static bool make_namespace(struct idmap *idmap, struct failure *failure) {
  pid_t launcher = getpid();
  pid_t holder = kernel_fork(CLONE_NEWUSER, -1);
  if (holder == 0) hold_namespace(launcher);
  if (holder < 0) return fail(failure, STEP_IDMAP, "making a user namespace");
  bool is_made = write_map(holder, "uid_map", idmap->owner_uid, idmap->job_uid, failure) &&
                 write_map(holder, "gid_map", idmap->owner_gid, idmap->job_gid, failure) &&
                 open_namespace(holder, &idmap->namespace_fd, failure);
  // Reaped with the jobs.
  if (kill(holder, SIGKILL) != 0 && errno != ESRCH) fatal("ending the holder of a user namespace");
  return is_made;
}

static void hold_namespace(pid_t launcher) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != launcher) _exit(1);
  (void)poll(NULL, 0, HOLDER_MS_MAX);
  _exit(0);
}

static bool write_map(pid_t holder, const char *name, uint32_t owner, uint32_t job, struct failure *failure) {
  char path[64], line[48];
  (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)holder, name);
  int length = snprintf(line, sizeof line, "%u %u 1\n", owner, job);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fail(failure, STEP_IDMAP, "opening the %s of a user namespace", name);
  bool is_written = write(fd, line, (size_t)length) == length || fail(failure, STEP_IDMAP, "writing the %s", name);
  if (close(fd) != 0) fatal("closing the %s of a user namespace", name);
  return is_written;
}

static bool open_namespace(pid_t holder, int *namespace_fd, struct failure *failure) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)holder);
  *namespace_fd = open(path, O_RDONLY | O_CLOEXEC);
  return *namespace_fd >= 0 || fail(failure, STEP_IDMAP, "opening a user namespace");
}
