#ifndef FERRY_SQLITE_SESSION_SHIM_H
#define FERRY_SQLITE_SESSION_SHIM_H

// The library has the session functions; the header shows them only where it is told that they are there.
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

#endif
