-- Keys that somebody might expect to be adopted, and are not, are named once a statement, with the reason.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

CREATE SCHEMA blog;
CREATE SEQUENCE shared;
CREATE TABLE one (id bigint PRIMARY KEY DEFAULT nextval('shared'));
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.one: its default takes values of a sequence that it does not own.
--> HINT: If such a key is to take snowflake IDs, execute what snowflake_conversion() prints for it.
CREATE TABLE two (id bigint GENERATED ALWAYS AS IDENTITY (START WITH 1000) PRIMARY KEY);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.two: its sequence has options of its own.
CREATE TABLE three (id bigint GENERATED ALWAYS AS IDENTITY (INCREMENT BY 2) PRIMARY KEY);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.three: its sequence has options of its own.
CREATE TABLE four (id bigint GENERATED ALWAYS AS IDENTITY (CACHE 5) PRIMARY KEY);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.four: its sequence has options of its own.
CREATE TABLE five (id bigserial PRIMARY KEY CHECK (id < 1000));
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.five: something computes with it.
CREATE TABLE six (id bigserial PRIMARY KEY CHECK (id % 2 = 0 OR id > 0));
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.six: something computes with it.
CREATE TABLE seven (id bigserial PRIMARY KEY, other bigint DEFAULT nextval('seven_id_seq'));
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.seven: another column uses its sequence.
CREATE TABLE eight (id bigserial PRIMARY KEY, square integer GENERATED ALWAYS AS (id * id) STORED);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.eight: something computes with it.
CREATE TABLE nine (id bigserial PRIMARY KEY, EXCLUDE USING btree ((id::integer) WITH =));
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.nine: something computes with it.
CREATE TABLE ten (id bigserial PRIMARY KEY, EXCLUDE USING btree (id WITH =, (id::integer) WITH =));
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.ten: something computes with it.
CREATE TABLE eleven (id bigserial PRIMARY KEY, other integer, EXCLUDE USING btree (other WITH =) WHERE (id < 5));
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.eleven: something computes with it.
CREATE TABLE parts (id bigserial PRIMARY KEY) PARTITION BY RANGE (id);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.parts: the table is partitioned by it.
CREATE TABLE listed (id bigserial PRIMARY KEY) PARTITION BY LIST (id);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.listed: the table is partitioned by it.

-- The rows of a child are rows of the table.
CREATE TABLE full_table (a integer); INSERT INTO full_table VALUES (1);
ALTER TABLE full_table ADD COLUMN id bigserial PRIMARY KEY;
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.full_table: the table has had rows.
CREATE TABLE top (a integer); CREATE TABLE under () INHERITS (top); INSERT INTO under VALUES (1);
ALTER TABLE top ADD COLUMN id bigserial PRIMARY KEY;
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.top: the table has had rows.

SELECT data_type, replace(column_default, table_name, 'T'), is_identity, string_agg(table_name, ' ' ORDER BY table_name) FROM information_schema.columns
    WHERE table_schema = 'blog' AND column_name = 'id' GROUP BY 1, 2, 3 ORDER BY 4;
--> bigint | nextval('T_id_seq'::regclass) | NO | eight eleven five full_table listed nine parts seven six ten top
--> bigint | NULL | YES | four three two
--> bigint | nextval('shared'::regclass) | NO | one
--> bigint | nextval('top_id_seq'::regclass) | NO | under

-- A default that looks for its sequence by name, or computes with it; and other types of keys.
CREATE TABLE by_name (id bigint PRIMARY KEY DEFAULT nextval('shared'::text));
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.by_name: its default does more than take the next value of a sequence.
CREATE TABLE computed (id bigint PRIMARY KEY DEFAULT nextval('shared') * 10);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.computed: its default does more than take the next value of a sequence.
CREATE TABLE numbers (id numeric PRIMARY KEY DEFAULT nextval('shared'));
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.numbers: it is of type numeric.
CREATE DOMAIN small AS bigint CHECK (VALUE < 1000);
CREATE TABLE of_domain (id small PRIMARY KEY DEFAULT nextval('shared'));
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.of_domain: it is of type small.
ALTER TABLE numbers ALTER id TYPE bigint;
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.numbers: its default takes values of a sequence that it does not own.
-- Of a key that the statement does not change, nothing is said.
ALTER TABLE numbers ALTER id SET STATISTICS 50; CREATE TABLE said (id serial PRIMARY KEY);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.said: it is of type integer.
ALTER TABLE said ALTER id SET STATISTICS 50, ALTER id SET NOT NULL; ALTER TABLE one ALTER id TYPE integer;
ALTER TABLE one ADD UNIQUE (id);
