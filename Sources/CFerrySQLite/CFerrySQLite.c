#include "CFerrySQLite.h"

int ferry_sqlite3_enable_triggers(sqlite3 *connection, int enable, int *now) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, enable, now);
}

int ferry_sqlite3_enable_foreign_keys(sqlite3 *connection, int enable, int *now) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_FKEY, enable, now);
}

int ferry_sqlite3_read_start(sqlite3 *connection, void *bytes, int *count, sqlite3_int64 *size) {
    sqlite3_file *file = 0;
    int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods) return SQLITE_NOTFOUND;
    code = file->pMethods->xFileSize(file, size);
    if (code != SQLITE_OK) return code;
    if (*size < *count) *count = (int)*size;
    if (*count == 0) return SQLITE_OK;
    code = file->pMethods->xRead(file, bytes, *count, 0);
    return code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
}

int ferry_sqlite3_overwrites_safely(sqlite3 *connection) {
    sqlite3_file *file = 0;
    int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK || !file || !file->pMethods) return 0;
    return (file->pMethods->xDeviceCharacteristics(file) & SQLITE_IOCAP_POWERSAFE_OVERWRITE) != 0;
}

int ferry_sqlite3_synchronize_log(sqlite3 *connection) {
    sqlite3_file *file = 0;
    int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods) return SQLITE_OK;
    return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

int ferry_sqlite3_bind_text_copy(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_text(statement, index, bytes, count, SQLITE_TRANSIENT);
}

int ferry_sqlite3_bind_blob_copy(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

void ferry_sqlite3_result_text_copy(sqlite3_context *context, const void *bytes, int count) {
    sqlite3_result_text(context, count > 0 ? bytes : "", count, SQLITE_TRANSIENT);
}

void ferry_sqlite3_result_blob_copy(sqlite3_context *context, const void *bytes, int count) {
    if (count > 0) {
        sqlite3_result_blob(context, bytes, count, SQLITE_TRANSIENT);
    } else {
        sqlite3_result_zeroblob(context, 0);
    }
}
