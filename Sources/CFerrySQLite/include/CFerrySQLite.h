// The parts of SQLite's C interface that Swift cannot call: variadic functions and pointer constants.
#pragma once
#include <sqlite3.h>

// Turns all triggers of a connection on or off; returns an SQLite result code and the setting now in force.
// https://www.sqlite.org/c3ref/c_dbconfig_defensive.html#sqlitedbconfigenabletrigger
int ferry_sqlite3_enable_triggers(sqlite3 *connection, int enable, int *now);

// Turns the enforcement of foreign keys on or off; unlike the PRAGMA it does so inside a transaction too.
// https://www.sqlite.org/c3ref/c_dbconfig_defensive.html#sqlitedbconfigenablefkey
int ferry_sqlite3_enable_foreign_keys(sqlite3 *connection, int enable, int *now);

// Reads the size of a connection's main file, and the bytes at its start, by SQLite's own handle: closing another handle
// would release the process's locks. `count` becomes the number of bytes read. `SQLITE_NOTFOUND` without a file.
// https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlfilepointer
int ferry_sqlite3_read_start(sqlite3 *connection, void *bytes, int *count, sqlite3_int64 *size);

// 1 if later writes to a connection's journal leave bytes that are already there unharmed by a loss of power, so that a commit may be
// made durable after others were appended. https://www.sqlite.org/c3ref/c_iocap_atomic.html
int ferry_sqlite3_overwrites_safely(sqlite3 *connection);

// Writes a connection's journal or write-ahead log to the disk, as a commit under `synchronous = FULL` does. For a connection in no
// transaction. https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntljournalpointer
int ferry_sqlite3_synchronize_log(sqlite3 *connection);

// Binds bytes that SQLite copies before returning (SQLITE_TRANSIENT).
int ferry_sqlite3_bind_text_copy(sqlite3_stmt *statement, int index, const void *bytes, int count);
int ferry_sqlite3_bind_blob_copy(sqlite3_stmt *statement, int index, const void *bytes, int count);

// Gives bytes as the result of an SQL function; SQLite copies them before returning.
void ferry_sqlite3_result_text_copy(sqlite3_context *context, const void *bytes, int count);
void ferry_sqlite3_result_blob_copy(sqlite3_context *context, const void *bytes, int count);
