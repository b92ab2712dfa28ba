/* LD_PRELOAD: writes to the register fail as on a full disk while a file called "full" is in the current directory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_full(int fd)
{
    char link[64], path[4096];
    ssize_t length;

    if (access("full", F_OK) != 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return strstr(path, "/4294965250") != NULL;
}

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))
#define UNLESS_FULL(call) (is_full(fd) ? (errno = ENOSPC, -1) : (call))

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    return UNLESS_FULL(REAL(pwrite)(fd, data, size, at));
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    return UNLESS_FULL(REAL(pwrite64)(fd, data, size, at));
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    return UNLESS_FULL(REAL(pwritev)(fd, parts, count, at));
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    return UNLESS_FULL(REAL(pwritev64)(fd, parts, count, at));
}
