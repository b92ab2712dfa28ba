-- A trigger that COPY fires executes statements of all kinds, whose IDs are distinct.

CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), number bigint);
CREATE TABLE inner_copy (LIKE orders INCLUDING DEFAULTS);
CREATE TABLE failed_copy (LIKE orders INCLUDING DEFAULTS, CHECK (number < 3));
CREATE TABLE selected (LIKE orders INCLUDING DEFAULTS);
CREATE TABLE twice (first bigint, second bigint);
CREATE TABLE seven AS SELECT generate_series(1, 7)::bigint AS number;
CREATE FUNCTION two(OUT first bigint, OUT second bigint) LANGUAGE plpgsql AS
    'BEGIN first := snowflake_nextval(); second := snowflake_nextval(); END';
CREATE FUNCTION two_of_sql() RETURNS TABLE (first bigint, second bigint) LANGUAGE sql AS
    'SELECT snowflake_nextval(), snowflake_nextval()';
CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        COPY failed_copy (number) FROM PROGRAM 'seq 7';
    EXCEPTION WHEN check_violation THEN NULL;
    END;
    EXECUTE format('ALTER TABLE seven ADD COLUMN id_%s bigint DEFAULT snowflake_nextval()', new.number);
    EXECUTE format('CREATE TABLE made_%s AS SELECT snowflake_nextval() AS id FROM seven', new.number);
    INSERT INTO selected (number) SELECT number FROM seven;
    COPY inner_copy (number) FROM PROGRAM 'seq 7';
    EXECUTE format('ALTER TABLE seven ADD COLUMN jd_%s bigint DEFAULT snowflake_nextval()', new.number);
    INSERT INTO twice SELECT * FROM two();
    INSERT INTO twice SELECT * FROM two_of_sql();
    INSERT INTO selected (id) VALUES (snowflake_nextval()), (snowflake_nextval());
    RETURN new;
END $$;
-- The orders; by each: 7 of COPY, 9 in selected, 4 of the functions, and 21 made.
CREATE FUNCTION ids() RETURNS SETOF bigint LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY
    SELECT id FROM orders UNION ALL SELECT id FROM inner_copy UNION ALL SELECT id FROM selected
    UNION ALL SELECT first FROM twice UNION ALL SELECT second FROM twice
    UNION ALL SELECT unnest(ARRAY[id_1, id_2, id_3, jd_1, jd_2, jd_3]) FROM seven
    UNION ALL SELECT id FROM made_1 UNION ALL SELECT id FROM made_2 UNION ALL SELECT id FROM made_3;
END $$;
CREATE TRIGGER act BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION act();
COPY orders (number) FROM PROGRAM 'seq 3';
SELECT count(*) = 3 * (1 + 7 + 9 + 4 + 21), count(*) = count(DISTINCT ids) FROM ids(); --> t | t
-- The same after the row.
DROP TRIGGER act ON orders;
DROP TABLE made_1, made_2, made_3;
TRUNCATE orders, inner_copy, selected, twice;
ALTER TABLE seven DROP id_1, DROP id_2, DROP id_3, DROP jd_1, DROP jd_2, DROP jd_3;
CREATE TRIGGER act AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION act();
COPY orders (number) FROM PROGRAM 'seq 3';
SELECT count(*) = 3 * (1 + 7 + 9 + 4 + 21), count(*) = count(DISTINCT ids) FROM ids(); --> t | t
