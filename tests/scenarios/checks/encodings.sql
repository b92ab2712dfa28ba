-- Texts of files and of other databases are shown escaped where the encoding of the database cannot hold them, and no error of one row
-- hides another.

\set snowflake.identity_requires = hostname=日本😀
\set max_prepared_transactions = 5

CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C';
CREATE DATABASE euc TEMPLATE template0 ENCODING 'EUC_JP' LOCALE 'C';
CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C';
CREATE ROLE "größe"; CREATE TABLE mine (id bigint);
BEGIN; INSERT INTO mine VALUES (1); PREPARE TRANSACTION 'größe';
ALTER ROLE "größe" SUPERUSER; ALTER ROLE "größe" SET snowflake.adopted_schemas = 'größe';

SELECT snowflake_nextval(); --> ERROR 55000: snowflake.identity_requires does not hold on this server
--> DETAIL: The name of the machine is not "日本😀".
\in latin
CREATE EXTENSION snowflake;
SELECT snowflake_nextval(); --> ERROR 55000: snowflake.identity_requires does not hold on this server
--> DETAIL: The name of the machine is not "\u65E5\u672C\U0001F600".
SELECT count(*) FROM snowflake_check() WHERE detail LIKE '%because of an error%'; --> 0
SELECT position('"\u65E5\u672C\U0001F600"' IN detail) > 0 FROM snowflake_check() WHERE name = 'identity'; --> t
\in euc
CREATE EXTENSION snowflake;
SELECT snowflake_nextval(); --> ERROR 55000: snowflake.identity_requires does not hold on this server
--> DETAIL: The name of the machine is not "日本\U0001F600".
SELECT count(*) FROM snowflake_check() WHERE detail LIKE '%because of an error%'; --> 0
SELECT detail FROM snowflake_check() WHERE name IN ('horizon', 'adoption');
--> No transaction has held it back for longer than a minute.
--> Keys in adopted schemas: 0, with snowflake IDs: 0, not bigint: 0. Schemas that do not exist: gr旦\xc3\x9fe (role "gr旦\xC3\x9Fe").
SELECT snowflake_from_base62(E'日本'); --> ERROR 22P02: invalid base 62 text for a snowflake ID: "日本"
\in ascii
CREATE EXTENSION snowflake;
SELECT count(*) FROM snowflake_check() WHERE detail LIKE '%because of an error%'; --> 0
\in
SELECT count(*) FROM snowflake_check() WHERE detail LIKE '%because of an error%'; --> 0
ROLLBACK PREPARED 'größe';
DROP ROLE "größe";
