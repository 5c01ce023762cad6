#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../open-beneath.h"
#include "../protocol.h"

/*
 * `race-open <new directory> <opens>`: opens files beneath a directory while another process exchanges what lies on
 * their paths for ways out. The question is put to the launcher's own code as a frame; only the socket is left out.
 * The control looks first and opens afterwards, as a program without openat2 would. Prints one line of JSON.
 */

#define RENAME_EXCHANGE_FLAG 2u

struct exchange {
  const char *path, *other;
};

struct tally {
  long tries, opened, refused, escapes;
};

/* A directory for a link to one outside, a file for a link to one, and a directory for one that has another parent. */
static const struct exchange exchanges[] = {
    {"base/sub", "base/link"},
    {"base/leaf", "base/leaf-link"},
    {"base/room/deep", "outside/deep"},
};
static const char *const paths[] = {"sub/secret", "leaf", "room/deep/../secret"};
#define PATHS_COUNT (sizeof paths / sizeof paths[0])

static char base[PATH_MAX];
static struct stat secret;
static struct launcher launcher;

static _Noreturn void give_up(const char *what) {
  perror(what);
  exit(3);
}

static void make_file(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || close(fd) != 0) give_up(path);
}

static void lay_tree(const char *dir) {
  static const char *const dirs[] = {"base", "base/sub", "base/room", "base/room/deep", "outside", "outside/deep"};
  if (mkdir(dir, 0700) != 0 || chdir(dir) != 0) give_up(dir);
  for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
    if (mkdir(dirs[i], 0700) != 0) give_up(dirs[i]);
  }
  make_file("base/sub/secret");
  make_file("base/leaf");
  make_file("base/room/secret");
  make_file("outside/secret");
  if (symlink("../outside", "base/link") != 0 || symlink("../outside/secret", "base/leaf-link") != 0) give_up("symlink");
  if (stat("outside/secret", &secret) != 0 || realpath("base", base) == NULL) give_up("outside/secret");
}

static pid_t start_exchanging(volatile long *rounds) {
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) give_up("fork");
  if (pid > 0) return pid;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(3);
  for (;; (*rounds)++) {
    for (size_t i = 0; i < sizeof exchanges / sizeof exchanges[0]; i++) {
      if (renameat2(AT_FDCWD, exchanges[i].path, AT_FDCWD, exchanges[i].other, RENAME_EXCHANGE_FLAG) != 0) _exit(3);
    }
  }
}

static bool is_secret(int fd) {
  struct stat found;
  if (fstat(fd, &found) != 0) give_up("fstat");
  return found.st_dev == secret.st_dev && found.st_ino == secret.st_ino;
}

static size_t put_field(uint8_t *to, uint8_t tag, const void *bytes, uint32_t length) {
  to[0] = tag;
  for (int i = 0; i < 4; i++) to[1 + i] = (uint8_t)(length >> (8 * i));
  memcpy(to + FIELD_HEAD_BYTES, bytes, length);
  return FIELD_HEAD_BYTES + length;
}

static void open_at_the_door(const char *path, struct tally *tally) {
  static uint8_t fields[3 * FIELD_HEAD_BYTES + 2 * PATH_MAX + 4];
  const uint8_t how[4] = {OPEN_READ};
  struct frame frame = {.type = FRAME_OPEN, .id = 1, .fields = fields};
  frame.fields_bytes = put_field(fields, TAG_DIR, base, (uint32_t)strlen(base));
  frame.fields_bytes += put_field(fields + frame.fields_bytes, TAG_PATH, path, (uint32_t)strlen(path));
  frame.fields_bytes += put_field(fields + frame.fields_bytes, TAG_HOW, how, sizeof how);
  if (!answer_open(&launcher, &frame)) give_up("the question was not understood");

  const uint8_t *answer = launcher.wire.out + 4;
  uint32_t value = read_u32(answer + FRAME_HEAD_BYTES + FIELD_HEAD_BYTES);
  launcher.wire.out_used = 0;
  tally->tries++;
  if (answer[0] != FRAME_OPENED) {
    // Only these are refusals: anything else would be a fault of this program, and no proof.
    if (value != ELOOP && value != EXDEV && value != EAGAIN) {
      errno = (int)value;
      give_up(path);
    }
    tally->refused++;
    return;
  }
  tally->opened++;
  if (is_secret((int)value)) tally->escapes++;
  frame.type = FRAME_CLOSE;
  uint8_t fd[4];
  for (int i = 0; i < 4; i++) fd[i] = (uint8_t)(value >> (8 * i));
  frame.fields_bytes = put_field(fields, TAG_FD, fd, sizeof fd);
  if (!answer_close(&frame)) give_up("the file could not be closed");
}

static void open_after_a_look(const char *path, struct tally *tally) {
  char whole[PATH_MAX * 2], real[PATH_MAX];
  (void)snprintf(whole, sizeof whole, "%s/%s", base, path);
  tally->tries++;
  size_t length = strlen(base);
  bool looks_fine = realpath(whole, real) != NULL && strncmp(real, base, length) == 0 && real[length] == '/';
  int fd = looks_fine ? open(whole, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) {
    tally->refused++;
    return;
  }
  tally->opened++;
  if (is_secret(fd)) tally->escapes++;
  if (close(fd) != 0) give_up("close");
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  long opens = atol(argv[2]);
  lay_tree(argv[1]);
  wire_open(&launcher.wire, -1);
  volatile long *rounds = mmap(NULL, sizeof *rounds, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (rounds == MAP_FAILED) give_up("mmap");
  pid_t other = start_exchanging(rounds);

  struct tally door = {0}, naive = {0};
  // One escape is enough to show that the race is real; the control ends there.
  for (long i = 0; i < opens && naive.escapes == 0; i++) open_after_a_look(paths[(size_t)i % PATHS_COUNT], &naive);
  long rounds_before = *rounds;
  for (long i = 0; i < opens; i++) open_at_the_door(paths[(size_t)i % PATHS_COUNT], &door);
  long rounds_meanwhile = *rounds - rounds_before;

  int status;
  if (waitpid(other, &status, WNOHANG) != 0) give_up("the exchanging ended early");
  if (kill(other, SIGKILL) != 0 || waitpid(other, &status, 0) != other) give_up("kill");
  printf("{\"naive\":{\"tries\":%ld,\"escapes\":%ld},", naive.tries, naive.escapes);
  printf("\"door\":{\"tries\":%ld,\"opened\":%ld,\"refused\":%ld,\"escapes\":%ld},\"rounds\":%ld}\n", door.tries,
         door.opened, door.refused, door.escapes, rounds_meanwhile);
  return 0;
}
