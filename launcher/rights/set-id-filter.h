#ifndef WRIT_SET_ID_FILTER_H
#define WRIT_SET_ID_FILTER_H

#include "failure.h"

/*
 * Keeps the calling process from creating set-uid or set-gid files, permanently. A job with an idmapped mount creates
 * files that belong to a user of the host: a set-uid program among them would give that user's rights to every user of
 * the host who executes it. The nosuid of the mount applies only inside the cage. Why: ADR 0020.
 */
bool forbid_set_id_files(struct failure *failure);

#endif
