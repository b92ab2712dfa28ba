#!/bin/sh
# Installs snowflake_pg @VERSION@ into a server of PostgreSQL @MAJOR@, from the files beside this one, or removes it.
#
#   ./install.sh            install
#   ./install.sh uninstall  remove it again
#   ./install.sh check      fail, and say why, if it cannot be installed; change nothing
#
# PG_CONFIG=/path/to/pg_config chooses the server; by default, this is the pg_config in the PATH. DESTDIR=/path
# installs the files below /path, for packagers. FORCE=1 overwrites another project's extension that is also called
# "snowflake".
set -eu

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

pg_config=$(command -v "${PG_CONFIG:-pg_config}") \
    || fail "${PG_CONFIG:-pg_config} was not found: set PG_CONFIG to the pg_config of PostgreSQL @MAJOR@, such as /usr/lib/postgresql/@MAJOR@/bin/pg_config"
server=$("$pg_config" --version)
case $server in
"PostgreSQL @MAJOR@"[.\ a-z]*) ;;
*) fail "this is snowflake_pg for PostgreSQL @MAJOR@, and $pg_config is of $server: set PG_CONFIG, or take the files for that version" ;;
esac
extension_dir=${DESTDIR:-}$("$pg_config" --sharedir)/extension
library_dir=${DESTDIR:-}$("$pg_config" --pkglibdir)
control=$extension_dir/snowflake.control
here=$(cd "$(dirname "$0")" && pwd)
library=$here/lib/snowflake_pg.so

is_ours() { grep -qs '@OUR_LINE@' "$control"; }

# machine FILE: the field of a program or library that names the processor.
machine() { od -An -tx1 -j18 -N2 "$1"; }

# Fails unless the library is for this processor and for a glibc that is not newer than that of the system.
check_library() {
    program=$("$pg_config" --bindir)/postgres
    if [ -e "$program" ] && [ "$(machine "$program")" != "$(machine "$library")" ]; then
        fail "the library is for another processor than $program"
    fi
    needed=$(grep -ao 'GLIBC_[0-9.]*' "$library" | sort -Vu | tail -n 1 | cut -d_ -f2)
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)
    [ "$(printf '%s\n' "$needed" "$glibc" | sort -V | tail -n 1)" = "$glibc" ] \
        || fail "the library needs glibc $needed, and this system has ${glibc:-none}"
}

check() {
    [ ! -e "$library" ] || check_library
    [ ! -e "$control" ] || is_ours || [ "${FORCE:-}" = 1 ] \
        || fail "$control belongs to another project: $(sed -n 's/^comment *= *//p' "$control")
Nothing was installed. FORCE=1 overwrites it."
}

# into DIRECTORY COMMAND...: runs a command that writes into the directory, or creates it. Uses sudo only if this user
# may not do that.
into() {
    nearest=$1
    shift
    while [ ! -e "$nearest" ]; do nearest=$(dirname "$nearest"); done
    if [ -w "$nearest" ] || [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# place FILE DIRECTORY MODE: installs a file. Replaces an existing one with a rename, because a server that runs with
# the old library needs its unchanged file.
place() {
    name=$(basename "$1")
    into "$2" mkdir -p "$2"
    into "$2" install -m "$3" "$1" "$2/.$name.new"
    into "$2" mv -f "$2/.$name.new" "$2/$name"
    echo "    $2/$name"
}

case ${1:-install} in
check) check ;;
install)
    check
    if is_ours; then replaced=1; else replaced=; fi
    # The library is installed first: it works with the objects of older versions, but an older library does not work
    # with the objects of newer scripts.
    place "$library" "$library_dir" 755
    for file in "$here"/share/extension/*; do place "$file" "$extension_dir" 644; done
    if [ -n "$replaced" ]; then
        cat <<'END'

Installed over another version, or over the same one. A running server keeps the old library until it is restarted.
Restart the server, standbys first. Then, in each database that has the extension:

    ALTER EXTENSION snowflake UPDATE;
END
    else
        cat <<'END'

Installed. Give this server numbers that no other server of yours has. Write them into a file outside its data
directory, such as /etc/snowflake/identity.conf, so that a copy of the directory does not have them:

    snowflake.datacenter_id = 1
    snowflake.worker_id = 1

If the host names of your servers have numbers, such as db-1, a line that is the same on all can take the place of the
second one: snowflake.worker_id_from = 'hostname=db-*'

Add to postgresql.conf, and restart the server:

    shared_preload_libraries = 'snowflake_pg'
    include '/etc/snowflake/identity.conf'

If shared_preload_libraries is set already, add snowflake_pg to its list, after a comma.

Then, in each database: CREATE EXTENSION snowflake;
END
    fi
    ;;
uninstall)
    if is_ours; then
        for script in "$extension_dir"/snowflake--*.sql; do
            # Our scripts contain one of these names. Other scripts may be left from a project whose control file
            # FORCE=1 overwrote.
            if grep -qs -e snowflake_pg -e snowflake_internal "$script"; then into "$extension_dir" rm -f "$script"; fi
        done
        into "$extension_dir" rm -f "$control"
    elif [ -e "$control" ]; then
        echo "    $control belongs to another project, and was not removed."
    fi
    into "$library_dir" rm -f "$library_dir/snowflake_pg.so"
    echo "    snowflake_pg was removed from $server. Before its next restart, take snowflake_pg out of shared_preload_libraries."
    ;;
*) fail "usage: $0 [install|check|uninstall]" ;;
esac
