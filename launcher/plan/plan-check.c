#define _GNU_SOURCE
#include "plan/plan-check.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "protocol.h"

static bool check_texts(const struct plan *plan, struct failure *failure);
static bool check_parts(const struct plan *plan, struct failure *failure);
static bool check_mount(const struct mount_step *step, struct failure *failure);
static bool check_job_mount(const struct mount_step *step, struct failure *failure);
static bool check_rlimits(const struct plan *plan, struct failure *failure);
static bool check_masks(const struct plan *plan, struct failure *failure);
static void mark_own_mounts(struct plan *plan);
static bool check_home(const struct plan *plan, struct failure *failure);
static bool is_host_path(const char *path);
static bool is_cage_path(const char *path);
static bool has_plain_names(const char *path);
static bool is_beneath(const char *path, const char *directory);

bool plan_check(struct plan *plan, struct failure *failure) {
  errno = EINVAL;
  if (!check_texts(plan, failure)) return false;
  if (!check_parts(plan, failure)) return false;
  for (size_t i = 0; i < plan->mounts_count; i++) {
    if (!check_mount(&plan->mounts[i], failure)) return false;
  }
  if (!check_rlimits(plan, failure) || !check_masks(plan, failure) || !check_home(plan, failure)) return false;
  mark_own_mounts(plan);
  return true;
}

static bool check_texts(const struct plan *plan, struct failure *failure) {
  if (plan->argv[0] == NULL || plan->argv[0][0] == '\0') return fail(failure, STEP_PLAN, "there is no command");
  for (char **entry = plan->env; *entry != NULL; entry++) {
    const char *equals = strchr(*entry, '=');
    if (equals == NULL || equals == *entry) return fail(failure, STEP_PLAN, "an environment entry has no name");
  }
  if (plan->cwd == NULL || !is_host_path(plan->cwd)) return fail(failure, STEP_PLAN, "cwd is no absolute path");
  if (plan->stdout_file == NULL || !is_host_path(plan->stdout_file) || plan->stderr_file == NULL ||
      !is_host_path(plan->stderr_file)) {
    return fail(failure, STEP_PLAN, "an output file is no absolute path");
  }
  if (plan->stdin_file != NULL && (!is_host_path(plan->stdin_file) || plan->stdin_bytes != NULL)) {
    return fail(failure, STEP_PLAN, "the input file is no absolute path, or one input too many");
  }
  if (plan->cgroup != NULL && !is_host_path(plan->cgroup)) {
    return fail(failure, STEP_PLAN, "the cgroup is no absolute path");
  }
  if (plan->give_dir != NULL && !is_host_path(plan->give_dir)) {
    return fail(failure, STEP_PLAN, "the directory to give is no absolute path");
  }
  if (plan->hold_written_ms != 0 && plan->hold_ms == 0) {
    return fail(failure, STEP_PLAN, "there is no output that could be held");
  }
  if (plan->cgroup_io_lift != NULL && plan->cgroup == NULL) {
    return fail(failure, STEP_PLAN, "there is no cgroup whose limit could be lifted");
  }
  if (plan->hostname != NULL && (plan->hostname[0] == '\0' || strlen(plan->hostname) > HOSTNAME_BYTES_MAX)) {
    return fail(failure, STEP_PLAN, "the hostname has not 1 to %u bytes", HOSTNAME_BYTES_MAX);
  }
  return true;
}

static bool check_parts(const struct plan *plan, struct failure *failure) {
  if (plan->mounts_count > 0 && !plan_asks(plan, PROTECT_MOUNT_NS)) {
    return fail(failure, STEP_PLAN, "mounts need a mount namespace");
  }
  if (plan->hostname != NULL && !plan_asks(plan, PROTECT_UTS_NS)) {
    return fail(failure, STEP_PLAN, "a hostname needs a uts namespace");
  }
  if (plan->listen_port != 0 && !plan_asks(plan, PROTECT_NET_NS)) {
    return fail(failure, STEP_PLAN, "a port to listen on needs a network of its own");
  }
  if (plan->give_dir != NULL && !plan_asks(plan, PROTECT_IDS)) {
    return fail(failure, STEP_PLAN, "there is no user to give a directory to");
  }
  uint32_t for_owners = PROTECT_IDS | PROTECT_CAPABILITIES | PROTECT_SECCOMP;
  if (plan_maps_owners(plan) && (plan->protections & for_owners) != for_owners) {
    return fail(failure, STEP_PLAN, "idmapped mounts need ids, capabilities and seccomp");
  }
  if (plan_asks(plan, PROTECT_SECCOMP) && !plan_asks(plan, PROTECT_NO_NEW_PRIVS)) {
    return fail(failure, STEP_PLAN, "seccomp needs no-new-privs");
  }
  return true;
}

