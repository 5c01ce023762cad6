#ifndef WRIT_OPEN_BENEATH_H
#define WRIT_OPEN_BENEATH_H

#include "launcher.h"

/*
 * OPEN and CLOSE. The kernel itself resolves the path, beneath the directory, without following links and safe against
 * concurrent renames; a path that was checked first and opened afterwards could be replaced in between. False when the
 * frame breaks the protocol.
 */
bool answer_open(struct launcher *launcher, const struct frame *frame);
bool answer_close(const struct frame *frame);

#endif
