#ifndef WRIT_FAILURE_H
#define WRIT_FAILURE_H

#include <stdbool.h>

/* The step names that FAILED carries. They are API: the worker maps them to messages for its users. */
#define STEP_PLAN "plan"
#define STEP_CAPACITY "capacity"
#define STEP_OUTPUT "output"
#define STEP_CGROUP "cgroup"
#define STEP_CLONE "clone"
#define STEP_LAUNCHER "launcher"
#define STEP_GIVE "give"
#define STEP_HOME "home"
#define STEP_NAMESPACE "namespace"
#define STEP_MOUNT "mount"
#define STEP_JOB_MOUNT "job-mount"
#define STEP_IDMAP "idmap"
#define STEP_HOSTNAME "hostname"
#define STEP_NETWORK "network"
#define STEP_JOB_NAMESPACE "job-namespace"
#define STEP_SESSION "session"
#define STEP_STDIO "stdio"
#define STEP_DESCRIPTORS "descriptors"
#define STEP_RLIMIT "rlimit"
#define STEP_IDS "ids"
#define STEP_CAPABILITIES "capabilities"
#define STEP_NO_NEW_PRIVS "no-new-privs"
#define STEP_DEATH_SIGNAL "death-signal"
#define STEP_CWD "cwd"
#define STEP_SIGNALS "signals"
#define STEP_SECCOMP "seccomp"
#define STEP_EXEC "exec"

/* Why a start failed. Small and flat, because it travels through a pipe in one atomic write. */
struct failure {
  int error;
  char step[24];
  char message[200];
};

/* Notes the step, the present errno and what was tried. Always false, so that a step can `return fail(…)`. */
bool fail(struct failure *failure, const char *step, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
