-- Columns that refer to a converted key, directly or not, become bigint with it, with one ALTER TABLE for each
-- table, and tables that refer to others before these.
CREATE TABLE films (id serial PRIMARY KEY, sequel_of integer REFERENCES films, title text);
CREATE TABLE details (id integer PRIMARY KEY REFERENCES films ON DELETE CASCADE, words text);
CREATE TABLE quotes (id bigserial PRIMARY KEY, detail smallint REFERENCES details, again integer REFERENCES details);
CREATE TABLE copies (film integer, number integer, PRIMARY KEY (film, number), FOREIGN KEY (film) REFERENCES films);
CREATE TABLE loans (film integer, number integer, late integer,
    FOREIGN KEY (film, number) REFERENCES copies DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE plans (film integer);
INSERT INTO plans VALUES (77);
ALTER TABLE plans ADD FOREIGN KEY (film) REFERENCES films NOT VALID;
CREATE TABLE wide (film bigint REFERENCES films, text text);
CREATE TABLE numbers (film numeric, film_id integer);
INSERT INTO films (title) VALUES ('M'); INSERT INTO details VALUES (1); INSERT INTO copies VALUES (1, 1);
INSERT INTO loans VALUES (1, 1); INSERT INTO quotes (detail) VALUES (1); INSERT INTO wide VALUES (1);

SELECT statement FROM snowflake_convert('films', 'id', dry_run => false) WHERE step = 'convert';
--> ALTER TABLE public.plans ALTER COLUMN film SET DATA TYPE bigint;
--> ALTER TABLE public.loans ALTER COLUMN film SET DATA TYPE bigint;
--> ALTER TABLE public.copies ALTER COLUMN film SET DATA TYPE bigint;
--> ALTER TABLE public.quotes ALTER COLUMN detail SET DATA TYPE bigint, ALTER COLUMN again SET DATA TYPE bigint;
--> ALTER TABLE public.details ALTER COLUMN id SET DATA TYPE bigint;
--> ALTER TABLE public.films ALTER COLUMN id SET DATA TYPE bigint, ALTER COLUMN sequel_of SET DATA TYPE bigint, ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
WITH film AS (INSERT INTO films (title) VALUES ('Metropolis') RETURNING id)
    INSERT INTO plans SELECT id FROM film;
INSERT INTO details SELECT max(id) FROM films; INSERT INTO quotes (detail) SELECT max(id) FROM details;
INSERT INTO copies SELECT max(id), 1 FROM films;
BEGIN; INSERT INTO loans SELECT max(id), 2 FROM films; INSERT INTO copies SELECT max(id), 2 FROM films; COMMIT;
INSERT INTO plans VALUES (78); --> ERROR 23503
SELECT convalidated, condeferrable, condeferred, conrelid::regclass FROM pg_constraint
    WHERE conrelid IN ('plans'::regclass, 'loans'::regclass) ORDER BY 4;
--> t | t | t | loans
--> f | f | f | plans
-- Nothing else has changed.
SELECT format_type(atttypid, atttypmod), string_agg(concat(attrelid::regclass, '.', attname), ', ' ORDER BY attrelid::regclass::text, attnum) FROM pg_attribute
    WHERE attrelid IN ('loans'::regclass, 'copies'::regclass, 'numbers'::regclass, 'wide'::regclass) AND attnum > 0 GROUP BY 1 ORDER BY 1;
--> bigint | copies.film, loans.film, wide.film
--> integer | copies.number, loans.number, loans.late, numbers.film_id
--> numeric | numbers.film
--> text | wide.text
