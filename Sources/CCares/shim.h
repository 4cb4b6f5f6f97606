// c-ares is used as transport only: replies are parsed by MailRelay.
#ifndef ACCOUNTCTL_CCARES_SHIM_H
#define ACCOUNTCTL_CCARES_SHIM_H

#include <ares.h>

// The statuses are macros in old releases and an enumeration in new ones; these are plain integers in both.
enum {
    ACCOUNTCTL_ARES_SUCCESS = ARES_SUCCESS,
    ACCOUNTCTL_ARES_TIMEOUT = ARES_ETIMEOUT,
    ACCOUNTCTL_ARES_DESTROYED = ARES_EDESTRUCTION,
};

#endif
