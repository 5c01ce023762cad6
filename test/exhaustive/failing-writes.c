/*
 * A library that is loaded before libc and fails system calls that write to files below one folder. The program under test
 * and this library share a page: the program says which call is to fail and how, and reads which calls there were.
 *
 * WRIT_FAULT_FOLDER is the folder, with a slash at its end; WRIT_FAULT_PAGE is the file of the shared page.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALL_WRITE = 1, CALL_SYNC = 2, CALL_SIZE = 3 };
enum { FAULT_ERROR = 1, FAULT_SHORT = 2 };
enum { CALLS_MAX = 4096, NAME_MAX_BYTES = 16 };

struct call {
  int32_t kind;
  int32_t bytes;
  char suffix[NAME_MAX_BYTES];
};

/* The layout is read in write-faults.ts. All numbers are those of the machine. */
struct page {
  int32_t is_watched;
  /* The number of the call that fails, counted from 1; 0 for none. */
  int32_t fails_at;
  int32_t fault;
  int32_t error;
  /* Every later call fails too. */
  int32_t is_lasting;
  int32_t is_struck;
  int32_t calls;
  /* Writes to the log after its last sync that succeeded. A checkpoint that fails half way leaves the log as it is. */
  int32_t unsynced;
  struct call call[CALLS_MAX];
};

static struct page *page;
static char folder[4096];
static size_t folder_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) {
    fprintf(stderr, "failing-writes: libc has no %s\n", name);
    abort();
  }
  return found;
}

__attribute__((constructor)) static void open_page(void) {
  const char *of_folder = getenv("WRIT_FAULT_FOLDER");
  const char *of_page = getenv("WRIT_FAULT_PAGE");
  if (of_folder == NULL || of_page == NULL) return;
  folder_bytes = strlen(of_folder);
  if (folder_bytes >= sizeof folder) abort();
  memcpy(folder, of_folder, folder_bytes + 1);
  int fd = open(of_page, O_RDWR | O_CLOEXEC);
  if (fd < 0) abort();
  void *mapped = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) abort();
  page = mapped;
}

/* What follows the name of the database in the path of this descriptor: "" for itself, "-wal" for its log. NULL elsewhere. */
static const char *suffix_of(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  if (length < 0) return NULL;
  path[length] = '\0';
  if (strncmp(path, folder, folder_bytes) != 0) return NULL;
  const char *name = path + folder_bytes;
  const char *dash = strchr(name, '-');
  return dash == NULL ? "" : dash;
}

/* What this call has to do: 0 pass, or a fault. */
static int next_fault(int fd, int kind, size_t bytes) {
  char path[4096];
  if (page == NULL || !page->is_watched) return 0;
  int saved = errno;
  const char *suffix = suffix_of(fd, path, sizeof path);
  errno = saved;
  if (suffix == NULL) return 0;
  pthread_mutex_lock(&lock);
  int number = ++page->calls;
  if (number <= CALLS_MAX) {
    struct call *call = &page->call[number - 1];
    call->kind = kind;
    call->bytes = (int32_t)bytes;
    strncpy(call->suffix, suffix, NAME_MAX_BYTES - 1);
    call->suffix[NAME_MAX_BYTES - 1] = '\0';
  }
  int is_first = page->fails_at != 0 && number == page->fails_at;
  int is_later = page->is_lasting && page->is_struck;
  if (is_first) page->is_struck = 1;
  int fault = is_first ? page->fault : is_later ? FAULT_ERROR : 0;
  int is_log = strcmp(suffix, "-wal") == 0;
  if (is_log && kind == CALL_WRITE) page->unsynced++;
  if (is_log && kind == CALL_SYNC && fault == 0) page->unsynced = 0;
  pthread_mutex_unlock(&lock);
  return fault;
}

static int fails(int fault) {
  if (fault == 0) return 0;
  errno = page->error;
  return 1;
}

/* Half of the bytes, or the error if there is no half. */
#define WRITE_AS_TOLD(fd, bytes, whole, half)          \
  int fault = next_fault(fd, CALL_WRITE, bytes);       \
  if (fault == FAULT_SHORT && (bytes) > 1) return half; \
  return fails(fault) ? -1 : (whole)

ssize_t write(int fd, const void *data, size_t bytes) {
  static ssize_t (*libc)(int, const void *, size_t);
  if (libc == NULL) libc = real("write");
  WRITE_AS_TOLD(fd, bytes, libc(fd, data, bytes), libc(fd, data, bytes / 2));
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at) {
  static ssize_t (*libc)(int, const void *, size_t, off64_t);
  if (libc == NULL) libc = real("pwrite64");
  WRITE_AS_TOLD(fd, bytes, libc(fd, data, bytes, at), libc(fd, data, bytes / 2, at));
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
  return pwrite64(fd, data, bytes, at);
}

static int sync_as_told(int fd, int (*libc)(int)) {
  return fails(next_fault(fd, CALL_SYNC, 0)) ? -1 : libc(fd);
}

int fsync(int fd) {
  static int (*libc)(int);
  if (libc == NULL) libc = real("fsync");
  return sync_as_told(fd, libc);
}

int fdatasync(int fd) {
  static int (*libc)(int);
  if (libc == NULL) libc = real("fdatasync");
  return sync_as_told(fd, libc);
}

int ftruncate64(int fd, off64_t length) {
  static int (*libc)(int, off64_t);
  if (libc == NULL) libc = real("ftruncate64");
  return fails(next_fault(fd, CALL_SIZE, (size_t)length)) ? -1 : libc(fd, length);
}

int ftruncate(int fd, off_t length) {
  return ftruncate64(fd, length);
}

int fallocate64(int fd, int mode, off64_t at, off64_t length) {
  static int (*libc)(int, int, off64_t, off64_t);
  if (libc == NULL) libc = real("fallocate64");
  return fails(next_fault(fd, CALL_SIZE, (size_t)length)) ? -1 : libc(fd, mode, at, length);
}

int fallocate(int fd, int mode, off_t at, off_t length) {
  return fallocate64(fd, mode, at, length);
}
