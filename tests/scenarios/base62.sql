-- IDs as short texts sort as the IDs do with COLLATE "C" only, and an index with it serves searches.

\needs collation en-x-icu

-- A thousand IDs, and 64 whose texts end in digits and in letters of both cases.
CREATE TABLE links (id bigint PRIMARY KEY, url text DEFAULT 'https://example.com');
INSERT INTO links SELECT snowflake_nextval(1000);
INSERT INTO links SELECT snowflake_from_base62('1Vfznn0WL' || a || b)
    FROM unnest(string_to_array('0,9,A,B,Z,a,b,z', ',')) AS a, unnest(string_to_array('0,9,A,B,Z,a,b,z', ',')) AS b;

SELECT array_agg(id ORDER BY id) = array_agg(id ORDER BY snowflake_to_base62(id) COLLATE "C") FROM links; --> t
SELECT array_agg(id ORDER BY id) = array_agg(id ORDER BY snowflake_to_base62(id) COLLATE "en-x-icu") FROM links;
--> f

-- An index with this collation gives the order, and finds what is compared with it.
CREATE INDEX by_text ON links (snowflake_to_base62(id) COLLATE "C");
ANALYZE links;
SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;
CREATE FUNCTION is_served(rest text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line text;
    plan text := '';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN SELECT url FROM links ' || rest LOOP plan := plan || line; END LOOP;
    RETURN CASE WHEN plan !~ 'using by_text' THEN false WHEN plan !~ 'Sort' THEN true END;
END $$;
SELECT is_served($$ORDER BY snowflake_to_base62(id) COLLATE "C"$$); --> t
SELECT is_served($$WHERE snowflake_to_base62(id) COLLATE "C" < '1Vfznn0WL9z'$$); --> t
SELECT is_served($$WHERE snowflake_to_base62(id) COLLATE "C" BETWEEN '1Vfznn0WLA' AND '1Vfznn0WLa'$$); --> t
SELECT is_served($$WHERE snowflake_to_base62(id) COLLATE "C" = '1Vfznn0WLaB'$$); --> t
SELECT is_served($$ORDER BY snowflake_to_base62(id)$$); --> f
SELECT is_served($$WHERE snowflake_to_base62(id) < '1Vfznn0WL9z'$$); --> f
SELECT count(*) FROM links WHERE snowflake_to_base62(id) COLLATE "C" > '1Vfznn0WLZZ'; --> 1027
SELECT count(*) FROM links WHERE id > snowflake_from_base62('1Vfznn0WLZZ'); --> 1027
