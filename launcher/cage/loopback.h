#ifndef WRIT_LOOPBACK_H
#define WRIT_LOOPBACK_H

#include <stdint.h>

#include "failure.h"

/* In a new network namespace even 127.0.0.1 is down; programs that connect to themselves need it. */
bool raise_loopback(struct failure *failure);

/* A socket that listens on this port of the loopback, -1 when it failed. */
int listen_on_loopback(uint16_t port, struct failure *failure);

#endif
