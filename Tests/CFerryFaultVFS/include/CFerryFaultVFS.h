// An SQLite VFS for tests and simulations: it wraps the platform's own, makes chosen calls fail, "kills the process" at a
// chosen call, and remembers what was not synchronized, so that a loss of power can take it away.
//
// Registered, it is the default VFS, so that code which knows nothing of it runs over it. Only files whose paths begin
// with a watched prefix are concerned: a database with its journal, WAL and shared memory. Memory mapping is off, so that
// every read and write passes here. What is written to the shared memory of a WAL does not: it is no more than an index.
// Synchronizing costs nothing, because what it makes certain is remembered here, whatever the computer's own disk does.
//
// All functions may be called from any thread.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// A fault, and the calls that it counts and strikes.
typedef enum {
    // xWrite gives SQLITE_FULL and writes nothing.
    FERRY_FAULT_FULL = 0,
    // xWrite, xTruncate and xDelete give an SQLITE_IOERR and do nothing.
    FERRY_FAULT_WRITE = 1,
    // xSync gives SQLITE_IOERR_FSYNC; nothing counts as synchronized by it.
    FERRY_FAULT_SYNC = 2,
    // xRead gives SQLITE_IOERR_READ.
    FERRY_FAULT_READ = 3,
    // xLock, and xShmLock for a lock that nobody else may have, give SQLITE_BUSY.
    FERRY_FAULT_BUSY = 4,
    // The process dies: from this call on nothing reaches the disk, and every call fails until ferry_fault_recover.
    // Counted are xWrite, xTruncate, xSync, xDelete and the xOpen that creates a file.
    FERRY_FAULT_CRASH = 5,
} ferry_fault_kind;

// What a loss of power takes away of that which was not synchronized.
typedef enum {
    // Nothing: the process died, the computer did not.
    FERRY_LOSS_NOTHING = 0,
    // Everything: files are as they were synchronized last, and unlinked ones are back.
    FERRY_LOSS_EVERYTHING = 1,
    // For each sector of 512 bytes, each file's length and name by itself, as random numbers have it.
    FERRY_LOSS_RANDOM = 2,
} ferry_loss;

// Makes this the default VFS, or takes it out again. Returns an SQLite result code. Connections keep the VFS that they
// were opened with.
int ferry_fault_register(void);
int ferry_fault_unregister(void);

// Watches files below a prefix of their full path: counts, and remembers what is not synchronized. No prefix may begin
// with another one. ferry_fault_forget ends it; all files must be closed.
void ferry_fault_watch(const char *prefix);
void ferry_fault_forget(const char *prefix);

// Makes the call number `countdown` from now on, counted from 1, fail, and the `times - 1` calls of its kind after it.
// Replaces an earlier fault. For FERRY_FAULT_CRASH `times` means nothing.
void ferry_fault_arm(const char *prefix, ferry_fault_kind kind, int64_t countdown, int64_t times);
// Forgets a fault that has not struck yet or has not ended; not a crash.
void ferry_fault_disarm(const char *prefix);

// Ends a crash, or cuts the power at any other time: takes away what was not synchronized and lets files be opened again.
// Returns how many files are still open: it does nothing then. -1: the file system refused.
int ferry_fault_recover(const char *prefix, ferry_loss loss, uint64_t seed);

// Sets what SQLite takes for the time, on every connection that was opened with this VFS, in milliseconds since the Unix
// epoch; 0: the computer's clock.
void ferry_fault_set_time(int64_t milliseconds);

// How many calls of those that a kind counts were made since the prefix is watched.
int64_t ferry_fault_count(const char *prefix, ferry_fault_kind kind);
// How many calls were made to fail, those after a crash not counted.
int64_t ferry_fault_injected(const char *prefix);
// Whether the process is "dead" there.
bool ferry_fault_is_crashed(const char *prefix);
