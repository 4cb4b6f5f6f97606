// Loads libpq when it is first used, not with the program.
#ifndef ACCOUNTCTL_CLIBPQLOADER_H
#define ACCOUNTCTL_CLIBPQLOADER_H

/// Loads libpq now. NULL, or why it cannot be: a text that stays.
const char *clibpqloader_load(void);

#endif
