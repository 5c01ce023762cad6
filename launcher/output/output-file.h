#ifndef WRIT_OUTPUT_FILE_H
#define WRIT_OUTPUT_FILE_H

/* Makes the file of a stream, which must not exist. The descriptor, or -1 with the reason in errno. */
int make_output_file(const char *path);

/*
 * The same with the directory of the attempt and that of its job, which a job that ends while its output is held never
 * has. Why: ADR 0148.
 */
int make_output_file_and_way(const char *path);

#endif
