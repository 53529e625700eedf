// Swift calls no functions with a variable number of arguments: one function here for each type of a setting.
#ifndef CFERRYCURL_SHIM_H
#define CFERRYCURL_SHIM_H

#include <curl/curl.h>

typedef size_t (*ferry_curl_data)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode ferry_curl_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ferry_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ferry_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ferry_curl_set_data(CURL *handle, CURLoption option, ferry_curl_data function) {
    return curl_easy_setopt(handle, option, function);
}

static inline CURLcode ferry_curl_set_progress(CURL *handle, curl_xferinfo_callback function, void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, function);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_XFERINFODATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    return code;
}

static inline CURLcode ferry_curl_get_number(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

#endif
