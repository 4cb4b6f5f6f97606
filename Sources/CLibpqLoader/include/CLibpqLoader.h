// Loads libpq when it is first used, not with the program.
#ifndef ACCOUNTCTL_CLIBPQLOADER_H
#define ACCOUNTCTL_CLIBPQLOADER_H

/// Loads libpq now. NULL, or why it cannot be: a text that stays.
const char *clibpqloader_load(void);

/// How many bytes OpenSSL has decrypted and not handed over; zero where libpq does without it. Takes libpq's own SSL object.
int clibpqloader_pending(void *ssl);

#endif
