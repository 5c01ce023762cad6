#ifndef WRIT_REMOVE_TREES_H
#define WRIT_REMOVE_TREES_H

/*
 * `writ-launcher remove DIR`, a program of its own beside the one that serves: removes everything in DIR, which stays.
 * For each entry of DIR that cannot be removed it prints a line `errno name`. Returns the exit status: 0 when DIR is
 * empty, 1 when something is left, 3 when DIR cannot be read.
 *
 * What lies there was made by jobs, so nothing about it is trusted. Everything goes by descriptor and through no link,
 * no mount point is crossed, and there is no recursion: a directory that is not empty is moved up into DIR and emptied
 * there, so that neither a path nor a stack nor the number of open files grows with the depth of a tree. Why: ADR 0027.
 */
int remove_trees(const char *dir);

#endif
