/* For libraries that stand between a server and its disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The function that a library hides. */
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
