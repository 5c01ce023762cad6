#define _GNU_SOURCE
#include "open-beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fatal.h"
#include "kernel.h"
#include "protocol.h"

/* A rename on the path makes the kernel give up with EAGAIN; this many in a row are an attack. */
#define TRIES_MAX 64

struct request {
  char dir[PATH_BYTES_MAX + 1], path[PATH_BYTES_MAX + 1];
  uint32_t how;
};

/* The files that the worker has not closed yet; -1 is a free place. */
static int open_fds[OPEN_FILES_MAX];
static uint32_t open_count;

static bool read_request(const struct frame *frame, struct request *request);
static bool read_path(const struct field *field, char *path);
static int open_beneath(const struct request *request);
static int open_base(const char *dir, struct stat *base);
static int check_base(int dir_fd, struct stat *base);
static int open_resolved(int dir_fd, const struct request *request, uid_t owner);
static int check_opened(int fd, uint32_t how, uid_t owner);
static void close_fd(int fd);

bool answer_open(struct launcher *launcher, const struct frame *frame) {
  static struct request request;
  struct wire *wire = &launcher->wire;
  if (!read_request(frame, &request)) return false;
  errno = EMFILE;
  int fd = open_count < OPEN_FILES_MAX ? open_beneath(&request) : -1;
  if (fd < 0) {
    int error = errno;
    reply_begin(wire, FRAME_OPEN_FAILED, frame->id);
    reply_u32(wire, TAG_ERRNO, (uint32_t)error);
  } else {
    open_fds[open_count++] = fd;
    reply_begin(wire, FRAME_OPENED, frame->id);
    reply_u32(wire, TAG_FD, (uint32_t)fd);
  }
  reply_end(wire);
  return true;
}

bool answer_close(const struct frame *frame) {
  size_t position = 0;
  struct field field;
  uint32_t fd;
  if (wire_field(frame, &position, &field) != WIRE_OK || field.tag != TAG_FD || !field_u32(&field, &fd)) return false;
  if (wire_field(frame, &position, &field) != WIRE_EMPTY) return false;
  // Only these files can be closed; otherwise a wrong number would close a pipe of a job.
  for (uint32_t i = 0; i < open_count; i++) {
    if ((uint32_t)open_fds[i] != fd) continue;
    close_fd(open_fds[i]);
    open_fds[i] = open_fds[--open_count];
    return true;
  }
  return false;
}

static bool read_request(const struct frame *frame, struct request *request) {
  size_t position = 0;
  struct field field;
  enum wire_result result;
  unsigned seen = 0;
  while ((result = wire_field(frame, &position, &field)) == WIRE_OK) {
    if (field.tag < TAG_DIR || field.tag > TAG_HOW) return false;
    unsigned bit = 1u << (field.tag - TAG_DIR);
    bool is_fine = (field.tag == TAG_DIR && read_path(&field, request->dir)) ||
                   (field.tag == TAG_PATH && read_path(&field, request->path)) ||
                   (field.tag == TAG_HOW && field_u32(&field, &request->how));
    if (!is_fine || (seen & bit) != 0) return false;
    seen |= bit;
  }
  if (result != WIRE_EMPTY || seen != 7) return false;
  uint32_t kind = request->how & ~(uint32_t)OPEN_SAME_MOUNT;
  return kind == OPEN_READ || kind == OPEN_CREATE || kind == OPEN_DIRECTORY;
}

static bool read_path(const struct field *field, char *path) {
  if (field->length == 0 || field->length > PATH_BYTES_MAX) return false;
  if (memchr(field->bytes, 0, field->length) != NULL) return false;
  memcpy(path, field->bytes, field->length);
  path[field->length] = '\0';
  return true;
}

static int open_beneath(const struct request *request) {
  struct stat base;
  int dir_fd = open_base(request->dir, &base);
  if (dir_fd < 0) return -1;
  int fd = open_resolved(dir_fd, request, base.st_uid);
  int error = errno;
  close_fd(dir_fd);
  errno = error;
  return fd;
}

/*
 * The worker trusts this directory, so links on the way to it are the administrator's business. A link of /proc is not:
 * it leads to wherever some process happens to be, such as /proc/<pid>/root of a cage.
 */
static int open_base(const char *dir, struct stat *base) {
  errno = EINVAL;
  if (dir[0] != '/') return -1;
  int dir_fd = kernel_open_plain(dir, O_PATH | O_DIRECTORY, KERNEL_RESOLVE_NO_MAGICLINKS);
  if (dir_fd < 0) return -1;
  int error = check_base(dir_fd, base);
  if (error == 0) return dir_fd;
  close_fd(dir_fd);
  errno = error;
  return -1;
}

/* A place where files are kept, not a view of the kernel's own state. Returns 0 or an errno. */
static int check_base(int dir_fd, struct stat *base) {
  struct statfs system;
  if (fstat(dir_fd, base) != 0 || fstatfs(dir_fd, &system) != 0) return errno;
  switch ((unsigned long)system.f_type) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC: return EINVAL;
    default: return 0;
  }
}

static int open_resolved(int dir_fd, const struct request *request, uid_t owner) {
  uint64_t resolve = (request->how & OPEN_SAME_MOUNT) != 0 ? KERNEL_RESOLVE_NO_XDEV : 0;
  // Non-blocking, or a FIFO put there by a job would stop the launcher and every other job.
  uint64_t flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
  uint64_t mode = 0;
  if ((request->how & OPEN_DIRECTORY) != 0) flags = O_RDONLY | O_DIRECTORY;
  if ((request->how & OPEN_CREATE) != 0) {
    flags = O_WRONLY | O_CREAT | O_EXCL;
    mode = 0600;
  }
  for (int tries = 0; tries < TRIES_MAX; tries++) {
    int fd = kernel_open_beneath(dir_fd, request->path, flags, mode, resolve);
    if (fd >= 0) return check_opened(fd, request->how, owner);
    if (errno != EAGAIN) return -1;
  }
  return -1;
}

/*
 * A job must not pass devices, sockets and FIFOs to the worker, nor a file of another user or one with a second name: a
 * job can make a hard link to a file that it cannot read, and the launcher could read it.
 */
static int check_opened(int fd, uint32_t how, uid_t owner) {
  struct stat found;
  int error = 0;
  bool is_directory_wanted = (how & OPEN_DIRECTORY) != 0;
  if (fstat(fd, &found) != 0) error = errno;
  else if (!is_directory_wanted && S_ISDIR(found.st_mode)) error = EISDIR;
  else if (is_directory_wanted ? !S_ISDIR(found.st_mode) : !S_ISREG(found.st_mode)) error = EINVAL;
  else if ((how & OPEN_CREATE) == 0 && found.st_uid != owner) error = EPERM;
  else if (!is_directory_wanted && found.st_nlink != 1) error = EMLINK;
  if (error == 0) return fd;
  close_fd(fd);
  errno = error;
  return -1;
}

static void close_fd(int fd) {
  if (close(fd) != 0) fatal("closing a descriptor");
}
