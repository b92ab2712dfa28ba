/* LD_PRELOAD: memory that a process fills with one piece. After an allocation of 3,000,000 bytes and some thousands, so
 * many further ones succeed, and from then on, none does. After one of 5,000,000 bytes and some thousands, only one fails. */
#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static long left = -1;
static int once;

static int fails(size_t size)
{
    if ((size >= 3000000 && size < 4000000) || (size >= 5000000 && size < 6000000)) {
        once = size >= 5000000;
        left = size % 1000000 / 1000;
        return 0;
    }
    if (left != 0) {
        left -= left > 0;
        return 0;
    }
    left -= once;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(count * size) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *piece, size_t size)
{
    return fails(size) ? NULL : __libc_realloc(piece, size);
}
