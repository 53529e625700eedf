#include "CFerryCurl.h"

#include <dlfcn.h>
#include <stddef.h>

// The type of each pointer is the one that libcurl's header declares. Nothing here is linked with libcurl.
static __typeof__(curl_global_init) *global_init;
static __typeof__(curl_easy_init) *easy_init;
static __typeof__(curl_easy_cleanup) *easy_cleanup;
static __typeof__(curl_easy_reset) *easy_reset;
static __typeof__(curl_easy_perform) *easy_perform;
static __typeof__(curl_easy_strerror) *easy_strerror;
static __typeof__(curl_easy_setopt) *easy_setopt;
static __typeof__(curl_easy_getinfo) *easy_getinfo;
static __typeof__(curl_slist_append) *slist_append;
static __typeof__(curl_slist_free_all) *slist_free_all;

static const struct {
    const char *name;
    void **function;
} needed[] = {
    {"curl_global_init", (void **)&global_init},     {"curl_easy_init", (void **)&easy_init},
    {"curl_easy_cleanup", (void **)&easy_cleanup},   {"curl_easy_reset", (void **)&easy_reset},
    {"curl_easy_perform", (void **)&easy_perform},   {"curl_easy_strerror", (void **)&easy_strerror},
    {"curl_easy_setopt", (void **)&easy_setopt},     {"curl_easy_getinfo", (void **)&easy_getinfo},
    {"curl_slist_append", (void **)&slist_append},   {"curl_slist_free_all", (void **)&slist_free_all},
};

// Leaves the pointers as they are where a function is missing.
static int take_every_function(void *library) {
    size_t count = sizeof needed / sizeof needed[0];
    for (size_t index = 0; index < count; index++) {
        if (dlsym(library, needed[index].name) == NULL) return 0;
    }
    for (size_t index = 0; index < count; index++) *needed[index].function = dlsym(library, needed[index].name);
    return 1;
}

const char *ferry_curl_load_from(const char *const *names) {
    for (; *names != NULL; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) continue;
        if (take_every_function(library)) return NULL;
        dlclose(library);
    }
    return "libcurl is not on this computer; install the package libcurl4 of Debian and Ubuntu, libcurl of others";
}

const char *ferry_curl_load(void) {
#ifdef __APPLE__
    static const char *const names[] = {"/usr/lib/libcurl.4.dylib", NULL};
#else
    // Debian has a second one, with another library for TLS (https://packages.debian.org/libcurl3-gnutls).
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
#endif
    return ferry_curl_load_from(names);
}

CURLcode ferry_curl_global_init(long flags) { return global_init(flags); }

CURL *ferry_curl_easy_init(void) { return easy_init(); }

void ferry_curl_easy_cleanup(CURL *handle) { easy_cleanup(handle); }

void ferry_curl_easy_reset(CURL *handle) { easy_reset(handle); }

CURLcode ferry_curl_easy_perform(CURL *handle) { return easy_perform(handle); }

const char *ferry_curl_easy_strerror(CURLcode code) { return easy_strerror(code); }

struct curl_slist *ferry_curl_slist_append(struct curl_slist *list, const char *line) { return slist_append(list, line); }

void ferry_curl_slist_free_all(struct curl_slist *list) { slist_free_all(list); }

CURLcode ferry_curl_set_number(CURL *handle, CURLoption option, long value) {
    return easy_setopt(handle, option, value);
}

CURLcode ferry_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return easy_setopt(handle, option, value);
}

CURLcode ferry_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return easy_setopt(handle, option, value);
}

CURLcode ferry_curl_set_data(CURL *handle, CURLoption option, ferry_curl_data function) {
    return easy_setopt(handle, option, function);
}

CURLcode ferry_curl_set_progress(CURL *handle, curl_xferinfo_callback function, void *context) {
    CURLcode code = easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, function);
    if (code == CURLE_OK) code = easy_setopt(handle, CURLOPT_XFERINFODATA, context);
    if (code == CURLE_OK) code = easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    return code;
}

CURLcode ferry_curl_get_number(CURL *handle, CURLINFO info, long *value) { return easy_getinfo(handle, info, value); }
