#ifndef WRIT_HAND_OVER_H
#define WRIT_HAND_OVER_H

#include <stdbool.h>
#include <stdint.h>

#include "failure.h"

/* The second descriptor that the worker gives us, if it wants to be handed sockets. */
#define CHANNEL_FD 4
#define CHANNEL_NONE (-1)

/* CHANNEL_FD if the worker gave us one, else CHANNEL_NONE. */
int find_channel(void);

/*
 * Gives the worker a listening socket, with the id of the job that it is for. The worker is a program of Node, and the
 * channel one that Node makes: the frame is the one by which processes of Node hand servers to one another, and Node
 * acknowledges each. Why: ADR 0120.
 */
bool hand_over(int channel_fd, uint32_t id, int listener_fd, struct failure *failure);

/* Takes the acknowledgements, which nothing depends on; false when no more will come. */
bool drain_channel(int channel_fd);

#endif
