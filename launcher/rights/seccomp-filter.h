#ifndef WRIT_SECCOMP_FILTER_H
#define WRIT_SECCOMP_FILTER_H

#include <linux/filter.h>

#include "failure.h"

/* Writes the filter once; every job gets the same one. */
const struct sock_fprog *make_filter(void);

/* Installs it for the calling process, permanently. After this, no system call except execve may be needed. */
bool install_filter(const struct sock_fprog *filter, struct failure *failure);

#endif
