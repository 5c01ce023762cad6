#ifndef WRIT_GIVE_AWAY_H
#define WRIT_GIVE_AWAY_H

#include <stdbool.h>
#include <sys/types.h>

#include "failure.h"

/* Gives a directory and everything in it to a user and a group, never through a symbolic link. */
bool give_away(const char *directory, uid_t uid, gid_t gid, struct failure *failure);

#endif
