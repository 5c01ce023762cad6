/* Starts /bin/true as fast as the kernel allows, with so many under way at once: the floor that nothing caged goes below. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  double until = seconds() + atof(argv[1]);
  int at_once = atoi(argv[2]);
  char *command[] = {"/bin/true", NULL};
  int started = 0;
  int ended = 0;
  double begin = seconds();
  while (seconds() < until || ended < started) {
    while (seconds() < until && started - ended < at_once) {
      pid_t pid;
      if (posix_spawn(&pid, command[0], NULL, NULL, command, environ) != 0) return 1;
      started++;
    }
    if (wait(NULL) < 0 && errno != EINTR) return 1;
    ended++;
  }
  printf("%f\n", ended / (seconds() - begin));
  return 0;
}
