-- A marker in the file asks for the default of one row.

\needs PostgreSQL 16

CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), number bigint);
COPY orders FROM PROGRAM 'seq 0 2499 | awk ''{ print ($1 % 3 ? "-" : $1) "\t" $1 }''' (DEFAULT '-');
SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id = number) FROM orders; --> 2500 | 2500 | 834
SELECT count(*), bool_and(before < id) FROM (SELECT id, lag(id) OVER (ORDER BY number) AS before FROM orders WHERE id > 2500) AS pairs;
--> 1666 | t
