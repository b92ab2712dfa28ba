-- An identity column gets a default and keeps its sequence, as bigserial would have made it.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

CREATE SCHEMA blog;
CREATE TABLE one (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text);
CREATE TABLE two (id bigserial PRIMARY KEY, v text);
SELECT attrelid::regclass, attnotnull, attidentity, pg_get_expr(adbin, adrelid), deptype, sequence.relname,
    seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle
FROM pg_attribute
JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
JOIN pg_depend ON (refobjid, refobjsubid) = (attrelid, attnum) AND classid = 'pg_class'::regclass
JOIN pg_class AS sequence ON sequence.oid = objid AND relkind = 'S'
JOIN pg_sequence ON seqrelid = objid
WHERE attrelid IN ('one'::regclass, 'two'::regclass)
ORDER BY attrelid;
--> one | t |  | snowflake_nextval() | a | one_id_seq | bigint | 1 | 1 | 1 | 9223372036854775807 | 1 | f
--> two | t |  | snowflake_nextval() | a | two_id_seq | bigint | 1 | 1 | 1 | 9223372036854775807 | 1 | f
SELECT array_agg((contype, replace(conname, 'one', 'two'), pg_get_constraintdef(oid)) ORDER BY conname)
    FILTER (WHERE conrelid = 'one'::regclass)
    = array_agg((contype, conname::text, pg_get_constraintdef(oid)) ORDER BY conname) FILTER (WHERE conrelid = 'two'::regclass)
FROM pg_constraint;
--> t
DROP SEQUENCE one_id_seq;
ALTER SEQUENCE two_id_seq OWNED BY NONE;

-- Also in tables with partitions.
DO $$ BEGIN
    CREATE TABLE parts (at date, id bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
    CREATE TABLE part (id bigint NOT NULL, at date NOT NULL);
    ALTER TABLE parts ATTACH PARTITION part FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
    CREATE TABLE other PARTITION OF parts DEFAULT;
END $$;
INSERT INTO parts (at) VALUES ('2026-01-01'), ('2028-01-01');
INSERT INTO other (at) VALUES ('2028-01-01');
SELECT table_name, data_type, column_default FROM information_schema.columns
    WHERE table_name IN ('parts', 'other') AND column_name = 'id' ORDER BY table_name;
--> other | bigint | snowflake_nextval()
--> parts | bigint | snowflake_nextval()
SELECT count(*) FROM pg_attribute WHERE attidentity <> ''; --> 0
DROP TABLE parts;
SELECT relname FROM pg_class WHERE relkind = 'S' AND relname ~ '^(one|two|parts)_'; --> two_id_seq
