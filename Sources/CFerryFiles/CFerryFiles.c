#define _GNU_SOURCE
#include "CFerryFiles.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#if defined(__APPLE__)

// https://developer.apple.com/library/archive: rename(2), renameatx_np.
int ferry_rename(int directory, const char *name, int new_directory, const char *new_name, int exchange) {
    return renameatx_np(directory, name, new_directory, new_name, exchange ? RENAME_SWAP : RENAME_EXCL);
}

int64_t ferry_birth(int directory, const char *name) {
    struct stat status;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
    return (int64_t)status.st_birthtimespec.tv_sec * 1000000000 + status.st_birthtimespec.tv_nsec;
}

int ferry_has_writers(int descriptor) {
    (void)descriptor;
    return -1;
}

uint64_t ferry_file_system(int descriptor) {
    (void)descriptor;
    return 0;
}

int ferry_synchronize_disk(int descriptor) {
    (void)descriptor;
    return -1;
}

#else

#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// linux/fs.h
#define FERRY_NOREPLACE 1
#define FERRY_EXCHANGE 2

int ferry_rename(int directory, const char *name, int new_directory, const char *new_name, int exchange) {
    return (int)syscall(
        SYS_renameat2, directory, name, new_directory, new_name, exchange ? FERRY_EXCHANGE : FERRY_NOREPLACE);
}

int64_t ferry_birth(int directory, const char *name) {
#if defined(STATX_BTIME)
    struct statx status;
    if (statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_BTIME, &status) != 0) return 0;
    if (!(status.stx_mask & STATX_BTIME)) return 0;
    return (int64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
#else
    (void)directory, (void)name;
    return 0;
#endif
}

int ferry_has_writers(int descriptor) {
    // Who opens the file for writing in between waits until the lease is given back, and this process gets a signal. The usual one,
    // SIGIO, would end the process; this one does nothing.
    if (fcntl(descriptor, F_SETSIG, SIGURG) != 0) return -1;
    if (fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0) {
        fcntl(descriptor, F_SETLEASE, F_UNLCK);
        return 0;
    }
    return errno == EAGAIN || errno == EBUSY ? 1 : -1;
}

uint64_t ferry_file_system(int descriptor) {
    struct statfs status;
    return fstatfs(descriptor, &status) == 0 ? (uint64_t)(uint32_t)status.f_type : 0;
}

// Linux alone reports errors of writing back by syncfs(2), since 5.8; before, the files' own fsync(2) would.
int ferry_synchronize_disk(int descriptor) { return syncfs(descriptor); }

#endif
