-- In a database that does not care for encodings, names need not be text: their bytes come back as they are.

CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0;
\in ascii
CREATE EXTENSION snowflake;
CREATE FUNCTION name_of(bytes bytea) RETURNS text LANGUAGE sql AS $$ SELECT convert_from(bytes, 'SQL_ASCII') $$;
DO $$ BEGIN EXECUTE format('CREATE TABLE %1$I (%1$I serial PRIMARY KEY)', name_of('\xff41')); END $$;
SELECT count(*), position('\xff41'::bytea IN line::bytea) > 0
    FROM snowflake_conversion(ARRAY[to_regclass(quote_ident(name_of('\xff41')))]) AS line WHERE line ~ '^ALTER' GROUP BY 2;
--> 2 | t
SET snowflake.adopted_schemas = 'public';
DO $$ BEGIN EXECUTE format('CREATE TABLE %1$I (%1$I bigserial PRIMARY KEY)', name_of('\xff42')); END $$;
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = to_regclass(quote_ident(name_of('\xff42')));
--> snowflake_nextval()
