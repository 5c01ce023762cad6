#ifndef WRIT_CONNECT_INSIDE_H
#define WRIT_CONNECT_INSIDE_H

/*
 * `writ-launcher connect PID PORT`: a connection to the port in the network of a process that has one of its own. When
 * it is open, one byte (CONNECTED) is written to stdout; from then on stdin is sent there and received bytes go to
 * stdout, until either side ends. Returns the status to exit with: 0, or CONNECT_REFUSED if no process listens there.
 */
int connect_inside(const char *pid, const char *port);

#define CONNECTED '+'
#define CONNECT_REFUSED 4

#endif
