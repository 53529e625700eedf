#include "Disk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KINDS (FERRY_FAULT_CRASH + 1)

// What is watched below one prefix.
typedef struct place {
    struct place *next;
    char *prefix;
    ferry_disk *disks;
    int64_t counts[KINDS];
    int64_t injected;
    int openFiles;
    bool isCrashed;
    // The fault, where `times` is not 0: strikes when `countdown` comes to 0.
    ferry_fault_kind kind;
    int64_t countdown;
    int64_t times;
} place;

// A handle; the platform's own follows it in memory.
typedef struct {
    sqlite3_file base;
    place *place;
    ferry_disk *disk;
    // Whether it is a journal that may be new: its first synchronization is its directory's too.
    bool syncsDirectory;
} handle;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static place *places;
static sqlite3_vfs *platform;

static sqlite3_file *real(sqlite3_file *file) { return (sqlite3_file *)((handle *)file + 1); }

static place *placeOf(const char *path) {
    for (place *place = places; path != NULL && place != NULL; place = place->next) {
        if (strncmp(path, place->prefix, strlen(place->prefix)) == 0) return place;
    }
    return NULL;
}

static ferry_disk *diskOf(place *place, const char *path) {
    for (ferry_disk *disk = place->disks; disk != NULL; disk = disk->next) {
        if (strcmp(disk->path, path) == 0) return disk;
    }
    return NULL;
}

static ferry_disk *addDisk(place *place, const char *path, bool isNameDurable) {
    ferry_disk *disk = ferry_disk_make(path, isNameDurable);
    disk->next = place->disks;
    return place->disks = disk;
}

// A directory was synchronized: names in it are certain.
static void didSyncDirectory(place *place, const char *path) {
    size_t length = (size_t)(strrchr(path, '/') - path) + 1;
    for (ferry_disk *disk = place->disks; disk != NULL; disk = disk->next) {
        if (strncmp(disk->path, path, length) == 0 && strchr(disk->path + length, '/') == NULL) {
            ferry_disk_did_sync_name(disk);
        }
    }
}

// MARK: Faults

// Counts a call under a kind. Returns whether it is to fail.
static bool strikes(place *place, ferry_fault_kind kind) {
    place->counts[kind]++;
    if (place->times == 0 || place->kind != kind) return false;
    if (place->countdown > 1) {
        place->countdown--;
        return false;
    }
    place->times--;
    place->injected++;
    if (kind == FERRY_FAULT_CRASH) {
        place->times = 0;
        place->isCrashed = true;
    }
    return true;
}

// Counts a call that changes the disk. Returns whether the process is dead.
static bool dies(place *place) { return place->isCrashed || strikes(place, FERRY_FAULT_CRASH); }

// MARK: Files

static int closeFile(sqlite3_file *file) {
    handle *own = (handle *)file;
    int code = real(file)->pMethods->xClose(real(file));
    pthread_mutex_lock(&lock);
    if (own->place != NULL) own->place->openFiles--;
    pthread_mutex_unlock(&lock);
    return code;
}

static int readFile(sqlite3_file *file, void *bytes, int amount, sqlite3_int64 offset) {
    place *place = ((handle *)file)->place;
    if (place != NULL) {
        pthread_mutex_lock(&lock);
        bool fails = place->isCrashed || strikes(place, FERRY_FAULT_READ);
        pthread_mutex_unlock(&lock);
        if (fails) return SQLITE_IOERR_READ;
    }
    return real(file)->pMethods->xRead(real(file), bytes, amount, offset);
}

