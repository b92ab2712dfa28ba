-- Keys that cannot be reverted are named. MAXVALUE, another user of the sequence and a direction do not matter.
CREATE SEQUENCE shared MAXVALUE 100; CREATE TABLE one (dropped int, id bigint PRIMARY KEY DEFAULT snowflake_nextval()); ALTER TABLE one DROP dropped;
ALTER SEQUENCE shared OWNED BY one.id; CREATE TABLE two (id bigint DEFAULT nextval('shared')); INSERT INTO two DEFAULT VALUES;
CREATE TABLE other_default (id bigint PRIMARY KEY DEFAULT snowflake_nextval() + 1);
CREATE VIEW viewed AS SELECT id FROM one; ALTER VIEW viewed ALTER id SET DEFAULT snowflake_nextval();
CREATE TABLE root (id bigint, day date) PARTITION BY LIST (day); CREATE TABLE part PARTITION OF root FOR VALUES IN ('2026-01-01');
ALTER TABLE part ALTER id SET DEFAULT snowflake_nextval();
CREATE TABLE down (id bigint PRIMARY KEY DEFAULT snowflake_nextval()); CREATE SEQUENCE of_down INCREMENT -1 OWNED BY down.id;
CREATE TABLE without_a_key (number int, id bigint DEFAULT snowflake_nextval()); CREATE TABLE plain (id int);
INSERT INTO one DEFAULT VALUES; INSERT INTO down DEFAULT VALUES;
SELECT line FROM snowflake_reversion() AS line WHERE line !~ '^(DO|SET)';
--> -- public.other_default.id stays: its default is (public.snowflake_nextval() + 1), not public.snowflake_nextval()
--> -- public.part.id stays: public.root, of which it is a partition, has another default
--> -- public.viewed.id stays: it is a column of a view or of a foreign table
--> -- tables of postgres, in one transaction
--> LOCK TABLE public.down, public.one, public.without_a_key IN ACCESS EXCLUSIVE MODE;
--> CREATE SEQUENCE public.down_id_seq;
--> CREATE SEQUENCE public.without_a_key_id_seq;
--> ALTER SEQUENCE public.down_id_seq OWNER TO postgres;
--> ALTER SEQUENCE public.without_a_key_id_seq OWNER TO postgres;
--> ALTER SEQUENCE public.down_id_seq OWNED BY public.down.id;
--> ALTER SEQUENCE public.without_a_key_id_seq OWNED BY public.without_a_key.id;
--> ALTER SEQUENCE public.shared AS bigint NO MAXVALUE;
SELECT snowflake_reversion('{plain}'); --> -- public.plain has no column that takes snowflake IDs
BEGIN; SELECT run(ARRAY(SELECT snowflake_reversion())); COMMIT;
INSERT INTO one DEFAULT VALUES RETURNING id = (SELECT max(id) + 1 FROM one); --> t
INSERT INTO down DEFAULT VALUES RETURNING id = (SELECT max(id) + 1 FROM down); --> t
INSERT INTO two DEFAULT VALUES RETURNING id NOT IN (SELECT id FROM one); --> t
SELECT count(*) FROM snowflake_reversion() AS line WHERE line !~ '^--'; --> 0

-- The functions that changed tables are gone, and say what replaces them.
SELECT snowflake_convert('plain', 'id', dry_run => false);
--> ERROR 0A000: snowflake_convert() does not change tables any more
SELECT snowflake_revert('plain', 'id'); --> ERROR 0A000: snowflake_revert() does not change tables any more
