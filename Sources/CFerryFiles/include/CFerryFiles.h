// The calls of the file system that Swift's C library does not show: names that are exchanged, and when a file was made.
#pragma once
#include <stdint.h>

// Renames below two open directories. `exchange`: both names change at once; otherwise a new name that is taken fails with EEXIST.
// Returns 0, or -1 with `errno`: EINVAL, ENOSYS or ENOTSUP where the file system cannot do that.
int ferry_rename(int directory, const char *name, int new_directory, const char *new_name, int exchange);

// When the thing under a name was made, in nanoseconds since the Unix epoch; 0 where the file system does not tell.
int64_t ferry_birth(int directory, const char *name);

// Asks for a read lease of an open file and gives it back at once, which works while nobody has the file open for writing.
// Returns 0 then, 1 where somebody has, and -1 where the file system or the account cannot have leases.
int ferry_has_writers(int descriptor);

// The number of a file system's kind, as statfs(2) lists them; 0 where the system has none.
uint64_t ferry_file_system(int descriptor);

// Makes everything durable that was written to the disk of an open file. Returns 0, or -1: then each file has to be asked for alone.
int ferry_synchronize_disk(int descriptor);
