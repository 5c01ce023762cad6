#ifndef WRIT_CONNECT_INSIDE_H
#define WRIT_CONNECT_INSIDE_H

/*
 * `writ-launcher connect PID PORT`: a connection to the port in the network of a process that has one of its own. When it
 * is open, one byte (CONNECTED) is written to stdout; from then on stdin goes there and what comes from there to stdout,
 * until either side ends. Returns the status to exit with: 0, or CONNECT_REFUSED if nobody listens there.
 */
int connect_inside(const char *pid, const char *port);

#define CONNECTED '+'
#define CONNECT_REFUSED 4

#endif
