#define _GNU_SOURCE
#include "rights/set-id-filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Installed in addition to the filter that every job has, which checks the architecture: the strictest answer of all
 * filters applies. openat2 passes its mode by pointer, which a filter cannot read; without it programs use openat.
 */

#define SET_ID_BITS (S_ISUID | S_ISGID)
/* Without O_CREAT or O_TMPFILE (here without its O_DIRECTORY bit) the mode argument is undefined. */
#define MAKING_FLAGS (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define LOAD_CALL LOAD(offsetof(struct seccomp_data, nr))
/* The low half, on little-endian machines; seccomp-filter.c refuses to compile on others. */
#define LOAD_ARGUMENT(index) LOAD(offsetof(struct seccomp_data, args) + (index) * sizeof(uint64_t))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define ALLOW ANSWER(SECCOMP_RET_ALLOW)
#define REFUSE(error) ANSWER(SECCOMP_RET_ERRNO | (error))

/* For one call: refused when the argument has a set-id bit, else allowed. */
#define CHECK_MODE(call, mode)                                                                        \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4), LOAD_ARGUMENT(mode),                             \
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SET_ID_BITS, 0, 1), REFUSE(EPERM), ALLOW
/* The same for a call whose flags say whether there is a mode. */
#define CHECK_OPEN(call, flags, mode)                                                                 \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 6), LOAD_ARGUMENT(flags),                            \
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAKING_FLAGS, 0, 3), LOAD_ARGUMENT(mode),                  \
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SET_ID_BITS, 0, 1), REFUSE(EPERM), ALLOW

static const struct sock_filter code[] = {
    LOAD_CALL,
#if defined(__x86_64__)
    CHECK_OPEN(SYS_open, 1, 2),
    CHECK_MODE(SYS_creat, 1),
    CHECK_MODE(SYS_chmod, 1),
    CHECK_MODE(SYS_mknod, 1),
#endif
    CHECK_OPEN(SYS_openat, 2, 3),
    CHECK_MODE(SYS_fchmod, 1),
    CHECK_MODE(SYS_fchmodat, 2),
    CHECK_MODE(452 /* fchmodat2 */, 2),
    CHECK_MODE(SYS_mknodat, 2),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 437 /* openat2 */, 0, 1),
    REFUSE(ENOSYS),
    ALLOW,
};

bool forbid_set_id_files(struct failure *failure) {
  struct sock_fprog program = {
      .len = sizeof code / sizeof code[0],
      .filter = (struct sock_filter *)(uintptr_t)code,
  };
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &program) == 0) return true;
  return fail(failure, STEP_SECCOMP, "installing the filter of set-id files");
}
