-- An integer key becomes bigint, with all that refers to it, directly or not; what refers is locked first.
CREATE ROLE shop LOGIN; GRANT CREATE ON SCHEMA public TO shop;
\as shop
CREATE TABLE films (id serial PRIMARY KEY, sequel_of integer REFERENCES films, title text);
CREATE TABLE details (id integer PRIMARY KEY REFERENCES films ON DELETE CASCADE, words text);
CREATE TABLE quotes (id bigserial PRIMARY KEY, detail smallint REFERENCES details, again integer REFERENCES details);
CREATE TABLE copies (film integer, number integer, PRIMARY KEY (film, number), FOREIGN KEY (film) REFERENCES films);
CREATE TABLE loans (film integer, number integer, late integer, UNIQUE (late),
    FOREIGN KEY (film, number) REFERENCES copies DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE plans (film integer); CREATE INDEX ON plans (film DESC);
INSERT INTO plans VALUES (77);
ALTER TABLE plans ADD FOREIGN KEY (film) REFERENCES films NOT VALID;
CREATE TABLE wide (film bigint REFERENCES films, text text);
INSERT INTO films (title) VALUES ('M'); INSERT INTO details VALUES (1); INSERT INTO copies VALUES (1, 1);
INSERT INTO loans VALUES (1, 1); INSERT INTO quotes (detail) VALUES (1); INSERT INTO wide VALUES (1);
SELECT line FROM snowflake_conversion('{films}') AS line WHERE line !~ '^DO|no time';
--> -- tables of shop, in one transaction
--> SET LOCAL lock_timeout = 500;
--> LOCK TABLE public.loans, public.quotes, public.plans, public.wide, public.copies, public.details, public.films IN ACCESS EXCLUSIVE MODE;
--> ALTER TABLE public.copies ALTER film TYPE bigint;
--> ALTER TABLE public.details ALTER id TYPE bigint;
--> ALTER TABLE public.films ALTER id TYPE bigint, ALTER sequel_of TYPE bigint, ALTER id SET DEFAULT public.snowflake_nextval();
--> ALTER TABLE public.loans ALTER film TYPE bigint;
--> ALTER TABLE public.plans ALTER film TYPE bigint;
--> ALTER TABLE public.quotes ALTER detail TYPE bigint, ALTER again TYPE bigint;
--> ALTER SEQUENCE public.films_id_seq AS bigint NO MAXVALUE;
--> -- after the commit: ANALYZE public.copies, public.details, public.films, public.loans, public.plans, public.quotes; let clients connect again
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion('{films}'))); COMMIT;
WITH film AS (INSERT INTO films (title) VALUES ('Metropolis') RETURNING id)
    INSERT INTO plans SELECT id FROM film;
INSERT INTO details SELECT max(id) FROM films; INSERT INTO quotes (detail) SELECT max(id) FROM details;
INSERT INTO copies SELECT max(id), 1 FROM films;
BEGIN; INSERT INTO loans SELECT max(id), 2 FROM films; INSERT INTO copies SELECT max(id), 2 FROM films; COMMIT;
INSERT INTO plans VALUES (78); --> ERROR 23503
SELECT convalidated, condeferrable, condeferred, conrelid::regclass FROM pg_constraint
    WHERE conrelid IN ('plans'::regclass, 'loans'::regclass) AND contype = 'f' ORDER BY 4;
--> t | t | t | loans
--> f | f | f | plans
-- The sequence can count on, and take a key of now: loaders of rows call setval().
SELECT setval('films_id_seq', max(id)) > 0 FROM films; --> t
-- Columns that refer to a key that takes IDs already become bigint, too.
CREATE TABLE posts (id bigint PRIMARY KEY DEFAULT snowflake_nextval()); CREATE TABLE likes (post integer REFERENCES posts);
SELECT line FROM snowflake_conversion('{posts}') AS line WHERE line !~ '^DO|no time';
--> -- tables of shop, in one transaction
--> SET LOCAL lock_timeout = 500;
--> LOCK TABLE public.likes, public.posts IN ACCESS EXCLUSIVE MODE;
--> ALTER TABLE public.likes ALTER post TYPE bigint;
--> -- after the commit: ANALYZE public.likes; let clients connect again

-- Tables that refer to each other are named, and what they refer to comes after them.
CREATE TABLE countries (id serial PRIMARY KEY); CREATE TABLE teams (id serial PRIMARY KEY, captain integer, country integer REFERENCES countries);
CREATE TABLE players (id serial PRIMARY KEY, team integer REFERENCES teams, partner integer REFERENCES players);
ALTER TABLE teams ADD FOREIGN KEY (captain) REFERENCES players; CREATE TABLE awards (player integer REFERENCES players);
SELECT line FROM snowflake_conversion('{countries,teams,players}') AS line WHERE line ~ '^(--|LOCK)';
--> -- tables of shop, in one transaction
--> -- these refer to each other, and are locked in any order: public.players, public.teams
--> LOCK TABLE public.awards, public.players, public.teams, public.countries IN ACCESS EXCLUSIVE MODE;
--> -- after the commit: ANALYZE public.awards, public.countries, public.players, public.teams; let clients connect again
SELECT run(ARRAY(SELECT snowflake_conversion('{countries,teams,players}')));
WITH team AS (INSERT INTO teams DEFAULT VALUES RETURNING id) INSERT INTO players (team) SELECT id FROM team;
