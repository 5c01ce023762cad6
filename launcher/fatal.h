#ifndef WRIT_FATAL_H
#define WRIT_FATAL_H

/*
 * Ends the launcher with one line on stderr. All jobs die with it by the death signal of each cage, so this is always a
 * safe answer to "this cannot happen".
 */
_Noreturn void fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
