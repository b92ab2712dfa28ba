/* LD_PRELOAD: a disk that does what files in the current directory, which is that of the data, are named after:
 *
 *   full  writes to the register fail
 *   late  whoever is about to write the first page of the register waits until that file is gone
 *   look  the first process that looks for the register, and finds none, goes on when that file is gone
 *   slow  each sync of the WAL takes a second longer
 *
 * A process that waits says so by a file called "waits". */
#include "preloaded.h"
#include <stdarg.h>
#include <sys/uio.h>
#include <time.h>

static int is(const char *disk)
{
    return access(disk, F_OK) == 0;
}

static void wait_while(const char *disk)
{
    struct timespec moment = {0, 10000000};

    while (is(disk))
        nanosleep(&moment, NULL);
}

static int is_refused(int fd)
{
    struct stat file;

    if (strstr(path_of(fd), "/4294965250") == NULL)
        return 0;
    if (is("late") && fstat(fd, &file) == 0 && file.st_size == 0) {
        close(REAL(open)("waits", O_CREAT | O_WRONLY, 0600));
        wait_while("late");
    }
    return is("full");
}

#define WRITE(name, type, number, offset) \
    ssize_t name(int fd, type data, number size, offset at) \
    { \
        return is_refused(fd) ? (errno = ENOSPC, -1) : REAL(name)(fd, data, size, at); \
    }

WRITE(pwrite, const void *, size_t, off_t)
WRITE(pwrite64, const void *, size_t, off64_t)
WRITE(pwritev, const struct iovec *, int, off_t)
WRITE(pwritev64, const struct iovec *, int, off64_t)

static int opened(int file, const char *path)
{
    if (file < 0 && errno == ENOENT && strcmp(path, "global/4294965250") == 0 && is("look")) {
        if (close(REAL(open)("waits", O_CREAT | O_EXCL | O_WRONLY, 0600)) == 0)
            wait_while("look");
        errno = ENOENT;
    }
    return file;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        return opened(REAL(name)(path, flags, mode), path); \
    }

OPEN(open)
OPEN(open64)

static void delay(int fd)
{
    struct timespec left = {1, 0};

    /* A signal does not end a sync. */
    if (is("slow") && strstr(path_of(fd), "/pg_wal/") != NULL)
        while (nanosleep(&left, &left) != 0)
            ;
}

#define SYNC(name) \
    int name(int fd) \
    { \
        delay(fd); \
        return REAL(name)(fd); \
    }

SYNC(fdatasync)
SYNC(fsync)
