-- The elements of CREATE SCHEMA are adopted.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

SET snowflake.adopted_schemas = 'shop';
CREATE SCHEMA shop
    CREATE TABLE films (id bigserial PRIMARY KEY)
    CREATE TABLE copies (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, film bigint REFERENCES films);
SELECT table_name, data_type, column_default FROM information_schema.columns
    WHERE table_schema = 'shop' AND column_name = 'id' ORDER BY table_name;
--> copies | bigint | snowflake_nextval()
--> films | bigint | snowflake_nextval()
INSERT INTO shop.films DEFAULT VALUES;
INSERT INTO shop.copies (film) SELECT id FROM shop.films;
