/** The file that holds what a coding agent changed, below the output location of its job. */
export const diffPath = "changes.diff";
