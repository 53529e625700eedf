#include "Disk.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Memory that tests ask for is there, or the test ends.
static void *must(void *memory) {
    if (memory == NULL) abort();
    return memory;
}

ferry_disk *ferry_disk_make(const char *path, bool isNameDurable) {
    ferry_disk *disk = must(calloc(1, sizeof *disk));
    disk->path = must(strdup(path));
    disk->isThere = disk->isNameDurable = isNameDurable;
    return disk;
}

static void forgetSectors(ferry_disk *disk) {
    free(disk->sectors);
    disk->sectors = NULL;
    disk->capacity = disk->count = 0;
    disk->isDirty = false;
}

void ferry_disk_free(ferry_disk *disk) {
    forgetSectors(disk);
    free(disk->removed);
    free(disk->path);
    free(disk);
}

// MARK: Sectors

// The place of a sector, or the empty one where it belongs.
static ferry_sector *place(ferry_disk *disk, int64_t index) {
    size_t position = (size_t)((uint64_t)index * 0x9e3779b97f4a7c15u >> 20) & (disk->capacity - 1);
    while (disk->sectors[position].index != -1 && disk->sectors[position].index != index) {
        position = (position + 1) & (disk->capacity - 1);
    }
    return &disk->sectors[position];
}

static void makeRoom(ferry_disk *disk) {
    if (disk->count * 2 < disk->capacity) return;
    ferry_sector *former = disk->sectors;
    size_t formerCapacity = disk->capacity;
    disk->capacity = formerCapacity == 0 ? 64 : formerCapacity * 2;
    disk->sectors = must(malloc(disk->capacity * sizeof *disk->sectors));
    for (size_t i = 0; i < disk->capacity; i++) disk->sectors[i].index = -1;
    for (size_t i = 0; i < formerCapacity; i++) {
        if (former[i].index != -1) *place(disk, former[i].index) = former[i];
    }
    free(former);
}

int ferry_disk_will_change(ferry_disk *disk, sqlite3_file *file, sqlite3_int64 offset, sqlite3_int64 amount) {
    if (!disk->isDirty) {
        int code = file->pMethods->xFileSize(file, &disk->durableSize);
        if (code != SQLITE_OK) return code;
        disk->isDirty = true;
    }
    for (int64_t index = offset / FERRY_SECTOR; index * FERRY_SECTOR < offset + amount; index++) {
        // Beyond its certain end a file has nothing to keep.
        makeRoom(disk);
        ferry_sector *sector = place(disk, index);
        if (sector->index == index) continue;
        sqlite3_int64 begin = index * FERRY_SECTOR;
        memset(sector->bytes, 0, FERRY_SECTOR);
        if (begin < disk->durableSize) {
            int code = file->pMethods->xRead(file, sector->bytes, FERRY_SECTOR, begin);
            if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
        }
        sector->index = index;
        disk->count++;
    }
    return SQLITE_OK;
}

void ferry_disk_did_sync(ferry_disk *disk) { forgetSectors(disk); }

// MARK: Names

bool ferry_disk_will_remove(ferry_disk *disk) {
    // What was never certain cannot come back.
    if (!disk->isNameDurable) return true;
    int file = open(disk->path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    struct stat status;
    bool isWhole = fstat(file, &status) == 0;
    if (isWhole) {
        disk->removed = must(malloc((size_t)status.st_size + 1));
        disk->removedSize = read(file, disk->removed, (size_t)status.st_size);
        isWhole = disk->removedSize == status.st_size;
    }
    close(file);
    return isWhole;
}

void ferry_disk_did_name(ferry_disk *disk, bool isThere) {
    forgetSectors(disk);
    disk->isThere = isThere;
    disk->isNameDurable = false;
}

void ferry_disk_did_sync_name(ferry_disk *disk) {
    free(disk->removed);
    disk->removed = NULL;
    disk->isNameDurable = true;
}

// MARK: Losing

// SplitMix64.
static uint64_t next(uint64_t *random) {
    uint64_t z = *random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static bool isLost(ferry_loss loss, uint64_t *random) {
    return loss == FERRY_LOSS_EVERYTHING || (loss == FERRY_LOSS_RANDOM && (next(random) & 1) == 0);
}

static int byIndex(const void *a, const void *b) {
    int64_t first = ((const ferry_sector *)a)->index, second = ((const ferry_sector *)b)->index;
    return (first > second) - (first < second);
}

static bool loseSectors(ferry_disk *disk, ferry_loss loss, uint64_t *random, int file) {
    struct stat status;
    if (fstat(file, &status) != 0) return false;
    sqlite3_int64 size = isLost(loss, random) ? disk->durableSize : status.st_size;
    // In the order of their places in the file, so that one seed always decides alike.
    qsort(disk->sectors, disk->capacity, sizeof *disk->sectors, byIndex);
    for (size_t i = 0; i < disk->capacity; i++) {
        ferry_sector *sector = &disk->sectors[i];
        if (sector->index == -1) continue;
        off_t begin = sector->index * FERRY_SECTOR;
        // A truncation is a new length: where that is lost, what was cut off is there.
        bool isCutOff = begin + FERRY_SECTOR > status.st_size && size > status.st_size;
        if (!isCutOff && !isLost(loss, random)) continue;
        if (pwrite(file, sector->bytes, FERRY_SECTOR, begin) != FERRY_SECTOR) return false;
    }
    return ftruncate(file, size) == 0;
}

// Puts the name back to what was certain of it last.
static bool loseName(ferry_disk *disk) {
    if (disk->removed == NULL) return !disk->isThere || unlink(disk->path) == 0;
    int file = open(disk->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return false;
    bool isBack = pwrite(file, disk->removed, (size_t)disk->removedSize, 0) == disk->removedSize;
    close(file);
    return isBack;
}

bool ferry_disk_lose(ferry_disk *disk, ferry_loss loss, uint64_t *random) {
    if (!disk->isNameDurable && isLost(loss, random)) return loseName(disk);
    if (!disk->isThere || !disk->isDirty || loss == FERRY_LOSS_NOTHING) return true;
    int file = open(disk->path, O_RDWR | O_CLOEXEC);
    if (file < 0) return false;
    bool isDone = loseSectors(disk, loss, random, file);
    close(file);
    return isDone;
}
