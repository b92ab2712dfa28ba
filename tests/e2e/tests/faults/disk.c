/* LD_PRELOAD: a disk that does what files in the current directory, which is that of the data, are named after:
 *
 *   full        writes to the register fail
 *   late        whoever is about to write the first page of the register waits until that file is gone
 *   look        the first process that looks for the register, and finds none, goes on when that file is gone
 *   slow        each sync of the WAL takes a second longer
 *   ../durable  this directory keeps what a power loss would leave of the directories global and pg_wal
 *
 * A process that waits says so by a file called "waits". A file that is kept has the content that it had when it was last
 * synced, in a file that is named by its inode. A directory has the entries that it had when it was last synced, in a list
 * of inodes and names. So a new file is lost unless both were synced. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The function that a library stands before. */
#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

/* The path of a file that is open. */
static char *path_of(int fd)
{
    static char path[4096];
    char link[64];
    ssize_t length;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    return path;
}

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

#define NEXT "../durable/next"

/* What fails here is a fault of the test. */
static void require(int holds)
{
    if (!holds)
        abort();
}

static void keep_content(const char *path, uintmax_t inode)
{
    char kept[64];
    ssize_t copied;
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = open(NEXT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    require(from >= 0 && to >= 0);
    while ((copied = sendfile(to, from, NULL, 1 << 30)) > 0)
        ;
    require(copied == 0 && close(from) == 0 && close(to) == 0);
    snprintf(kept, sizeof kept, "../durable/%ju", inode);
    require(rename(NEXT, kept) == 0);
}

static void keep_entries(const char *path, const char *name)
{
    char kept[64];
    struct dirent *entry;
    DIR *directory = opendir(path);
    FILE *list = fopen(NEXT, "we");

    require(directory != NULL && list != NULL);
    while ((entry = readdir(directory)) != NULL)
        if (entry->d_type == DT_REG)
            fprintf(list, "%ju %s\n", (uintmax_t) entry->d_ino, entry->d_name);
    require(closedir(directory) == 0 && fclose(list) == 0);
    snprintf(kept, sizeof kept, "../durable/%s", name);
    require(rename(NEXT, kept) == 0);
}

static void keep(int fd)
{
    char link[64], *path = path_of(fd);
    const char *name;
    struct stat file;
    int lock;

    require(fstat(fd, &file) == 0);
    if (!S_ISDIR(file.st_mode))
        *strrchr(path, '/') = 0;
    name = strrchr(path, '/');
    if (name == NULL || (strcmp(name, "/global") != 0 && strcmp(name, "/pg_wal") != 0))
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    /* Of two processes that sync a file, the later one keeps the later content. */
    lock = open("../durable/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    require(lock >= 0);
    while (flock(lock, LOCK_EX) != 0)
        require(errno == EINTR);
    if (S_ISDIR(file.st_mode))
        keep_entries(link, name + 1);
    else
        keep_content(link, file.st_ino);
    close(lock);
}

#define SYNC(name) \
    int name(int fd) \
    { \
        int answer; \
        delay(fd); \
        answer = REAL(name)(fd); \
        if (answer == 0 && is("../durable")) \
            keep(fd); \
        return answer; \
    }

SYNC(fdatasync)
SYNC(fsync)
