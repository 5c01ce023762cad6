#ifndef WRIT_SECCOMP_RULES_H
#define WRIT_SECCOMP_RULES_H

#include <errno.h>
#include <linux/audit.h>
#include <stdint.h>
#include <sys/syscall.h>

/*
 * The system calls that a job may not make. A call on no list is allowed; a call that is newer than this file is
 * answered as by a kernel without it. EPERM means "not allowed"; ENOSYS makes a program use an older call.
 */

#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#else
#error "there is no seccomp table for this architecture"
#endif

/* The first number that was free when this was written (Linux 6.18). The x32 bit lies above it as well. */
#define FIRST_UNKNOWN_CALL 470u

enum rule_check {
  CHECK_NONE,        /* always answered with `error` */
  CHECK_CLONE,       /* no new namespace */
  CHECK_IOCTL,       /* nothing typed into a terminal, no line discipline */
  CHECK_PERSONALITY, /* only asked, never changed */
  CHECK_SOCKET,      /* unix, inet, inet6 and the routing part of netlink */
  CHECK_SOCKETPAIR,  /* unix */
};

struct filter_rule {
  uint32_t call;
  uint16_t error;
  uint16_t check;
};

static const struct filter_rule filter_rules[] = {
    // clone3 hides its flags behind a pointer that a filter cannot read; without it libc uses clone.
    {435 /* clone3 */, ENOSYS, CHECK_NONE},
    {SYS_clone, EPERM, CHECK_CLONE},
    {SYS_unshare, EPERM, CHECK_NONE},
    {SYS_setns, EPERM, CHECK_NONE},
    // Mounts, by the old calls and the new.
    {SYS_mount, EPERM, CHECK_NONE},
    {SYS_umount2, EPERM, CHECK_NONE},
    {SYS_pivot_root, EPERM, CHECK_NONE},
    {SYS_chroot, EPERM, CHECK_NONE},
    {428 /* open_tree */, EPERM, CHECK_NONE},
    {429 /* move_mount */, EPERM, CHECK_NONE},
    {430 /* fsopen */, EPERM, CHECK_NONE},
    {431 /* fsconfig */, EPERM, CHECK_NONE},
    {432 /* fsmount */, EPERM, CHECK_NONE},
    {433 /* fspick */, EPERM, CHECK_NONE},
    {442 /* mount_setattr */, EPERM, CHECK_NONE},
    {467 /* open_tree_attr */, EPERM, CHECK_NONE},
    // Other processes.
    {SYS_ptrace, EPERM, CHECK_NONE},
    {SYS_process_vm_readv, EPERM, CHECK_NONE},
    {SYS_process_vm_writev, EPERM, CHECK_NONE},
    {438 /* pidfd_getfd */, EPERM, CHECK_NONE},
    {SYS_kcmp, EPERM, CHECK_NONE},
    {440 /* process_madvise */, EPERM, CHECK_NONE},
    {SYS_migrate_pages, EPERM, CHECK_NONE},
    {SYS_move_pages, EPERM, CHECK_NONE},
    // Keys are not namespaced: all jobs of one uid would share them.
    {SYS_add_key, EPERM, CHECK_NONE},
    {SYS_request_key, EPERM, CHECK_NONE},
    {SYS_keyctl, EPERM, CHECK_NONE},
    // Large parts of the kernel that jobs do without.
    {425 /* io_uring_setup */, EPERM, CHECK_NONE},
    {426 /* io_uring_enter */, EPERM, CHECK_NONE},
    {427 /* io_uring_register */, EPERM, CHECK_NONE},
    {SYS_bpf, EPERM, CHECK_NONE},
    {SYS_perf_event_open, EPERM, CHECK_NONE},
    {SYS_userfaultfd, EPERM, CHECK_NONE},
    {SYS_fanotify_init, EPERM, CHECK_NONE},
    {SYS_fanotify_mark, EPERM, CHECK_NONE},
    {SYS_ioctl, EPERM, CHECK_IOCTL},
    {SYS_personality, EPERM, CHECK_PERSONALITY},
    {SYS_socket, EAFNOSUPPORT, CHECK_SOCKET},
    {SYS_socketpair, EAFNOSUPPORT, CHECK_SOCKETPAIR},
    {SYS_lookup_dcookie, EPERM, CHECK_NONE},
    // Files by number instead of by path, past every mount.
    {SYS_open_by_handle_at, EPERM, CHECK_NONE},
    {SYS_name_to_handle_at, EPERM, CHECK_NONE},
    // The machine.
    {SYS_kexec_load, EPERM, CHECK_NONE},
    {SYS_init_module, EPERM, CHECK_NONE},
    {SYS_finit_module, EPERM, CHECK_NONE},
    {SYS_delete_module, EPERM, CHECK_NONE},
    {SYS_swapon, EPERM, CHECK_NONE},
    {SYS_swapoff, EPERM, CHECK_NONE},
    {SYS_reboot, EPERM, CHECK_NONE},
    {SYS_acct, EPERM, CHECK_NONE},
    {SYS_quotactl, EPERM, CHECK_NONE},
    {443 /* quotactl_fd */, EPERM, CHECK_NONE},
    {SYS_syslog, EPERM, CHECK_NONE},
    {SYS_settimeofday, EPERM, CHECK_NONE},
    {SYS_clock_settime, EPERM, CHECK_NONE},
    {SYS_adjtimex, EPERM, CHECK_NONE},
    {SYS_clock_adjtime, EPERM, CHECK_NONE},
    {SYS_sethostname, EPERM, CHECK_NONE},
    {SYS_setdomainname, EPERM, CHECK_NONE},
    {SYS_vhangup, EPERM, CHECK_NONE},
    {SYS_nfsservctl, EPERM, CHECK_NONE},
#if defined(__x86_64__)
    {SYS_kexec_file_load, EPERM, CHECK_NONE},
    {SYS_iopl, EPERM, CHECK_NONE},
    {SYS_ioperm, EPERM, CHECK_NONE},
    {SYS_modify_ldt, EPERM, CHECK_NONE},
    {SYS_uselib, EPERM, CHECK_NONE},
    {SYS_sysfs, EPERM, CHECK_NONE},
    {SYS__sysctl, EPERM, CHECK_NONE},
    {SYS_create_module, EPERM, CHECK_NONE},
    {SYS_query_module, EPERM, CHECK_NONE},
    {SYS_get_kernel_syms, EPERM, CHECK_NONE},
#else
    {294 /* kexec_file_load */, EPERM, CHECK_NONE},
#endif
};

#define FILTER_RULES (sizeof filter_rules / sizeof filter_rules[0])

#endif
