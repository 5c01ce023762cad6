#ifndef WRIT_LOOPBACK_H
#define WRIT_LOOPBACK_H

#include "failure.h"

/* In a new network namespace even 127.0.0.1 is down; programs that connect to themselves need it. */
bool raise_loopback(struct failure *failure);

#endif
