#define _GNU_SOURCE
#include "rights/seccomp-filter.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fatal.h"
#include "rights/seccomp-rules.h"

/*
 * The rules become stretches of call numbers with one answer each, and those a search tree, about six comparisons deep.
 * This is not for the speed of calls, which the kernel caches as allowed. It is for the start: whenever a filter is
 * installed the kernel compiles it and walks it once for each call that it knows. A plain list costs 0.2 ms.
 */

/* Far more than needed, and few enough for the conditional jumps of classic BPF, which reach over 255. */
#define INSTRUCTIONS_MAX 250
#define STRETCHES_MAX (2 * FILTER_RULES + 3)

/* All namespaces that clone can make. The time namespace is not among them: its bit means something else here. */
#define NAMESPACE_FLAGS \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define ANSWER_ALLOW SECCOMP_RET_ALLOW
#define ANSWER_ERROR(error) (SECCOMP_RET_ERRNO | ((error) & SECCOMP_RET_DATA))

/* Calls from `first` up to the next stretch. Two stretches with the same error and check share their code. */
struct stretch {
  uint32_t first;
  uint16_t error, check;
};

/* A jump into the code of a stretch, whose place is known only when the tree is written. */
struct jump {
  unsigned from;
  bool is_taken;
  size_t stretch;
};

static struct sock_filter code[INSTRUCTIONS_MAX];
static unsigned code_used;
static struct stretch stretches[STRETCHES_MAX];
static size_t stretches_used;
static struct jump jumps[2 * STRETCHES_MAX];
static size_t jumps_used;

static void make_stretches(void);
static void add_stretch(uint32_t first, uint16_t error, uint16_t check);
static void add_entry(void);
static void add_tree(size_t first, size_t end);
static void add_branch(unsigned from, bool is_taken, size_t first, size_t end);
static void add_answers(void);
static void add_check(const struct stretch *stretch);
static void set_jump(unsigned from, bool is_taken, unsigned to);
static bool is_same_answer(const struct stretch *left, const struct stretch *right);
static void add(uint16_t operation, uint32_t operand, uint8_t if_true, uint8_t if_false);
static int compare_rules(const void *left, const void *right);

const struct sock_fprog *make_filter(void) {
  static struct sock_fprog program;
  make_stretches();
  add_entry();
  add_tree(0, stretches_used);
  add_answers();
  program.len = (unsigned short)code_used;
  program.filter = code;
  return &program;
}

bool install_filter(const struct sock_fprog *filter, struct failure *failure) {
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, filter) == 0) return true;
  return fail(failure, STEP_SECCOMP, "installing the filter");
}

static void make_stretches(void) {
  static struct filter_rule rules[FILTER_RULES];
  memcpy(rules, filter_rules, sizeof rules);
  qsort(rules, FILTER_RULES, sizeof rules[0], compare_rules);
  add_stretch(0, 0, CHECK_NONE);
  for (size_t i = 0; i < FILTER_RULES; i++) {
    add_stretch(rules[i].call, rules[i].error, rules[i].check);
    add_stretch(rules[i].call + 1, 0, CHECK_NONE);
  }
  add_stretch(FIRST_UNKNOWN_CALL, ENOSYS, CHECK_NONE);
}

/* Replaces a stretch that would be empty, and extends the one before it if both have the same result. */
static void add_stretch(uint32_t first, uint16_t error, uint16_t check) {
  struct stretch next = {first, error, check};
  if (stretches_used > 0 && stretches[stretches_used - 1].first == first) stretches_used--;
  if (stretches_used > 0 && is_same_answer(&stretches[stretches_used - 1], &next)) return;
  stretches[stretches_used++] = next;
}

static void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }

