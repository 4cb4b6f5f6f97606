// Loads libpq when it is first used, not with the program.
#ifndef ACCOUNTCTL_CLIBPQLOADER_H
#define ACCOUNTCTL_CLIBPQLOADER_H

/// Loads libpq now. Returns NULL on success, otherwise the reason as a static string.
const char *clibpqloader_load(void);

/// How many bytes OpenSSL has decrypted but not passed on; zero if libpq was built without it. Takes libpq's own SSL
/// object.
int clibpqloader_pending(void *ssl);

/// Whether OpenSSL ends a handshake with a server whose certificate it cannot verify; 0 if libpq was built without it.
/// Takes libpq's own SSL object.
int clibpqloader_verifies(void *ssl);

#endif
