-- Tables whose keys refer to each other are converted together, whichever is named.
CREATE SCHEMA ring;
CREATE TABLE ring.teams (id serial PRIMARY KEY, captain integer);
CREATE TABLE ring.players (id serial PRIMARY KEY, team integer REFERENCES ring.teams, partner integer REFERENCES ring.players);
ALTER TABLE ring.teams ADD FOREIGN KEY (captain) REFERENCES ring.players;
SELECT statement FROM snowflake_convert('ring.teams', 'id') WHERE step = 'convert';
--> ALTER TABLE ring.players ALTER COLUMN team SET DATA TYPE bigint;
--> ALTER TABLE ring.teams ALTER COLUMN id SET DATA TYPE bigint, ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
SELECT statement FROM snowflake_convert(schema => 'ring', dry_run => false) WHERE step = 'convert';
--> ALTER TABLE ring.players ALTER COLUMN id SET DATA TYPE bigint, ALTER COLUMN team SET DATA TYPE bigint, ALTER COLUMN partner SET DATA TYPE bigint, ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
--> ALTER TABLE ring.teams ALTER COLUMN id SET DATA TYPE bigint, ALTER COLUMN captain SET DATA TYPE bigint, ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
WITH team AS (INSERT INTO ring.teams DEFAULT VALUES RETURNING id)
    INSERT INTO ring.players (team) SELECT id FROM team;
UPDATE ring.teams SET captain = (SELECT id FROM ring.players);
SELECT count(*) FROM snowflake_convert(schema => 'ring', dry_run => false); --> 0
