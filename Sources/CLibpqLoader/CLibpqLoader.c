// libpq is loaded when it is first used. It brings 25 libraries along, for TLS, Kerberos and LDAP: loading them with
// the program took as long as everything else that `accountctl --help` does.
//
// Each function that Swift calls is defined here and forwarded, so the release build of the program is not linked with
// libpq. A test checks that this list matches what Swift calls. A caller that did not call clibpqloader_load() first
// gets the system loader's message and exit code 127 at its first call.
#define _GNU_SOURCE
#include "CLibpqLoader.h"
#include <libpq-fe.h>

#ifdef __GLIBC__

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

// clang-format off
#define FUNCTIONS(F) \
    F(int, PQbackendPID, (const PGconn *a), (a)) \
    F(int, PQcancel, (PGcancel *a, char *b, int c), (a, b, c)) \
    F(void, PQclear, (PGresult *a), (a)) \
    F(char *, PQcmdStatus, (PGresult *a), (a)) \
    F(char *, PQcmdTuples, (PGresult *a), (a)) \
    F(PostgresPollingStatusType, PQconnectPoll, (PGconn *a), (a)) \
    F(int, PQconnectionNeedsPassword, (const PGconn *a), (a)) \
    F(PGconn *, PQconnectStartParams, (const char *const *a, const char *const *b, int c), (a, b, c)) \
    F(PQconninfoOption *, PQconninfo, (PGconn *a), (a)) \
    F(void, PQconninfoFree, (PQconninfoOption *a), (a)) \
    F(PQconninfoOption *, PQconninfoParse, (const char *a, char **b), (a, b)) \
    F(int, PQconsumeInput, (PGconn *a), (a)) \
    F(char *, PQerrorMessage, (const PGconn *a), (a)) \
    F(int, PQfformat, (const PGresult *a, int b), (a, b)) \
    F(void, PQfinish, (PGconn *a), (a)) \
    F(int, PQflush, (PGconn *a), (a)) \
    F(char *, PQfname, (const PGresult *a, int b), (a, b)) \
    F(void, PQfreeCancel, (PGcancel *a), (a)) \
    F(void, PQfreemem, (void *a), (a)) \
    F(Oid, PQftype, (const PGresult *a, int b), (a, b)) \
    F(PGcancel *, PQgetCancel, (PGconn *a), (a)) \
    F(int, PQgetCopyData, (PGconn *a, char **b, int c), (a, b, c)) \
    F(PGresult *, PQgetResult, (PGconn *a), (a)) \
    F(int, PQgetisnull, (const PGresult *a, int b, int c), (a, b, c)) \
    F(int, PQgetlength, (const PGresult *a, int b, int c), (a, b, c)) \
    F(char *, PQgetvalue, (const PGresult *a, int b, int c), (a, b, c)) \
    F(char *, PQhost, (const PGconn *a), (a)) \
    F(char *, PQhostaddr, (const PGconn *a), (a)) \
    F(int, PQisBusy, (PGconn *a), (a)) \
    F(int, PQnfields, (const PGresult *a), (a)) \
    F(PGnotify *, PQnotifies, (PGconn *a), (a)) \
    F(int, PQntuples, (const PGresult *a), (a)) \
    F(const char *, PQparameterStatus, (const PGconn *a, const char *b), (a, b)) \
    F(char *, PQport, (const PGconn *a), (a)) \
    F(int, PQputCopyEnd, (PGconn *a, const char *b), (a, b)) \
    F(char *, PQresultErrorField, (const PGresult *a, int b), (a, b)) \
    F(char *, PQresultErrorMessage, (const PGresult *a), (a)) \
    F(ExecStatusType, PQresultStatus, (const PGresult *a), (a)) \
    F(int, PQsendPrepare, (PGconn *a, const char *b, const char *c, int d, const Oid *e), (a, b, c, d, e)) \
    F(int, PQsendQuery, (PGconn *a, const char *b), (a, b)) \
    F(int, PQsendQueryParams, \
      (PGconn *a, const char *b, int c, const Oid *d, const char *const *e, const int *f, const int *g, int h), \
      (a, b, c, d, e, f, g, h)) \
    F(int, PQsendQueryPrepared, \
      (PGconn *a, const char *b, int c, const char *const *d, const int *e, const int *f, int g), (a, b, c, d, e, f, g)) \
    F(int, PQserverVersion, (const PGconn *a), (a)) \
    F(PGVerbosity, PQsetErrorVerbosity, (PGconn *a, PGVerbosity b), (a, b)) \
    F(PQnoticeReceiver, PQsetNoticeReceiver, (PGconn *a, PQnoticeReceiver b, void *c), (a, b, c)) \
    F(int, PQsetSingleRowMode, (PGconn *a), (a)) \
    F(int, PQsetnonblocking, (PGconn *a, int b), (a, b)) \
    F(int, PQsocket, (const PGconn *a), (a)) \
    F(const char *, PQsslAttribute, (PGconn *a, const char *b), (a, b)) \
    F(int, PQsslInUse, (PGconn *a), (a)) \
    F(void *, PQsslStruct, (PGconn *a, const char *b), (a, b)) \
    F(ConnStatusType, PQstatus, (const PGconn *a), (a)) \
    F(PGTransactionStatusType, PQtransactionStatus, (const PGconn *a), (a))
