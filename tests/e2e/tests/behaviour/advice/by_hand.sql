-- What a person writes who follows the report, where it gives no statement.

CREATE TYPE wide_pair AS (user_id bigint, n integer);
ALTER TABLE pairs ALTER COLUMN pair TYPE wide_pair USING pair::text::wide_pair;
CREATE AGGREGATE largest(bigint) (sfunc = int8larger, stype = bigint);
CREATE FUNCTION label(bigint) RETURNS text LANGUAGE sql AS $$ SELECT 'no. ' || $1 $$;
CREATE OR REPLACE FUNCTION notify_author() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parent bigint := nullif(split_part(NEW.path, '.', 2), '')::bigint;
BEGIN
    INSERT INTO forum.replies (comment_id, recipient_id)
        SELECT NEW.id, creator_id FROM forum.posts WHERE id = NEW.post_id AND parent IS NOT NULL;
    RETURN NULL;
END $$;
DROP FUNCTION favor(post_ref);
CREATE FUNCTION favor(post post_ref_bigint) RETURNS void LANGUAGE sql AS
    'INSERT INTO forum.favorites (post_id) VALUES (post)';
CREATE OR REPLACE FUNCTION newest() RETURNS bigint LANGUAGE sql AS
    'SELECT max(id)::bigint FROM forum.posts';
