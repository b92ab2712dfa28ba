-- The schemas are named as those of search_path are, and only the syntax of a value is looked at.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

CREATE SCHEMA "My Schema"; CREATE SCHEMA "My"; CREATE SCHEMA my; CREATE SCHEMA "a,b"; CREATE SCHEMA "*";

-- The schemas in which a value adopts keys, of these and public.
CREATE FUNCTION adopted(value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    schema regnamespace;
    adopted text[] := '{}';
BEGIN
    PERFORM set_config('snowflake.adopted_schemas', value, false);
    FOREACH schema IN ARRAY ARRAY['public', '"My Schema"', '"My"', 'my', '"a,b"', '"*"']::regnamespace[] LOOP
        EXECUTE format('CREATE TABLE %s.one (id bigserial PRIMARY KEY)', schema);
        IF (SELECT column_default LIKE '%snowflake_nextval()' FROM information_schema.columns
            WHERE table_name = 'one' AND quote_ident(table_schema)::regnamespace = schema) THEN
            adopted := adopted || schema::text;
        END IF;
        EXECUTE format('DROP TABLE %s.one', schema);
    END LOOP;
    RETURN array_to_string(adopted, ' ');
END $$;
SELECT adopted(''); -->
SELECT adopted('  '); -->
SELECT adopted('public'); --> public
SELECT adopted('PUBLIC , "My Schema"'); --> public "My Schema"
SELECT adopted('My'); --> my
SELECT adopted('"My","a,b", nowhere'); --> "My" "a,b"
SELECT adopted('*'); --> public "My Schema" "My" my "a,b" "*"
SELECT adopted('public, *'); --> public "My Schema" "My" my "a,b" "*"
SET snowflake.adopted_schemas = 'nowhere';

-- A value that is no list is refused, wherever it comes from.
SELECT right(errors_of(format('SET snowflake.adopted_schemas = %L', repeat('a,', 32768) || 'a')), 43);
--> | No valid value has more than 65536 bytes.
SELECT count(*), errors_of(format('%s SET snowflake.adopted_schemas = %L', place, value)) FROM unnest(ARRAY['', 'ALTER ROLE postgres', 'ALTER DATABASE scenario']) AS place,
    unnest(ARRAY['a,,b', 'a b', '"a', ',']) AS value GROUP BY 2;
--> 3 | 22023: invalid value for parameter "snowflake.adopted_schemas": "," | The valid values are lists of names, separated by commas and quoted where needed, as in search_path.
--> 3 | 22023: invalid value for parameter "snowflake.adopted_schemas": ""a" | The valid values are lists of names, separated by commas and quoted where needed, as in search_path.
--> 3 | 22023: invalid value for parameter "snowflake.adopted_schemas": "a,,b" | The valid values are lists of names, separated by commas and quoted where needed, as in search_path.
--> 3 | 22023: invalid value for parameter "snowflake.adopted_schemas": "a b" | The valid values are lists of names, separated by commas and quoted where needed, as in search_path.
\options -c snowflake.adopted_schemas=a,,b
SELECT 1; --> FATAL 22023: ...
\options -c snowflake.adopted_schemas=a\ b
SELECT 1; --> FATAL 22023: ...
\options -c snowflake.adopted_schemas="a
SELECT 1; --> FATAL 22023: ...
\options -c snowflake.adopted_schemas=,
SELECT 1; --> FATAL 22023: ...
