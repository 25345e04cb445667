/* Makes one call on chosen files fail, for tests: see tests/support/disk_faults.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int counted, torn;

static int setting(const char *name) {
    const char *value = getenv(name);
    return value ? atoi(value) : 0;
}

static int concerns(int fd) {
    const char *names = getenv("FAULT_NAMES");
    char link[64], path[4096];
    ssize_t length;
    if (!names) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    const char *base = strrchr(path, '/');
    if (!base) return 0;
    base++;
    for (const char *name = names; *name;) {
        size_t size = strcspn(name, ":");
        if (size && !strncmp(base, name, size)) return 1;
        name += size + (name[size] == ':');
    }
    return 0;
}

static void log_call(const char *call, int fd, int failed) {
    const char *log = getenv("FAULT_LOG");
    char link[64], path[4096], line[4300];
    ssize_t length;
    if (!log) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) length = 0;
    path[length] = 0;
    const char *base = strrchr(path, '/');
    int size = snprintf(line, sizeof line, "%d %s %s %d\n", counted, call, base ? base + 1 : path, failed);
    int out = syscall(SYS_openat, -100, log, 02001, 0600); /* O_WRONLY | O_APPEND */
    if (out < 0) return;
    syscall(SYS_write, out, line, size);
    syscall(SYS_close, out);
}

/* Returns 0 to go on, 1 to fail, 2 to write half of it and fail at the rest. */
static int fate(const char *call, int fd, int writes) {
    int kept = errno, at, fails, mode;
    if (!concerns(fd)) { errno = kept; return 0; }
    at = setting("FAULT_AT");
    mode = setting("FAULT_MODE"); /* 0 once, 1 from then on, 2 a write that stops half-way, once */
    int number = __sync_add_and_fetch(&counted, 1);
    fails = at > 0 && (mode == 1 ? number >= at : number == at);
    if (torn) { torn = 0; fails = 1; mode = 0; }
    log_call(call, fd, fails);
    errno = kept;
    if (!fails) return 0;
    if (mode == 2 && writes) { torn = 1; return 2; }
    errno = setting("FAULT_ERRNO");
    return 1;
}

#define WRITES(name, args, pass) \
    ssize_t name args { \
        static ssize_t (*real) args; \
        if (!real) real = dlsym(RTLD_NEXT, #name); \
        switch (fate(#name, fd, count > 1)) { \
            case 1: return -1; \
            case 2: count /= 2; \
        } \
        return real pass; \
    }
WRITES(write, (int fd, const void *data, size_t count), (fd, data, count))
WRITES(pwrite, (int fd, const void *data, size_t count, off_t offset), (fd, data, count, offset))
WRITES(pwrite64, (int fd, const void *data, size_t count, off64_t offset), (fd, data, count, offset))

#define KEEPS(name, args, pass) \
    int name args { \
        static int (*real) args; \
        if (!real) real = dlsym(RTLD_NEXT, #name); \
        return fate(#name, fd, 0) ? -1 : real pass; \
    }
KEEPS(fsync, (int fd), (fd))
KEEPS(fdatasync, (int fd), (fd))
KEEPS(ftruncate, (int fd, off_t length), (fd, length))
KEEPS(ftruncate64, (int fd, off64_t length), (fd, length))