/* The low half of an argument. The kernel reads no more of the arguments that are checked here. */
static void load_argument(unsigned index) {
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the low half of an argument is taken from where little-endian machines have it"
#endif
  load(offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

static void answer(uint32_t value) { add(BPF_RET | BPF_K, value, 0, 0); }

/* Skips the next instruction unless the value that was loaded is `operand`. */
static void when_equal(uint32_t operand) { add(BPF_JMP | BPF_JEQ | BPF_K, operand, 0, 1); }

/* i386 calls have other numbers, so no rule would fit them: a process that makes one is killed. */
static void add_entry(void) {
  load(offsetof(struct seccomp_data, arch));
  add(BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0);
  answer(SECCOMP_RET_KILL_PROCESS);
  load(offsetof(struct seccomp_data, nr));
}

static void add_tree(size_t first, size_t end) {
  size_t middle = first + (end - first) / 2;
  unsigned from = code_used;
  add(BPF_JMP | BPF_JGE | BPF_K, stretches[middle].first, 0, 0);
  add_branch(from, false, first, middle);
  add_branch(from, true, middle, end);
}

static void add_branch(unsigned from, bool is_taken, size_t first, size_t end) {
  if (end - first == 1) {
    jumps[jumps_used++] = (struct jump){from, is_taken, first};
    return;
  }
  set_jump(from, is_taken, code_used);
  add_tree(first, end);
}

/* One piece of code for each answer, with all jumps to it. */
static void add_answers(void) {
  bool is_done[STRETCHES_MAX] = {false};
  for (size_t i = 0; i < stretches_used; i++) {
    if (is_done[i]) continue;
    for (size_t jump = 0; jump < jumps_used; jump++) {
      size_t wanted = jumps[jump].stretch;
      if (!is_same_answer(&stretches[i], &stretches[wanted])) continue;
      set_jump(jumps[jump].from, jumps[jump].is_taken, code_used);
      is_done[wanted] = true;
    }
    add_check(&stretches[i]);
  }
}

static void set_jump(unsigned from, bool is_taken, unsigned to) {
  unsigned distance = to - from - 1;
  if (distance > 255) fatal("the filter is too long for its jumps");
  if (is_taken) code[from].jt = (uint8_t)distance;
  else code[from].jf = (uint8_t)distance;
}

static bool is_same_answer(const struct stretch *left, const struct stretch *right) {
  return left->error == right->error && left->check == right->check;
}

static void add_check(const struct stretch *stretch) {
  uint32_t refusal = stretch->error == 0 ? ANSWER_ALLOW : ANSWER_ERROR(stretch->error);
  switch (stretch->check) {
    case CHECK_CLONE:
      load_argument(0);
      add(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)NAMESPACE_FLAGS, 1, 0);
      answer(ANSWER_ALLOW);
      break;
    case CHECK_IOCTL: {
      const uint32_t requests[] = {0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */, TIOCCONS, TIOCSETD};
      load_argument(1);
      for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        when_equal(requests[i]);
        answer(refusal);
      }
      answer(ANSWER_ALLOW);
      return;
    }
    case CHECK_PERSONALITY:
      load_argument(0);
      when_equal(0xffffffff);
      answer(ANSWER_ALLOW);
      when_equal(0);
      answer(ANSWER_ALLOW);
      break;
    case CHECK_SOCKET: {
      const uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6};
      load_argument(0);
      for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        when_equal(families[i]);
        answer(ANSWER_ALLOW);
      }
      // getifaddrs uses the routing part, protocol 0; the others reach parts of the kernel that jobs do not need.
      add(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
      answer(refusal);
      load_argument(2);
      when_equal(0);
      answer(ANSWER_ALLOW);
      break;
    }
    case CHECK_SOCKETPAIR:
      load_argument(0);
      when_equal(AF_UNIX);
      answer(ANSWER_ALLOW);
      break;
    default: break;
  }
  answer(refusal);
}

static void add(uint16_t operation, uint32_t operand, uint8_t if_true, uint8_t if_false) {
  if (code_used == INSTRUCTIONS_MAX) fatal("the filter is too long");
  code[code_used++] = (struct sock_filter){operation, if_true, if_false, operand};
}

static int compare_rules(const void *left, const void *right) {
  uint32_t left_call = ((const struct filter_rule *)left)->call;
  uint32_t right_call = ((const struct filter_rule *)right)->call;
  return (left_call > right_call) - (left_call < right_call);
}
