-- The times of a claim: none is before it, and all are times that a line of a configuration file can have.

-- A release up to a time before the claim is refused.
SELECT snowflake_claim_node('db-1');
CREATE VIEW claim AS SELECT claimed_at, claimed_at - interval '1 microsecond' AS before
    FROM snowflake_nodes WHERE name = 'db-1';
SELECT errors_of($calls$
    SELECT snowflake_release_node('db-1', issued_until => before, fenced => true) FROM claim
    SELECT snowflake_release_node('db-1', issued_until => '2020-01-01 00:00:00+00', fenced => true)
    SELECT snowflake_release_node('db-1', floor => before) FROM claim
$calls$);
--> 22023: issued_until is before the time when node "db-1" was given its identity | That was at 20... | Give that time or a later one. A later time does no harm, since the next IDs of the identity start after it.
--> 22023: issued_until is before the time when node "db-1" was given its identity | That was at 20... | Give that time or a later one. A later time does no harm, since the next IDs of the identity start after it.
--> 22023: floor is before the time when node "db-1" was given its identity | That was at 20... | Take an ID on that node, and give what snowflake_floor() then returns. If its clock is behind, or it cannot be asked, give issued_until and fenced => true.
SELECT snowflake_release_node('db-1', issued_until => claimed_at, fenced => true) FROM claim;

-- A row that is inserted without a claim, as in a restore, has such times, too.
DELETE FROM snowflake_internal.snowflake_node_claims;
CREATE FUNCTION refused(claimed_at timestamptz, released_at timestamptz, start_after timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE name text;
BEGIN
    INSERT INTO snowflake_internal.snowflake_node_claims VALUES (1, 1, 'db-1', claimed_at, released_at, start_after);
    RETURN 'nothing';
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS name = CONSTRAINT_NAME;
    RETURN name;
END $$;
SELECT count(*), refused(time, NULL, NULL), refused(now(), time, now()), refused(now(), now(), time) FROM unnest(ARRAY['infinity', '-infinity',
    '0044-03-15 00:00:00+00 BC', '1969-12-31 23:59:59.999999+00', '10000-01-01 00:00:00+00']::timestamptz[]) AS time GROUP BY 2, 3, 4;
--> 5 | snowflake_node_claims_claimed_at_check | snowflake_node_claims_released_at_check | snowflake_node_claims_start_after_check

-- The next claim names the time in the form of snowflake.start_after, whatever the session's form is.
CREATE FUNCTION claimed(start_after timestamptz) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM snowflake_internal.snowflake_node_claims;
    INSERT INTO snowflake_internal.snowflake_node_claims VALUES (1, 1, 'db-1', now(), now(), start_after);
    RETURN snowflake_claim_node('db-1');
END $$;
SELECT claimed('1970-01-01 00:00:00+00'); --> ...\nsnowflake.start_after = '1970-01-01T00:00:00.000000Z'
SELECT claimed('2026-11-21 12:00:00.5+02'); --> ...\nsnowflake.start_after = '2026-11-21T10:00:00.500000Z'
SELECT claimed('9999-12-31 23:59:59.999999+00'); --> ...\nsnowflake.start_after = '9999-12-31T23:59:59.999999Z'
SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Tokyo';
SELECT claimed('1970-01-01 00:00:00+00'); --> ...\nsnowflake.start_after = '1970-01-01T00:00:00.000000Z'
SELECT claimed('2026-11-21 12:00:00.5+02'); --> ...\nsnowflake.start_after = '2026-11-21T10:00:00.500000Z'
SELECT claimed('9999-12-31 23:59:59.999999+00'); --> ...\nsnowflake.start_after = '9999-12-31T23:59:59.999999Z'
