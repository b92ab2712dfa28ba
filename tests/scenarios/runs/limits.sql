-- A limit takes little more than it returns.

\set snowflake.sequence_bits = 14

-- Within one millisecond, sequences count what was taken. The first try that fits into one:
DO $$
DECLARE ids bigint[];
BEGIN
    FOR try IN 1..1000 LOOP
        ids := ARRAY(SELECT id FROM (SELECT snowflake_nextval(1000000) AS id LIMIT 10) AS ten UNION ALL SELECT snowflake_nextval());
        ASSERT ids = ARRAY(SELECT DISTINCT id FROM unnest(ids) AS id ORDER BY id), ids;
        IF ids[1] >> 24 = ids[11] >> 24 THEN
            ASSERT ids[11] - ids[1] <= 20, ids;
            RETURN;
        END IF;
    END LOOP;
    RAISE 'none fits';
END $$;
