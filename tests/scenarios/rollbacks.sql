-- A rollback gives nothing back, nor does one to a savepoint.

DO $$
DECLARE ids bigint[];
BEGIN
    FOR round IN 1..200 LOOP
        ids := ids || snowflake_nextval();
        BEGIN
            ids := ids || snowflake_nextval();
            IF round % 2 = 0 THEN RAISE division_by_zero; END IF;
        EXCEPTION WHEN division_by_zero THEN NULL;
        END;
        ROLLBACK;
    END LOOP;
    ASSERT cardinality(ids) = 400 AND ids = ARRAY(SELECT DISTINCT id FROM unnest(ids) AS id ORDER BY id), ids;
END $$;
