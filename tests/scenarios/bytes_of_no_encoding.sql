-- In a database that does not care for encodings, names need not be text: their bytes come back as they are.

CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0;
\in ascii
CREATE EXTENSION snowflake;
CREATE FUNCTION name_of(bytes bytea) RETURNS text LANGUAGE sql AS $$ SELECT convert_from(bytes, 'SQL_ASCII') $$;
DO $$ BEGIN EXECUTE format('CREATE TABLE %1$I (%1$I serial PRIMARY KEY)', name_of('\xff41')); END $$;
SELECT count(*), position('\xff41'::bytea IN statement::bytea) > 0
    FROM snowflake_convert(to_regclass(quote_ident(name_of('\xff41'))), name_of('\xff41')::name, dry_run => false) GROUP BY 2;
--> 4 | t
