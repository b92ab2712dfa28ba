-- Two calls in one select list take runs of their own. A cursor that pauses returns IDs from before the pause.

CREATE TABLE ids AS SELECT snowflake_nextval(5000) AS one, snowflake_nextval(5000) AS other;
SELECT count(*), bool_and(one_before < one), bool_and(other_before < other)
    FROM (SELECT *, lag(one) OVER (ORDER BY ctid) AS one_before, lag(other) OVER (ORDER BY ctid) AS other_before FROM ids) AS pairs; --> 5000 | t | t
SELECT count(DISTINCT id) FROM (SELECT one FROM ids UNION ALL SELECT other FROM ids) AS ids (id); --> 10000

-- Runs are taken before their rows are returned. They grow with what was used up: at most as many IDs as were returned are from before.
CREATE TABLE fetched (place serial, id bigint);
CREATE PROCEDURE take(rows integer) LANGUAGE plpgsql AS $$ DECLARE id bigint; ids refcursor = 'ids'; BEGIN
    FOR n IN 1..rows LOOP FETCH ids INTO id; INSERT INTO fetched (id) VALUES (id); END LOOP;
END $$;
BEGIN; DECLARE ids CURSOR FOR SELECT snowflake_nextval(1000);
CALL take(2); SELECT pg_sleep(0.02);
\session other
CREATE TABLE other AS SELECT snowflake_nextval() AS id;
\session
CALL take(998); COMMIT;
SELECT bool_and(before < id) FROM (SELECT id, lag(id) OVER (ORDER BY place) AS before FROM fetched) AS pairs; --> t
SELECT min(place), count(*) BETWEEN 1 AND 2, count(*) FILTER (WHERE fetched.id = other.id) FROM fetched, other WHERE place > 2 AND fetched.id <= other.id; --> 3 | t | 0