// clang-format on

#define MEMBER(type, name, parameters, arguments) type(*name) parameters;
static struct {
    FUNCTIONS(MEMBER)
} library;

// Functions of the TLS library that libpq brings along; NULL if libpq was built without OpenSSL.
static int (*pending)(const void *ssl);
static int (*verify_mode)(const void *ssl);

static pthread_once_t once = PTHREAD_ONCE_INIT;
// Whether the functions have been loaded.
static atomic_bool isLoaded;
// Why loading failed; empty otherwise.
static char failure[512];

static void *function(void *handle, const char *name) {
    void *address = dlsym(handle, name);
    if (address == NULL && failure[0] == 0) snprintf(failure, sizeof failure, "%s", dlerror());
    return address;
}

static void load(void) {
    void *handle = dlopen("libpq.so.5", RTLD_LAZY);
    if (handle == NULL) {
        snprintf(failure, sizeof failure, "%s", dlerror());
        return;
    }
#define LOOK_UP(type, name, parameters, arguments) library.name = (type(*) parameters)function(handle, #name);
    FUNCTIONS(LOOK_UP)
    pending = (int (*)(const void *))dlsym(handle, "SSL_pending");
    verify_mode = (int (*)(const void *))dlsym(handle, "SSL_get_verify_mode");
    if (failure[0] == 0) atomic_store_explicit(&isLoaded, true, memory_order_release);
}

const char *clibpqloader_load(void) {
    pthread_once(&once, load);
    return failure[0] == 0 ? NULL : failure;
}

static void require(void) {
    pthread_once(&once, load);
    if (atomic_load_explicit(&isLoaded, memory_order_acquire)) return;
    dprintf(2, "%s: error while loading shared libraries: %s\n", program_invocation_name, failure);
    _exit(127);
}

// Hidden, so that libpq's calls of its own functions do not end up here.
#define PASS_ON(type, name, parameters, arguments) \
    __attribute__((visibility("hidden"))) type name parameters { \
        if (!atomic_load_explicit(&isLoaded, memory_order_acquire)) require(); \
        return library.name arguments; \
    }
FUNCTIONS(PASS_ON)

#else

#include <dlfcn.h>
#include <pthread.h>

static int (*pending)(const void *ssl);
static int (*verify_mode)(const void *ssl);
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    pending = (int (*)(const void *))dlsym(RTLD_DEFAULT, "SSL_pending");
    verify_mode = (int (*)(const void *))dlsym(RTLD_DEFAULT, "SSL_get_verify_mode");
}

const char *clibpqloader_load(void) {
    return NULL;
}

#endif

int clibpqloader_pending(void *ssl) {
    pthread_once(&once, load);
    return ssl != NULL && pending != NULL ? pending(ssl) : 0;
}

int clibpqloader_verifies(void *ssl) {
    pthread_once(&once, load);
    // SSL_VERIFY_PEER, whose value is part of OpenSSL's interface.
    return ssl != NULL && verify_mode != NULL && (verify_mode(ssl) & 1) != 0;
}
