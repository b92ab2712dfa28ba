/* LD_PRELOAD: keeps in ../durable what a power loss would leave of the directories global and pg_wal. A file has the
 * content that it had when it was last synced, in a file that is named by its inode. A directory has the entries that it
 * had when it was last synced, in a list of inodes and names. So a new file is lost unless both were synced. */
#include "preloaded.h"
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/sendfile.h>

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
        int answer = REAL(name)(fd); \
        if (answer == 0) \
            keep(fd); \
        return answer; \
    }

SYNC(fdatasync)
SYNC(fsync)
