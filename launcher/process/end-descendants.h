#ifndef WRIT_END_DESCENDANTS_H
#define WRIT_END_DESCENDANTS_H

/*
 * Kills all children, and their children as they become ours (we are their subreaper), until there are none or
 * the bound is reached. Only for hosts without pid namespaces; a process that forks faster than this can outrun it.
 */
void end_descendants(void);

#endif
