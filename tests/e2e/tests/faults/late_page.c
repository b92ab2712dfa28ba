/* LD_PRELOAD: while a file called "late" is in the current directory, whoever is about to write the first page of the register
   waits until that file is gone. It says that it waits by a file called "waits". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void wait_before(int fd)
{
    struct timespec moment = {0, 10000000};
    char link[64], path[4096];
    struct stat file;
    ssize_t length;

    if (access("late", F_OK) != 0 || fstat(fd, &file) != 0 || file.st_size != 0)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return;
    path[length] = 0;
    if (strstr(path, "/4294965250") == NULL)
        return;
    close(open("waits", O_CREAT | O_WRONLY, 0600));
    while (access("late", F_OK) == 0)
        nanosleep(&moment, NULL);
}

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))
#define LATE(call) (wait_before(fd), (call))

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    return LATE(REAL(pwrite)(fd, data, size, at));
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    return LATE(REAL(pwrite64)(fd, data, size, at));
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    return LATE(REAL(pwritev)(fd, parts, count, at));
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    return LATE(REAL(pwritev64)(fd, parts, count, at));
}
