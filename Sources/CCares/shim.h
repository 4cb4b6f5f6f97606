// c-ares is used as transport only: replies are parsed by MailRelay.
#ifndef ACCOUNTCTL_CCARES_SHIM_H
#define ACCOUNTCTL_CCARES_SHIM_H

#include <ares.h>

#endif
