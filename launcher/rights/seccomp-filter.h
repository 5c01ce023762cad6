#ifndef WRIT_SECCOMP_FILTER_H
#define WRIT_SECCOMP_FILTER_H

#include <linux/filter.h>

#include "failure.h"

/* Writes the filter once; every job gets the same one. */
const struct sock_fprog *make_filter(void);

/* Puts it on the calling process for good. No system call but execve may be needed after this. */
bool install_filter(const struct sock_fprog *filter, struct failure *failure);

#endif
