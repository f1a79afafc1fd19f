/* A disk whose syncs can fail, for one process: `LD_PRELOAD` of this puts it between SQLite and the kernel.

   What a process writes to the log (log.db, log.db-wal) stays in memory until it is synced. A sync that succeeds copies
   the written ranges to files of the same name in SYNC_DISK: they are what a power cut leaves. While the file SYNC_FAILS
   exists, a sync fails with EIO and the ranges are forgotten, as Linux does: it marks such pages as clean, so that a
   later sync succeeds without having written them. Syncs of `blobs/` fail too, but what they hold is not followed. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#define RANGES 65536

struct range { char name[16]; off_t start; size_t length; };
/* What is written and not synced. It is in a file, as the kernel's memory outlives a process. */
static struct { int count; struct range ranges[RANGES]; } *memory;

#define REAL(type, name, ...) ((type (*)(__VA_ARGS__)) dlsym(RTLD_NEXT, name))

__attribute__((constructor)) static void open_memory(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/unsynced", getenv("SYNC_DISK"));
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || REAL(int, "ftruncate", int, off_t)(fd, sizeof *memory) != 0) abort();
    memory = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) abort();
    close(fd);
}

/* The file's name if it is a part of the log, else NULL. */
static const char *tracked_path(const char *path) {
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return strcmp(name, "log.db") == 0 || strcmp(name, "log.db-wal") == 0 ? name : NULL;
}

static const char *tracked(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return tracked_path(path);
}

static int open_on_disk(const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", getenv("SYNC_DISK"), name);
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static void note(int fd, off_t start, ssize_t length) {
    char path[PATH_MAX];
    const char *name = length > 0 ? tracked(fd, path) : NULL;
    if (name == NULL) return;
    if (memory->count == RANGES) abort();
    struct range *range = &memory->ranges[memory->count++];
    strcpy(range->name, name);
    range->start = start;
    range->length = (size_t) length;
}

/* Copy the ranges of a file to the disk, or forget them. */
static void settle(int fd, const char *name, int keep) {
    int disk = keep ? open_on_disk(name) : -1, left = 0;
    for (int i = 0; i < memory->count; i++) {
        struct range *range = &memory->ranges[i];
        if (strcmp(range->name, name) != 0) {
            memory->ranges[left++] = *range;
        } else if (keep) {
            char *data = malloc(range->length);
            ssize_t got = pread(fd, data, range->length, range->start);
            if (got > 0 && REAL(ssize_t, "pwrite", int, const void *, size_t, off_t)(disk, data, (size_t) got, range->start) != got)
                abort();
            free(data);
        }
    }
    memory->count = left;
    if (disk >= 0) close(disk);
}

static int sync_file(int fd, const char *call) {
    char path[PATH_MAX];
    const char *name = tracked(fd, path);
    int fails = access(getenv("SYNC_FAILS"), F_OK) == 0;
    if (name == NULL && fails && strstr(path, "/blobs/") != NULL) {
        errno = EIO;
        return -1;
    }
    if (name == NULL) return REAL(int, call, int)(fd);
    settle(fd, name, !fails);
    if (fails) errno = EIO;
    return fails ? -1 : 0;
}

int fsync(int fd) { return sync_file(fd, "fsync"); }
int fdatasync(int fd) { return sync_file(fd, "fdatasync"); }

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    ssize_t done = REAL(ssize_t, "pwrite", int, const void *, size_t, off_t)(fd, data, size, at);
    note(fd, at, done);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    ssize_t done = REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t)(fd, data, size, at);
    note(fd, at, done);
    return done;
}

ssize_t write(int fd, const void *data, size_t size) {
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = REAL(ssize_t, "write", int, const void *, size_t)(fd, data, size);
    if (at >= 0) note(fd, at, done);
    return done;
}

/* Names and lengths reach the disk at once: the worst case is about bytes. */
static void truncate_on_disk(int fd, off_t size) {
    char path[PATH_MAX];
    const char *name = tracked(fd, path);
    int disk = name == NULL ? -1 : open_on_disk(name);
    if (disk < 0) return;
    if (REAL(int, "ftruncate", int, off_t)(disk, size) != 0) abort();
    close(disk);
}

int ftruncate(int fd, off_t size) {
    int done = REAL(int, "ftruncate", int, off_t)(fd, size);
    if (done == 0) truncate_on_disk(fd, size);
    return done;
}

int ftruncate64(int fd, off64_t size) {
    int done = REAL(int, "ftruncate64", int, off64_t)(fd, size);
    if (done == 0) truncate_on_disk(fd, size);
    return done;
}

int unlink(const char *path) {
    int done = REAL(int, "unlink", const char *)(path);
    const char *name = tracked_path(path);
    if (done == 0 && name != NULL) {
        settle(-1, name, 0);
        char disk[PATH_MAX];
        snprintf(disk, sizeof disk, "%s/%s", getenv("SYNC_DISK"), name);
        REAL(int, "unlink", const char *)(disk);
    }
    return done;
}
