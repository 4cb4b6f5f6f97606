// c-ares is used as transport only: replies are parsed by MailRelay.
#ifndef ACCOUNTCTL_CCARES_SHIM_H
#define ACCOUNTCTL_CCARES_SHIM_H

// Releases from 1.28 on deprecate calls that Debian 12's release has no substitute for: each use would be a warning.
#define CARES_NO_DEPRECATED
#include <ares.h>

// The statuses are macros in old releases and an enumeration in new ones; these are plain integers in both.
enum {
    ACCOUNTCTL_ARES_SUCCESS = ARES_SUCCESS,
    ACCOUNTCTL_ARES_TIMEOUT = ARES_ETIMEOUT,
    ACCOUNTCTL_ARES_DESTROYED = ARES_EDESTRUCTION,
};

#endif
