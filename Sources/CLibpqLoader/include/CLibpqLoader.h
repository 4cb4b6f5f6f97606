// Loads libpq when it is first used, not with the program.
#ifndef ACCOUNTCTL_CLIBPQLOADER_H
#define ACCOUNTCTL_CLIBPQLOADER_H

/// Loads libpq now, if it can be; whoever calls it is told otherwise.
void clibpqloader_load(void);

#endif