static bool check_mount(const struct mount_step *step, struct failure *failure) {
  bool is_bind = step->kind == MOUNT_BIND_RO || step->kind == MOUNT_BIND_RW;
  bool takes_mode = step->kind == MOUNT_TMPFS || step->kind == MOUNT_FILE || step->kind == MOUNT_DIR;
  bool is_job = step->kind == MOUNT_JOB;
  bool takes_source = is_bind || is_job || step->kind == MOUNT_SYMLINK || step->kind == MOUNT_FILE;
  if (!is_cage_path(step->target)) return fail(failure, STEP_PLAN, "mount target %s is not allowed", step->target);
  if (is_bind && !is_host_path(step->source)) return fail(failure, STEP_PLAN, "%s: bad source", step->target);
  if (step->kind == MOUNT_SYMLINK && (step->source_bytes == 0 || step->source_bytes > PATH_BYTES_MAX)) {
    return fail(failure, STEP_PLAN, "%s: the link points nowhere", step->target);
  }
  if (!takes_source && step->source_bytes != 0) return fail(failure, STEP_PLAN, "%s takes no source", step->target);
  if (!takes_mode && step->mode != 0) return fail(failure, STEP_PLAN, "%s takes no mode", step->target);
  if (step->mode > 01777) return fail(failure, STEP_PLAN, "%s: mode %o is not allowed", step->target, step->mode);
  if ((step->kind == MOUNT_TMPFS) != (step->size != 0)) return fail(failure, STEP_PLAN, "%s: size", step->target);
  if (!is_bind && (step->flags & MOUNT_SKIP_MISSING) != 0) {
    return fail(failure, STEP_PLAN, "%s has no source that could be missing", step->target);
  }
  if (is_job) return check_job_mount(step, failure);
  bool has_job_flags = (step->flags & ~(MOUNT_SKIP_MISSING | MOUNT_PER_JOB)) != 0;
  if (has_job_flags || step->uid != 0 || step->gid != 0) {
    return fail(failure, STEP_PLAN, "%s: flags or ids of a mount for one job", step->target);
  }
  return true;
}

static bool check_job_mount(const struct mount_step *step, struct failure *failure) {
  bool is_mapped = (step->flags & MOUNT_IDMAP) != 0;
  if (!is_cage_path(step->source)) return fail(failure, STEP_PLAN, "mount source %s is not allowed", step->source);
  if ((step->flags & MOUNT_PER_JOB) != 0) return fail(failure, STEP_PLAN, "%s is for one job already", step->target);
  if (!is_mapped && (step->uid != 0 || step->gid != 0)) {
    return fail(failure, STEP_PLAN, "%s: an owner without a map", step->target);
  }
  // The kernel uses this number for "no id".
  if (is_mapped && (step->uid == UINT32_MAX || step->gid == UINT32_MAX)) {
    return fail(failure, STEP_PLAN, "%s: there is no such owner", step->target);
  }
  return true;
}

static bool check_rlimits(const struct plan *plan, struct failure *failure) {
  for (size_t i = 0; i < plan->rlimits_count; i++) {
    const struct rlimit_step *step = &plan->rlimits[i];
    if (step->resource >= RLIM_NLIMITS) return fail(failure, STEP_PLAN, "there is no rlimit %u", step->resource);
    if (step->soft > step->hard) return fail(failure, STEP_PLAN, "rlimit %u: soft above hard", step->resource);
  }
  return true;
}

static bool check_masks(const struct plan *plan, struct failure *failure) {
  size_t bytes = 0;
  for (size_t i = 0; i < plan->masks_count; i++) {
    if (plan->masks[i][0] == '\0') return fail(failure, STEP_PLAN, "a mask is empty");
    bytes += strlen(plan->masks[i]);
  }
  return bytes <= MASK_BYTES_MAX || fail(failure, STEP_PLAN, "the masks have more than %u bytes", MASK_BYTES_MAX);
}

/* Two levels below the root at least: the upper one may be made and removed with it. */
static bool check_home(const struct plan *plan, struct failure *failure) {
  if (plan->home == NULL) {
    return plan->home_steps_count == 0 || fail(failure, STEP_PLAN, "there is no home to make anything in");
  }
  if (!is_cage_path(plan->home) || strchr(plan->home + 1, '/') == NULL) {
    return fail(failure, STEP_PLAN, "home %s is not allowed", plan->home);
  }
  if (plan->give_dir != NULL) return fail(failure, STEP_PLAN, "a home is given to the job already");
  for (size_t i = 0; i < plan->home_steps_count; i++) {
    if (!has_plain_names(plan->home_steps[i].path)) return fail(failure, STEP_PLAN, "a path in the home is not allowed");
  }
  return true;
}

static void mark_own_mounts(struct plan *plan) {
  for (size_t i = 0; i < plan->mounts_count; i++) {
    struct mount_step *step = &plan->mounts[i];
    step->is_own = step->kind == MOUNT_BIND_RW || step->kind == MOUNT_TMPFS || step->kind == MOUNT_PROC ||
                   step->kind == MOUNT_JOB || (step->flags & MOUNT_PER_JOB) != 0;
    // The plan has the kind of the source, so that the launcher itself never touches it: it may be on a dead disk.
    if (step->kind == MOUNT_JOB) {
      step->source_kind = (step->flags & MOUNT_ONE_FILE) != 0 ? SOURCE_FILE : SOURCE_DIRECTORY;
    }
    // Made with the home, so the source does not exist yet.
    bool is_in_home = plan->home != NULL && step->kind == MOUNT_BIND_RW && is_beneath(step->source, plan->home);
    if (is_in_home) step->source_kind = SOURCE_DIRECTORY;
    for (size_t before = 0; before < i && !step->is_nested; before++) {
      const struct mount_step *above = &plan->mounts[before];
      step->is_nested = above->is_own && is_beneath(step->target, above->target);
    }
    step->is_own = step->is_own || step->is_nested;
  }
}

static bool is_host_path(const char *path) { return path[0] == '/' && strlen(path) <= PATH_BYTES_MAX; }

/* Absolute, not the root itself, and no component that is empty, "." or "..". */
static bool is_cage_path(const char *path) { return is_host_path(path) && has_plain_names(path + 1); }

/* A relative path with no component that is empty, "." or "..". */
static bool has_plain_names(const char *path) {
  for (const char *name = path; name != NULL;) {
    size_t length = strcspn(name, "/");
    if (length == 0) return false;
    if (name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.'))) return false;
    name = name[length] == '/' ? name + length + 1 : NULL;
  }
  return true;
}

static bool is_beneath(const char *path, const char *directory) {
  size_t length = strlen(directory);
  return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}
