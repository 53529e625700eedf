// libcurl, loaded when it is first needed. A computer without libcurl runs whatever asks no server.
// Swift calls no functions with a variable number of arguments: one function here for each type of a setting.
#pragma once
#include <curl/curl.h>

typedef size_t (*ferry_curl_data)(char *bytes, size_t size, size_t count, void *context);

// Loads libcurl for the rest of the process. NULL, or why there is none. Call once, before every other function of this header.
const char *ferry_curl_load(void);
// The same from given libraries, tried in their order until one has every function; the last entry is NULL.
const char *ferry_curl_load_from(const char *const *names);

// The functions of https://curl.se/libcurl/c/allfuncs.html whose names these have.
CURLcode ferry_curl_global_init(long flags);
CURL *ferry_curl_easy_init(void);
void ferry_curl_easy_cleanup(CURL *handle);
void ferry_curl_easy_reset(CURL *handle);
CURLcode ferry_curl_easy_perform(CURL *handle);
const char *ferry_curl_easy_strerror(CURLcode code);
struct curl_slist *ferry_curl_slist_append(struct curl_slist *list, const char *line);
void ferry_curl_slist_free_all(struct curl_slist *list);

CURLcode ferry_curl_set_number(CURL *handle, CURLoption option, long value);
CURLcode ferry_curl_set_size(CURL *handle, CURLoption option, curl_off_t value);
CURLcode ferry_curl_set_pointer(CURL *handle, CURLoption option, const void *value);
CURLcode ferry_curl_set_data(CURL *handle, CURLoption option, ferry_curl_data function);
CURLcode ferry_curl_set_progress(CURL *handle, curl_xferinfo_callback function, void *context);
CURLcode ferry_curl_get_number(CURL *handle, CURLINFO info, long *value);
