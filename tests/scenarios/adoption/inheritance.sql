-- Inheritance is not partitioning: a table that inherits has keys, defaults and columns of its own.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

CREATE SCHEMA blog;
SET snowflake.adopted_schemas = '';
CREATE TABLE parent (id bigint, name text); CREATE TABLE serial_parent (id bigserial PRIMARY KEY);
SET snowflake.adopted_schemas = 'blog';
CREATE TABLE child (id bigserial PRIMARY KEY) INHERITS (parent);
--> NOTICE: merging column "id" with inherited definition
CREATE TABLE identity_child (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY) INHERITS (parent);
--> NOTICE: merging column "id" with inherited definition
CREATE TABLE narrow_child (a integer, b serial PRIMARY KEY) INHERITS (parent);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column b of table blog.narrow_child: it is of type integer.
-- The child has the parent's default, with the sequence that the parent owns.
CREATE TABLE of_serial (PRIMARY KEY (id)) INHERITS (serial_parent);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.of_serial: its default takes values of a sequence that it does not own.
SELECT attrelid::regclass, coalesce(pg_get_expr(adbin, adrelid), attidentity::text) FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
    WHERE attname = 'id' AND attrelid IN ('parent'::regclass, 'child'::regclass, 'identity_child'::regclass) ORDER BY 1;
--> parent | 
--> child | snowflake_nextval()
--> identity_child | snowflake_nextval()
INSERT INTO child DEFAULT VALUES; INSERT INTO identity_child DEFAULT VALUES;

-- The check names those that stay, and whose parents have them.
SELECT detail FROM snowflake_check() WHERE name = 'adoption';
--> Keys in adopted schemas: 5, with snowflake IDs: 2, not bigint: 1. Keys that take values of a sequence: 2 (blog.of_serial.id, blog.serial_parent.id), by the setting of this session.

-- A table that inherits the column keeps a default of its own, so the key stays.
CREATE TABLE top (id bigserial);
CREATE TABLE below (id bigint DEFAULT 7) INHERITS (top); --> NOTICE: merging column "id" with inherited definition
ALTER TABLE top ADD PRIMARY KEY (id);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.top: a table that inherits it has another default.
INSERT INTO below DEFAULT VALUES RETURNING id; --> 7
CREATE TABLE same_top (id bigserial); CREATE TABLE same_below () INHERITS (same_top); ALTER TABLE same_top ADD PRIMARY KEY (id);
INSERT INTO same_below DEFAULT VALUES RETURNING id = snowflake_currval(); --> t

-- The hint of a reference names the table that has the column of its own.
CREATE TABLE users (id bigserial PRIMARY KEY);
CREATE TABLE animals (name text);
CREATE TABLE dogs (owner integer REFERENCES users) INHERITS (animals);
--> WARNING: column owner of table blog.dogs cannot hold the snowflake IDs that it refers to
--> HINT: Run ALTER TABLE blog.dogs ALTER COLUMN owner TYPE bigint.
ALTER TABLE blog.dogs ALTER COLUMN owner TYPE bigint;
CREATE TABLE owned (a text, owner integer); CREATE TABLE cats () INHERITS (owned);
ALTER TABLE cats ADD FOREIGN KEY (owner) REFERENCES users;
--> WARNING: column owner of table blog.cats cannot hold the snowflake IDs that it refers to
--> HINT: Run ALTER TABLE blog.owned ALTER COLUMN owner TYPE bigint.
ALTER TABLE blog.owned ALTER COLUMN owner TYPE bigint;
CREATE TABLE one (owner integer); CREATE TABLE two (owner integer);
CREATE TABLE twice (FOREIGN KEY (owner) REFERENCES users) INHERITS (one, two);
--> NOTICE: merging multiple inherited definitions of column "owner"
--> WARNING: column owner of table blog.twice cannot hold the snowflake IDs that it refers to
--> HINT: Make it bigint in blog.one and blog.two. PostgreSQL refuses this while a table inherits it from several: use ALTER TABLE ... NO INHERIT before, and INHERIT afterwards.
ALTER TABLE one ALTER owner TYPE bigint; --> ERROR 42P16
ALTER TABLE twice NO INHERIT two; ALTER TABLE two ALTER owner TYPE bigint; ALTER TABLE one ALTER owner TYPE bigint; ALTER TABLE twice INHERIT two;
INSERT INTO users DEFAULT VALUES; INSERT INTO twice SELECT id FROM users; INSERT INTO cats SELECT '', id FROM users; INSERT INTO dogs SELECT '', id FROM users;
