// What Swift cannot import from libpq's headers goes here as static inline functions and enum constants.
#ifndef ACCOUNTCTL_CLIBPQ_SHIM_H
#define ACCOUNTCTL_CLIBPQ_SHIM_H

#include <libpq-fe.h>

#endif
