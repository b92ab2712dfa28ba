/* LD_PRELOAD: while a file called "late" is in the current directory, the first process that looks for the register, and
   finds none, goes on when that file is gone. It says that it waits by a file called "waits". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static void look(const char *path)
{
    struct timespec moment = {0, 10000000};

    if (strcmp(path, "global/4294965250") != 0 || access("late", F_OK) != 0)
        return;
    if (close(REAL(open)("waits", O_CREAT | O_EXCL | O_WRONLY, 0600)) != 0)
        return;
    while (access("late", F_OK) == 0)
        nanosleep(&moment, NULL);
}

static int opened(int file, const char *path)
{
    if (file < 0 && errno == ENOENT) {
        look(path);
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
