-- What real applications do with keys without a foreign key, and with keys in functions.

CREATE SCHEMA forum;
SET search_path = forum, public;

-- Posts are counted.
CREATE TABLE users (id serial PRIMARY KEY, name text NOT NULL, posts integer NOT NULL DEFAULT 0);
CREATE TABLE posts (
    id serial PRIMARY KEY,
    title text,
    score integer NOT NULL DEFAULT 0,
    user_id integer NOT NULL REFERENCES users,
    -- Names of roles.
    creator_id integer,
    updater_id integer,
    approved_by integer,
    parent_id integer,
    -- A name that ends with that of a table.
    "lastCommentId" integer,
    -- A name that says nothing.
    status_id integer NOT NULL DEFAULT 1
);
CREATE TABLE comments (
    id serial PRIMARY KEY,
    post_id integer NOT NULL REFERENCES posts,
    moderator_of integer REFERENCES users,
    path text NOT NULL DEFAULT '0'
);
-- Columns that are foreign keys elsewhere.
CREATE TABLE moderations (post_id bigint, moderator_of integer);
CREATE TABLE replies (
    id serial PRIMARY KEY,
    comment_id integer NOT NULL REFERENCES comments,
    recipient_id integer
);
-- A column that is named like the table.
CREATE TABLE release_group (id serial PRIMARY KEY, name text);
CREATE TABLE release_group_meta (id integer PRIMARY KEY REFERENCES release_group, ref_count integer DEFAULT 0);
CREATE TABLE pending_update (release_group integer NOT NULL);
-- Keys of any table.
CREATE TABLE issues (id serial PRIMARY KEY, reportable_type text, reportable_id integer, tag_ids integer[]);
CREATE TABLE reactions (model_type text, model_id integer);
CREATE TABLE audit (table_name text, row_id integer, owner_type text, owner_id integer);
-- A plural without an s.
CREATE TABLE taxa (id serial PRIMARY KEY, name text);
CREATE TABLE sightings (taxon_id integer NOT NULL, seen date);
-- Arrays, domains, and composite types.
CREATE TABLE pools (id serial PRIMARY KEY, post_ids integer[] NOT NULL DEFAULT '{}');
CREATE DOMAIN post_ref AS integer CHECK (VALUE > 0);
CREATE TABLE favorites (post_id post_ref NOT NULL, weight smallint);
CREATE TYPE hit AS (post_id integer, score integer);
CREATE TYPE named AS (id integer, name text);
CREATE TYPE pair AS (user_id integer, n integer);
CREATE TABLE pairs (pair pair);
CREATE TABLE tickets (id post_ref PRIMARY KEY DEFAULT nextval('users_id_seq'));
-- Keys with names of their own.
CREATE TABLE film (film_id serial PRIMARY KEY, title text);
CREATE TABLE inventory (
    inventory_id serial PRIMARY KEY,
    film_id integer NOT NULL REFERENCES film,
    store_id integer NOT NULL DEFAULT 1
);
CREATE TABLE views_of_film (film_id integer, seen integer);
CREATE VIEW seen_films AS SELECT film_id FROM views_of_film;
-- Nothing is to be said of these.
CREATE TABLE settings (name text PRIMARY KEY, value integer, valid boolean, issue smallint);
CREATE TABLE kinds (id integer PRIMARY KEY, name text);
CREATE TABLE vote (id serial PRIMARY KEY, vote integer);

-- What triggers call.

CREATE FUNCTION inc_ref_count(tbl text, row_id integer, val integer) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('UPDATE forum.%I SET ref_count = ref_count + $2 WHERE id = $1', tbl || '_meta')
        USING row_id, val;
END $$;
CREATE FUNCTION release_group_entered() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO forum.release_group_meta (id) VALUES (NEW.id);
    INSERT INTO forum.pending_update (release_group) VALUES (NEW.id);
    PERFORM forum.inc_ref_count('release_group', NEW.id, 1);
    RETURN NULL;
END $$;
CREATE TRIGGER entered AFTER INSERT ON release_group
    FOR EACH ROW EXECUTE FUNCTION release_group_entered();
CREATE FUNCTION notify_author() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parent integer := nullif(split_part(NEW.path, '.', 2), '')::integer;
BEGIN
    INSERT INTO forum.replies (comment_id, recipient_id)
        SELECT NEW.id, creator_id FROM forum.posts WHERE id = NEW.post_id AND parent IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER replied AFTER INSERT ON comments FOR EACH ROW EXECUTE FUNCTION notify_author();
