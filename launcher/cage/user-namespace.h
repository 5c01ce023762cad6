#ifndef WRIT_USER_NAMESPACE_H
#define WRIT_USER_NAMESPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "failure.h"

/* The only user and group that exist in the namespace: nobody and nogroup. */
#define NAMESPACE_ID 65534u

/*
 * Without root's rights: moves the launcher into a user namespace of its own, where it has every capability inside the
 * namespace and none over the host. There the user who started it is NAMESPACE_ID, and so is every job. If the host
 * forbids that, the launcher stays as it is and has only the rights of an ordinary user. Called before anything else is
 * made. Why: ADR 0039.
 */
void enter_user_namespace(void);

/* The rights with which cages are built: one of RIGHTS_… in protocol.h. */
uint32_t cage_rights(void);
/* The reason for RIGHTS_NONE. */
const struct failure *namespace_refusal(void);

bool in_user_namespace(void);
/* In the namespace: is this uid of the host the one that jobs have there? */
bool is_namespace_owner(uint32_t uid);

#endif
