// What of a file is not synchronized: the sectors as they were at the last synchronization.
#pragma once
#include "CFerryFaultVFS.h"
#include <sqlite3.h>
#include <stddef.h>

#define FERRY_SECTOR 512

// A sector as it is on the disk for certain.
typedef struct {
    int64_t index;
    unsigned char bytes[FERRY_SECTOR];
} ferry_sector;

// A file as the disk has it, however many handles are open. Guarded by the VFS's lock.
typedef struct ferry_disk {
    struct ferry_disk *next;
    char *path;
    // The length that is certain, known once something was changed.
    sqlite3_int64 durableSize;
    bool isDirty;
    // Whether the name is there, and whether that is certain.
    bool isThere;
    bool isNameDurable;
    // The content of the file that had the name when that was certain last, where it was removed since; or NULL.
    unsigned char *removed;
    sqlite3_int64 removedSize;
    // A hash table of sectors that were changed, by index; empty places have the index -1.
    ferry_sector *sectors;
    size_t capacity;
    size_t count;
} ferry_disk;

ferry_disk *ferry_disk_make(const char *path, bool isNameDurable);
void ferry_disk_free(ferry_disk *disk);

// Before a change of `amount` bytes at `offset` (0 and the end of the file for a new length): keeps what is there.
int ferry_disk_will_change(ferry_disk *disk, sqlite3_file *file, sqlite3_int64 offset, sqlite3_int64 amount);
// After a synchronization: what is there is certain.
void ferry_disk_did_sync(ferry_disk *disk);
// Before the name is taken away: keeps the content. Returns false where it cannot be read.
bool ferry_disk_will_remove(ferry_disk *disk);
// After the name was taken away, or given to a new file.
void ferry_disk_did_name(ferry_disk *disk, bool isThere);
// After the directory was synchronized.
void ferry_disk_did_sync_name(ferry_disk *disk);

// Makes the closed file what a loss of power leaves. Returns false where the file system refuses.
bool ferry_disk_lose(ferry_disk *disk, ferry_loss loss, uint64_t *random);