-- At two removes from a trigger.
CREATE PROCEDURE count_post(integer) LANGUAGE sql AS
    'UPDATE forum.posts SET score = score + 1 WHERE id = $1';
CREATE FUNCTION note_post(post integer) RETURNS integer LANGUAGE plpgsql AS
    'BEGIN CALL forum.count_post(post); RETURN post; END';
CREATE FUNCTION post_entered() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM forum.note_post(NEW.id); RETURN NULL; END';
CREATE TRIGGER noted AFTER INSERT ON posts FOR EACH ROW EXECUTE FUNCTION post_entered();

-- What the application calls.

CREATE FUNCTION film_in_stock(p_film_id integer, p_store_id integer DEFAULT 1, OUT p_film_count integer)
    RETURNS SETOF integer LANGUAGE sql STABLE SECURITY DEFINER SET search_path = forum ROWS 7 AS $$
    SELECT inventory_id FROM inventory WHERE film_id = p_film_id AND store_id = p_store_id;
$$;
CREATE ROLE forum_reader;
COMMENT ON FUNCTION film_in_stock(integer, integer) IS 'who asks for film_in_stock(integer,integer)';
REVOKE ALL ON FUNCTION film_in_stock(integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION film_in_stock(integer, integer) TO forum_reader WITH GRANT OPTION;
CREATE VIEW first_stock AS SELECT * FROM film_in_stock(1);
-- In order of their names, this one comes before what it calls.
CREATE FUNCTION any_in_stock(film_id integer) RETURNS boolean LANGUAGE sql AS
    'SELECT EXISTS (SELECT FROM forum.film_in_stock(any_in_stock.film_id))';
CREATE FUNCTION scores(integer[], "lastCommentId" integer, n integer)
    RETURNS TABLE (post_id integer, score integer) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT posts.id, posts.score FROM forum.posts WHERE posts.id = ANY ($1) LIMIT n;
END $$;
CREATE FUNCTION best() RETURNS SETOF hit LANGUAGE sql AS 'SELECT id, score FROM forum.posts';
CREATE FUNCTION find(text) RETURNS SETOF named LANGUAGE sql AS
    'SELECT id, name FROM forum.users WHERE name = $1';
CREATE FUNCTION favor(post post_ref) RETURNS void LANGUAGE sql AS
    'INSERT INTO forum.favorites (post_id) VALUES (post)';
CREATE FUNCTION newest() RETURNS bigint LANGUAGE sql AS $$
    /* What is -- */ SELECT max(id)::integer::bigint FROM forum.posts WHERE title <> '--' /* a comment. */
$$;
-- Two line breaks, which a comment must not contain.
CREATE FUNCTION last_post() RETURNS integer LANGUAGE plpgsql AS
    E'DECLARE found integer :=\r 0; BEGIN SELECT max(id) INTO found FROM forum.posts; RETURN found; END';

-- What views call.

CREATE AGGREGATE largest(integer) (sfunc = int4larger, stype = integer);
CREATE VIEW largest_post AS SELECT largest(id) AS id FROM posts;
CREATE FUNCTION label(integer) RETURNS text LANGUAGE sql AS $$ SELECT 'no. ' || $1 $$;
CREATE VIEW labels AS SELECT label(id) AS label FROM posts;
CREATE FUNCTION labelled(integer) RETURNS text LANGUAGE sql AS $$ SELECT 'no. ' || $1 $$;
CREATE FUNCTION labelled(bigint) RETURNS text LANGUAGE sql AS $$ SELECT 'no. ' || $1 $$;
CREATE VIEW labelled_posts AS SELECT labelled(id) AS label FROM posts;

-- Nothing is to be said of these: no key reaches them, their integers are in comments, or they are
-- not the schema's own.
CREATE FUNCTION in_days(start date, days integer) RETURNS date LANGUAGE sql AS 'SELECT start + days';
CREATE FUNCTION titles() RETURNS SETOF text LANGUAGE sql AS $$
    -- An integer is not needed.
    /* Not even
       a smallint. */ SELECT title FROM forum.posts -- or an int
$$;
CREATE FUNCTION hash_post(integer) RETURNS integer LANGUAGE internal AS 'hashint4';

INSERT INTO users (name) VALUES ('Ada'), ('Bela');
INSERT INTO posts (title, user_id, creator_id) VALUES ('one', 1, 1), ('two', 2, 2);
INSERT INTO comments (post_id) VALUES (1);
INSERT INTO film (title) VALUES ('Metropolis');
INSERT INTO inventory (film_id) VALUES (1);
INSERT INTO pairs VALUES (ROW(1, 2));