static int writeFile(sqlite3_file *file, const void *bytes, int amount, sqlite3_int64 offset) {
    handle *own = (handle *)file;
    sqlite3_file *below = real(file);
    if (own->place == NULL) return below->pMethods->xWrite(below, bytes, amount, offset);
    pthread_mutex_lock(&lock);
    int code = SQLITE_OK;
    if (dies(own->place)) {
        code = SQLITE_IOERR_WRITE;
    } else if (strikes(own->place, FERRY_FAULT_FULL)) {
        code = SQLITE_FULL;
    } else if (strikes(own->place, FERRY_FAULT_WRITE)) {
        code = SQLITE_IOERR_WRITE;
    } else {
        code = ferry_disk_will_change(own->disk, below, offset, amount);
        if (code == SQLITE_OK) code = below->pMethods->xWrite(below, bytes, amount, offset);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static int truncateFile(sqlite3_file *file, sqlite3_int64 size) {
    handle *own = (handle *)file;
    sqlite3_file *below = real(file);
    if (own->place == NULL) return below->pMethods->xTruncate(below, size);
    pthread_mutex_lock(&lock);
    int code = SQLITE_OK;
    if (dies(own->place) || strikes(own->place, FERRY_FAULT_WRITE)) {
        code = SQLITE_IOERR_TRUNCATE;
    } else {
        sqlite3_int64 end = 0;
        code = below->pMethods->xFileSize(below, &end);
        if (code == SQLITE_OK) {
            code = ferry_disk_will_change(own->disk, below, size, end > size ? end - size : 0);
        }
        if (code == SQLITE_OK) code = below->pMethods->xTruncate(below, size);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static int syncFile(sqlite3_file *file, int flags) {
    handle *own = (handle *)file;
    sqlite3_file *below = real(file);
    if (own->place == NULL) return below->pMethods->xSync(below, flags);
    pthread_mutex_lock(&lock);
    int code = SQLITE_OK;
    if (dies(own->place) || strikes(own->place, FERRY_FAULT_SYNC)) {
        code = SQLITE_IOERR_FSYNC;
    } else {
        // What is certain is known here; the computer's own disk has nothing to do with it.
        ferry_disk_did_sync(own->disk);
        if (own->syncsDirectory) {
            didSyncDirectory(own->place, own->disk->path);
            own->syncsDirectory = false;
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static bool isDead(handle *own) {
    pthread_mutex_lock(&lock);
    bool isDead = own->place != NULL && own->place->isCrashed;
    pthread_mutex_unlock(&lock);
    return isDead;
}

static int fileSize(sqlite3_file *file, sqlite3_int64 *size) {
    if (isDead((handle *)file)) return SQLITE_IOERR_FSTAT;
    return real(file)->pMethods->xFileSize(real(file), size);
}

// Whether taking a lock fails, and with what.
static int lockFault(handle *own) {
    if (own->place == NULL) return SQLITE_OK;
    pthread_mutex_lock(&lock);
    int code = own->place->isCrashed ? SQLITE_IOERR_LOCK
        : strikes(own->place, FERRY_FAULT_BUSY) ? SQLITE_BUSY : SQLITE_OK;
    pthread_mutex_unlock(&lock);
    return code;
}

static int lockFile(sqlite3_file *file, int level) {
    int code = lockFault((handle *)file);
    return code != SQLITE_OK ? code : real(file)->pMethods->xLock(real(file), level);
}

// Locks of a dead process end, so giving them back always works.
static int unlockFile(sqlite3_file *file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }

static int checkReservedLock(sqlite3_file *file, int *result) {
    return real(file)->pMethods->xCheckReservedLock(real(file), result);
}

static int fileControl(sqlite3_file *file, int operation, void *argument) {
    if (operation == SQLITE_FCNTL_MMAP_SIZE) {
        *(sqlite3_int64 *)argument = 0;
        return SQLITE_OK;
    }
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

static int sectorSize(sqlite3_file *file) { return real(file)->pMethods->xSectorSize(real(file)); }

static int deviceCharacteristics(sqlite3_file *file) {
    // Batches of writes would pass unseen.
    return real(file)->pMethods->xDeviceCharacteristics(real(file)) & ~SQLITE_IOCAP_BATCH_ATOMIC;
}

// MARK: Shared memory

static int mapSharedMemory(sqlite3_file *file, int region, int size, int extends, void volatile **memory) {
    if (isDead((handle *)file)) return SQLITE_IOERR_SHMMAP;
    return real(file)->pMethods->xShmMap(real(file), region, size, extends, memory);
}

static int lockSharedMemory(sqlite3_file *file, int offset, int count, int flags) {
    // Readers' locks SQLite asks for again by itself, for seconds.
    bool isFault = flags & SQLITE_SHM_LOCK && flags & SQLITE_SHM_EXCLUSIVE;
    int code = isFault ? lockFault((handle *)file) : SQLITE_OK;
    return code != SQLITE_OK ? code : real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static void barrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }

static int unmapSharedMemory(sqlite3_file *file, int removes) {
    return real(file)->pMethods->xShmUnmap(real(file), removes && !isDead((handle *)file));
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = closeFile,
    .xRead = readFile,
    .xWrite = writeFile,
    .xTruncate = truncateFile,
    .xSync = syncFile,
    .xFileSize = fileSize,
    .xLock = lockFile,
    .xUnlock = unlockFile,
    .xCheckReservedLock = checkReservedLock,
    .xFileControl = fileControl,
    .xSectorSize = sectorSize,
    .xDeviceCharacteristics = deviceCharacteristics,
    .xShmMap = mapSharedMemory,
    .xShmLock = lockSharedMemory,
    .xShmBarrier = barrier,
    .xShmUnmap = unmapSharedMemory,
};

// MARK: The file system

// Opens a watched file, while the lock is held.
static int openWatched(handle *own, place *place, const char *path, int flags, int *outFlags) {
    int isThere = 1;
    int code = platform->xAccess(platform, path, SQLITE_ACCESS_EXISTS, &isThere);
    if (code != SQLITE_OK) return code;
    bool creates = !isThere && flags & SQLITE_OPEN_CREATE;
    if (place->isCrashed || (creates && dies(place))) return SQLITE_CANTOPEN;
    code = platform->xOpen(platform, path, real(&own->base), flags, outFlags);
    if (code != SQLITE_OK) return code;
    ferry_disk *disk = diskOf(place, path);
    if (disk == NULL) {
        disk = addDisk(place, path, isThere);
        disk->isThere = true;
    } else if (creates) {
        ferry_disk_did_name(disk, true);
    }
    own->place = place;
    own->disk = disk;
    // SQLite goes by the flags, not by whether the file is new: a killed process may have made the file, and its name is not certain yet
    // (os_unix.c, unixOpen).
    own->syncsDirectory = flags & SQLITE_OPEN_CREATE
                          && flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL);
    place->openFiles++;
    return SQLITE_OK;
}

static int openFile(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *outFlags) {
    (void)vfs;
    handle *own = (handle *)file;
    memset(own, 0, sizeof *own);
    memset(real(file), 0, (size_t)platform->szOsFile);
    pthread_mutex_lock(&lock);
    place *place = placeOf(path);
    int code = place != NULL ? openWatched(own, place, path, flags, outFlags)
                             : platform->xOpen(platform, path, real(file), flags, outFlags);
    pthread_mutex_unlock(&lock);
    // A file that failed to open may have methods, and then SQLite closes it.
    if (real(file)->pMethods != NULL) own->base.pMethods = &methods;
    return code;
}

static int deleteFile(sqlite3_vfs *vfs, const char *path, int syncsDirectory) {
    (void)vfs;
    pthread_mutex_lock(&lock);
    place *place = placeOf(path);
    int code;
    if (place == NULL) {
        code = platform->xDelete(platform, path, syncsDirectory);
    } else if (dies(place) || strikes(place, FERRY_FAULT_WRITE)) {
        code = SQLITE_IOERR_DELETE;
    } else {
        ferry_disk *disk = diskOf(place, path);
        if (disk == NULL) disk = addDisk(place, path, true);
        bool isKept = !disk->isThere || ferry_disk_will_remove(disk);
        code = platform->xDelete(platform, path, 0);
        if (code == SQLITE_OK && !isKept) code = SQLITE_IOERR_DELETE;
        if (code == SQLITE_OK) {
            ferry_disk_did_name(disk, false);
            if (syncsDirectory) didSyncDirectory(place, path);
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static int accessFile(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
    (void)vfs;
    return platform->xAccess(platform, path, flags, result);
}

static int fullPath(sqlite3_vfs *vfs, const char *path, int size, char *result) {
    (void)vfs;
    return platform->xFullPathname(platform, path, size, result);
}

static void *openLibrary(sqlite3_vfs *vfs, const char *path) {
    (void)vfs;
    return platform->xDlOpen(platform, path);
}

static void libraryError(sqlite3_vfs *vfs, int size, char *message) {
    (void)vfs;
    platform->xDlError(platform, size, message);
}

static void (*librarySymbol(sqlite3_vfs *vfs, void *library, const char *name))(void) {
    (void)vfs;
    return platform->xDlSym(platform, library, name);
}

static void closeLibrary(sqlite3_vfs *vfs, void *library) {
    (void)vfs;
    platform->xDlClose(platform, library);
}

static int randomness(sqlite3_vfs *vfs, int size, char *bytes) {
    (void)vfs;
    return platform->xRandomness(platform, size, bytes);
}

// What SQLite takes for the time, in milliseconds since the Unix epoch; 0: the computer's.
static _Atomic int64_t simulatedTime = 0;

static int sleepFor(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    // Where time is simulated nobody waits for a lock that a fault holds.
    if (simulatedTime != 0) return microseconds;
    return platform->xSleep(platform, microseconds);
}

// SQLite counts from noon of the 24th of November 4714 BC, the beginning of Julian days.
static const int64_t unixEpoch = 210866760000000;
static const double millisecondsADay = 86400000.0;

void ferry_fault_set_time(int64_t milliseconds) { simulatedTime = milliseconds; }

static int currentTime(sqlite3_vfs *vfs, double *time) {
    (void)vfs;
    if (simulatedTime != 0) {
        *time = (double)(simulatedTime + unixEpoch) / millisecondsADay;
        return SQLITE_OK;
    }
    return platform->xCurrentTime(platform, time);
}

static int lastError(sqlite3_vfs *vfs, int size, char *message) {
    (void)vfs;
    return platform->xGetLastError(platform, size, message);
}

static int currentTimeInteger(sqlite3_vfs *vfs, sqlite3_int64 *time) {
    (void)vfs;
    if (simulatedTime != 0) {
        *time = simulatedTime + unixEpoch;
        return SQLITE_OK;
    }
    return platform->xCurrentTimeInt64(platform, time);
}

static int setSystemCall(sqlite3_vfs *vfs, const char *name, sqlite3_syscall_ptr call) {
    (void)vfs;
    return platform->xSetSystemCall(platform, name, call);
}

static sqlite3_syscall_ptr getSystemCall(sqlite3_vfs *vfs, const char *name) {
    (void)vfs;
    return platform->xGetSystemCall(platform, name);
}

static const char *nextSystemCall(sqlite3_vfs *vfs, const char *name) {
    (void)vfs;
    return platform->xNextSystemCall(platform, name);
}

static sqlite3_vfs wrapper = {
    .iVersion = 3,
    .zName = "ferry-fault",
    .xOpen = openFile,
    .xDelete = deleteFile,
    .xAccess = accessFile,
    .xFullPathname = fullPath,
    .xDlOpen = openLibrary,
    .xDlError = libraryError,
    .xDlSym = librarySymbol,
    .xDlClose = closeLibrary,
    .xRandomness = randomness,
    .xSleep = sleepFor,
    .xCurrentTime = currentTime,
    .xGetLastError = lastError,
    .xCurrentTimeInt64 = currentTimeInteger,
    .xSetSystemCall = setSystemCall,
    .xGetSystemCall = getSystemCall,
    .xNextSystemCall = nextSystemCall,
};

// MARK: The interface

int ferry_fault_register(void) {
    sqlite3_vfs *present = sqlite3_vfs_find(NULL);
    if (present == NULL) return SQLITE_ERROR;
    if (present != &wrapper) {
        platform = present;
        wrapper.szOsFile = (int)sizeof(handle) + platform->szOsFile;
        wrapper.mxPathname = platform->mxPathname;
    }
    return sqlite3_vfs_register(&wrapper, 1);
}

int ferry_fault_unregister(void) {
    int code = sqlite3_vfs_unregister(&wrapper);
    // SQLite makes any other one the default then.
    return code == SQLITE_OK && platform != NULL ? sqlite3_vfs_register(platform, 1) : code;
}

static place *placeNamed(const char *prefix) {
    place *place = places;
    while (place != NULL && strcmp(place->prefix, prefix) != 0) place = place->next;
    return place;
}

static void forgetDisks(place *place) {
    while (place->disks != NULL) {
        ferry_disk *disk = place->disks;
        place->disks = disk->next;
        ferry_disk_free(disk);
    }
}

void ferry_fault_watch(const char *prefix) {
    pthread_mutex_lock(&lock);
    if (placeNamed(prefix) == NULL) {
        place *made = calloc(1, sizeof *made);
        if (made == NULL || (made->prefix = strdup(prefix)) == NULL) abort();
        made->next = places;
        places = made;
    }
    pthread_mutex_unlock(&lock);
}

void ferry_fault_forget(const char *prefix) {
    pthread_mutex_lock(&lock);
    place **link = &places;
    while (*link != NULL && strcmp((*link)->prefix, prefix) != 0) link = &(*link)->next;
    place *place = *link;
    // Handles that are open still point to it.
    if (place != NULL && place->openFiles == 0) {
        *link = place->next;
        forgetDisks(place);
        free(place->prefix);
        free(place);
    }
    pthread_mutex_unlock(&lock);
}

void ferry_fault_arm(const char *prefix, ferry_fault_kind kind, int64_t countdown, int64_t times) {
    pthread_mutex_lock(&lock);
    place *place = placeNamed(prefix);
    if (place != NULL) {
        place->kind = kind;
        place->countdown = countdown;
        place->times = times;
    }
    pthread_mutex_unlock(&lock);
}

void ferry_fault_disarm(const char *prefix) { ferry_fault_arm(prefix, FERRY_FAULT_FULL, 0, 0); }

int ferry_fault_recover(const char *prefix, ferry_loss loss, uint64_t seed) {
    pthread_mutex_lock(&lock);
    place *place = placeNamed(prefix);
    int result = place == NULL ? 0 : place->openFiles;
    if (place != NULL && result == 0) {
        for (ferry_disk *disk = place->disks; disk != NULL; disk = disk->next) {
            if (!ferry_disk_lose(disk, loss, &seed)) result = -1;
        }
        // Where only the process died, what was not synchronized still is not.
        if (loss != FERRY_LOSS_NOTHING) forgetDisks(place);
        place->isCrashed = false;
        place->times = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int64_t ferry_fault_count(const char *prefix, ferry_fault_kind kind) {
    pthread_mutex_lock(&lock);
    place *place = placeNamed(prefix);
    int64_t count = place == NULL ? 0 : place->counts[kind];
    pthread_mutex_unlock(&lock);
    return count;
}

int64_t ferry_fault_injected(const char *prefix) {
    pthread_mutex_lock(&lock);
    place *place = placeNamed(prefix);
    int64_t count = place == NULL ? 0 : place->injected;
    pthread_mutex_unlock(&lock);
    return count;
}

bool ferry_fault_is_crashed(const char *prefix) {
    pthread_mutex_lock(&lock);
    place *place = placeNamed(prefix);
    bool isCrashed = place != NULL && place->isCrashed;
    pthread_mutex_unlock(&lock);
    return isCrashed;
}
