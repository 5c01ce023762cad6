#define _GNU_SOURCE
#include "process/end-descendants.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each round kills a whole generation; a tree that is deeper than this is still growing. */
#define ROUNDS_MAX 1000

static bool kill_children(void);

void end_descendants(void) {
  for (int round = 0; round < ROUNDS_MAX; round++) {
    if (!kill_children()) return;
    // Waits for one, then reaps all that are dead, so a round is a generation and not a process.
    if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD) return;
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  }
}

/* False when they cannot be listed; then there is no process to wait for. */
static bool kill_children(void) {
  char path[64];
  int child;
  (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  FILE *children = fopen(path, "re");
  if (children == NULL) return false;
  // Only this process can reap its children, so their pids are still valid here.
  while (fscanf(children, "%d", &child) == 1) (void)kill((pid_t)child, SIGKILL);
  (void)fclose(children);
  return true;
}
