-- Keys are distinct, and in the order of the input, whatever the table has.

CREATE TABLE orders (
    id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
    other bigint UNIQUE DEFAULT snowflake_nextval(),
    name text UNIQUE DEFAULT 'order ' || snowflake_nextval(),
    number bigint,
    created timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
    CHECK (snowflake_nextval() > 0));
CREATE TABLE log (id bigint DEFAULT snowflake_nextval(), of bigint);
CREATE VIEW ids AS SELECT id FROM orders UNION ALL SELECT other FROM orders
    UNION ALL SELECT substr(name, 7)::bigint FROM orders UNION ALL SELECT id FROM log;
-- The rows; the IDs, and whether they are distinct; whether times are right; whether keys are in order.
CREATE FUNCTION copied(OUT rows bigint, OUT ids bigint, OUT distinct_ids boolean, OUT timed boolean, OUT in_order boolean) LANGUAGE plpgsql AS $$ BEGIN
    SELECT count(*), count(*) = count(DISTINCT id) INTO ids, distinct_ids FROM ids;
    SELECT count(*), bool_and(created = snowflake_timestamp(id)), bool_and(before IS NULL OR before < id) INTO rows, timed, in_order
        FROM (SELECT *, lag(id) OVER (ORDER BY number) AS before FROM orders) AS pairs;
    TRUNCATE orders, log;
END $$;
COPY orders (number) FROM PROGRAM 'seq 2500';
SELECT * FROM copied(); --> 2500 | 7500 | t | t | t
COPY orders (number) FROM PROGRAM 'seq 2500' WHERE number % 2 = 0;
SELECT * FROM copied(); --> 1250 | 3750 | t | t | t
COPY orders (number) FROM PROGRAM 'seq 2500' WHERE snowflake_nextval() % 2 >= 0;
SELECT * FROM copied(); --> 2500 | 7500 | t | t | t
CREATE FUNCTION after() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log (of) VALUES (new.id), (new.other); RETURN NULL; END';
CREATE TRIGGER after AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION after();
COPY orders (number) FROM PROGRAM 'seq 2500';
SELECT * FROM copied(); --> 2500 | 12500 | t | t | t
CREATE FUNCTION before() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN new.other := snowflake_nextval(); RETURN new; END';
CREATE TRIGGER before BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION before();
COPY orders (number) FROM PROGRAM 'seq 2500';
SELECT * FROM copied(); --> 2500 | 12500 | t | t | t

-- Partitions get rows by the buffer, in an order of PostgreSQL's own, and so do AFTER triggers.
CREATE TABLE parts (id bigint DEFAULT snowflake_nextval(), number bigint) PARTITION BY HASH (number);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE events (place bigserial, id bigint, number bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO events (id, number) VALUES (new.id, new.number); RETURN NULL; END';
CREATE TRIGGER note AFTER INSERT ON parts FOR EACH ROW EXECUTE FUNCTION note();
COPY parts (number) FROM PROGRAM 'seq 2500';
SELECT count(*), bool_and(before < id) FROM (SELECT id, lag(id) OVER (ORDER BY number) AS before FROM parts) AS pairs; --> 2500 | t
SELECT count(*), bool_and(before < id) FROM (SELECT id, lag(id) OVER (ORDER BY number) AS before FROM events) AS pairs; --> 2500 | t
SELECT bool_and(before < number) FROM (SELECT number, lag(number) OVER (ORDER BY place) AS before FROM events) AS pairs;
--> f
