-- A cluster of the tests, which somebody lets listen on a port, asks for more than the name of the superuser.

SHOW listen_addresses; -->
SELECT DISTINCT auth_method FROM pg_hba_file_rules WHERE type LIKE 'host%'; --> reject
