#define _GNU_SOURCE
#include "rights/privileges.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cage/user-namespace.h"

/* Linux 5.9 has 41 capabilities, and a kernel that can build a cage has no fewer. Its sets have 64 bits. */
#define CAPABILITIES_MIN 41u
#define CAPABILITIES_MAX 64u

static bool keep_capabilities(uint32_t kept, struct failure *failure);

bool empty_inheritable_sets(void) {
  unsigned capability = 0;
  // Each drop makes and frees a set of credentials: 41 of them for each job would be a twentieth of its start.
  while (capability < CAPABILITIES_MAX && prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) return false;
    capability++;
  }
  return capability >= CAPABILITIES_MIN && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0;
}

/* The bare system calls: the C library's would change all threads that share the memory. */
bool change_ids(uint32_t uid, uint32_t gid, struct failure *failure) {
  // In a user namespace the groups cannot be dropped. The job sees them as nogroup, but they still give access to files.
  if (!in_user_namespace() && syscall(SYS_setgroups, 0, NULL) != 0) return fail(failure, STEP_IDS, "leaving all groups");
  if (syscall(SYS_setresgid, gid, gid, gid) != 0) return fail(failure, STEP_IDS, "changing to gid %u", gid);
  if (syscall(SYS_setresuid, uid, uid, uid) != 0) return fail(failure, STEP_IDS, "changing to uid %u", uid);
  return true;
}

bool drop_capabilities(struct failure *failure) { return keep_capabilities(0, failure); }

bool keep_kill_capability(struct failure *failure) { return keep_capabilities(1u << CAP_KILL, failure); }

bool forbid_new_privileges(struct failure *failure) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) return true;
  return fail(failure, STEP_NO_NEW_PRIVS, "forbidding new privileges");
}

static bool keep_capabilities(uint32_t kept, struct failure *failure) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  memset(sets, 0, sizeof sets);
  sets[0].effective = kept;
  sets[0].permitted = kept;
  if (syscall(SYS_capset, &header, sets) == 0) return true;
  return fail(failure, STEP_CAPABILITIES, "dropping capabilities");
}
