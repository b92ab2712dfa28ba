-- A default can name what is no sequence. It is refused, and keeps no other key of the schema from being
-- converted.
CREATE SCHEMA shop;
CREATE TABLE shop.of_a_table (id bigint PRIMARY KEY DEFAULT nextval('pg_class'::regclass));
CREATE TABLE shop.of_null (id bigint PRIMARY KEY DEFAULT nextval(NULL::regclass));
CREATE TABLE shop.orders (id bigserial PRIMARY KEY);
SELECT snowflake_convert('shop.of_a_table', 'id'); --> ERROR 55000: column id of table shop.of_a_table cannot be converted
SELECT snowflake_convert('shop.of_null', 'id'); --> ERROR 55000: column id of table shop.of_null cannot be converted
SELECT count(*) FROM snowflake_convert(schema => 'shop', dry_run => false);
--> NOTICE: not all keys are converted to snowflake IDs
--> 3
