-- Keys of a shape that is not tested stay, and a comment names the object and the reason. The rest is converted.
CREATE ROLE shop LOGIN; CREATE ROLE clerk LOGIN; GRANT CREATE ON SCHEMA public TO shop, clerk; GRANT CREATE ON DATABASE scenario TO shop;
\as shop
CREATE DOMAIN number AS integer; CREATE SEQUENCE shared; CREATE SEQUENCE unowned; CREATE TYPE pair AS (id bigint, item text);
CREATE TABLE one (id bigint PRIMARY KEY DEFAULT nextval('shared')); CREATE TABLE two (id bigint PRIMARY KEY DEFAULT nextval('shared'));
CREATE TABLE of_unowned (id bigint PRIMARY KEY DEFAULT nextval('unowned'));
CREATE TABLE of_text (id bigserial PRIMARY KEY); ALTER TABLE of_text ALTER id SET DEFAULT nextval('of_text_id_seq'::text);
CREATE TABLE more (id bigserial PRIMARY KEY); ALTER TABLE more ALTER id SET DEFAULT nextval('more_id_seq') * 2;
CREATE TABLE no_key (id bigserial); CREATE TABLE small (id smallserial PRIMARY KEY);
CREATE TABLE of_domain (id number PRIMARY KEY DEFAULT nextval('shared'));
CREATE TABLE down (id bigint GENERATED ALWAYS AS IDENTITY (INCREMENT -1) PRIMARY KEY);
CREATE TABLE typed OF pair (PRIMARY KEY (id)); ALTER TABLE typed ALTER id SET DEFAULT nextval('shared');
CREATE TABLE defaulted (id bigserial PRIMARY KEY); CREATE VIEW of_a_view AS SELECT id FROM defaulted;
ALTER VIEW of_a_view ALTER id SET DEFAULT nextval('defaulted_id_seq');
CREATE TABLE used (id bigserial PRIMARY KEY); CREATE TABLE user_of_it (id bigint DEFAULT nextval('used_id_seq'));
CREATE TABLE viewed (id bigserial PRIMARY KEY); CREATE VIEW last AS SELECT last_value FROM viewed_id_seq;
CREATE TABLE in_sql (id bigserial PRIMARY KEY); CREATE FUNCTION next_in_sql() RETURNS bigint LANGUAGE sql RETURN nextval('in_sql_id_seq'::regclass);
CREATE TABLE in_text (id bigserial PRIMARY KEY); CREATE FUNCTION next_in_text() RETURNS bigint LANGUAGE sql AS 'SELECT nextval(''in_text_id_seq'')';
CREATE TABLE ranges (id bigserial PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE hashes (id bigserial PRIMARY KEY) PARTITION BY HASH (id);
CREATE TABLE roots (id bigserial, day date, PRIMARY KEY (id, day)) PARTITION BY LIST (day);
CREATE TABLE roots_1 (id bigserial, day date NOT NULL); ALTER TABLE roots ATTACH PARTITION roots_1 FOR VALUES IN ('2026-01-01');
CREATE TABLE refers (id bigserial PRIMARY KEY REFERENCES one);
CREATE TEMPORARY TABLE short (id bigserial PRIMARY KEY);
CREATE TABLE fine (id bigserial PRIMARY KEY); CREATE VIEW of_fine AS SELECT * FROM fine;
SELECT line FROM snowflake_conversion(schema => 'public') AS line WHERE line !~ '^DO|no time';
--> -- public.defaulted.id stays: default value for column id of view public.of_a_view uses its sequence
--> -- public.down.id stays: its sequence counts down
--> -- public.hashes.id stays: public.hashes is partitioned by it, or by an expression
--> -- public.in_sql.id stays: function public.next_in_sql() uses its sequence
--> -- public.in_text.id stays: function public.next_in_text() names its sequence
--> -- public.more.id stays: it does not own the sequence of its default, (nextval('public.more_id_seq'::regclass) * 2)
--> -- public.no_key.id stays: it is not in the primary key
--> -- public.of_domain.id stays: it is of type public.number
--> -- public.of_text.id stays: it does not own the sequence of its default, nextval(('of_text_id_seq'::text)::regclass)
--> -- public.of_unowned.id stays: it does not own the sequence of its default, nextval('public.unowned'::regclass)
--> -- public.one.id stays: it does not own the sequence of its default, nextval('public.shared'::regclass)
--> -- public.ranges.id stays: public.ranges is partitioned by it, or by an expression
--> -- public.refers.id stays: it refers to public.one
--> -- public.roots.id stays: partition public.roots_1 has another default
--> -- public.small.id stays: it is of type smallint
--> -- public.two.id stays: it does not own the sequence of its default, nextval('public.shared'::regclass)
--> -- public.typed.id stays: the table is of type public.pair
--> -- public.used.id stays: default value for column id of table public.user_of_it uses its sequence
--> -- public.user_of_it.id stays: it is not in the primary key
--> -- public.viewed.id stays: view public.last uses its sequence
--> -- tables of shop, in one transaction
--> SET LOCAL lock_timeout = 500;
--> LOCK TABLE public.fine IN ACCESS EXCLUSIVE MODE;
--> ALTER TABLE public.fine ALTER id SET DEFAULT public.snowflake_nextval();
SELECT snowflake_conversion('{short,user_of_it,roots_1,of_a_view}');
--> -- public.of_a_view has no column that takes values of a sequence
--> -- public.roots_1.id stays: the table is a partition of public.roots
--> -- public.user_of_it.id stays: it is not in the primary key
--> -- short.id stays: the table is temporary
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion(schema => 'public'))); COMMIT;

-- Nor does the type of a column change on which something else depends, on a table or a partition.
CREATE SCHEMA kinds; SET search_path = kinds, public;
CREATE TABLE a (id serial PRIMARY KEY); CREATE VIEW of_a AS SELECT id FROM a; CREATE MATERIALIZED VIEW stored_a AS SELECT id FROM a;
CREATE TABLE b (id serial PRIMARY KEY); CREATE RULE of_b AS ON UPDATE TO b WHERE old.id = 1 DO INSTEAD NOTHING;
CREATE TABLE c (id serial PRIMARY KEY); CREATE POLICY of_c ON c USING (id > 0);
CREATE TABLE d (id serial PRIMARY KEY); CREATE TRIGGER of_d BEFORE UPDATE OF id ON d FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE TABLE e (id serial PRIMARY KEY, twice bigint GENERATED ALWAYS AS (id * 2) STORED);
CREATE TABLE f (id serial PRIMARY KEY, CHECK (id > 0)); CREATE TABLE g (id serial PRIMARY KEY); CREATE INDEX of_g ON g ((id + 1));
CREATE TABLE h (id serial PRIMARY KEY); CREATE INDEX of_h ON h (id) WHERE id > 0; CREATE TABLE i (id serial PRIMARY KEY); CREATE TABLE row_of_i (i i);
CREATE TABLE j (id serial PRIMARY KEY); CREATE TABLE rows_of_j (j j[]);
CREATE TABLE k (id serial PRIMARY KEY); CREATE VIEW of_reference AS SELECT 1 AS one;
CREATE TABLE refers_k (k integer REFERENCES k); CREATE OR REPLACE VIEW of_reference AS SELECT 1 AS one FROM refers_k WHERE k = 1;
CREATE TABLE l (id serial, day date, PRIMARY KEY (day, id)) PARTITION BY LIST (day);
CREATE TABLE l_1 PARTITION OF l FOR VALUES IN ('2026-01-01'); CREATE VIEW of_partition AS SELECT id FROM l_1;
CREATE TABLE m (id serial PRIMARY KEY); CREATE TABLE lists (m integer REFERENCES m) PARTITION BY LIST (m);
CREATE TABLE n (id serial PRIMARY KEY); CREATE TABLE domains (n number REFERENCES n);
CREATE TABLE o (id serial PRIMARY KEY); CREATE TABLE child_of_o () INHERITS (o); CREATE TABLE p (id serial PRIMARY KEY) ; CREATE TABLE other_parent (id integer);
ALTER TABLE p INHERIT other_parent; CREATE TABLE q (id serial PRIMARY KEY); GRANT REFERENCES ON q TO clerk; GRANT ALL ON SCHEMA kinds TO clerk;
CREATE TABLE r (id serial PRIMARY KEY); ALTER TABLE r ADD other int; CREATE STATISTICS of_r ON id, other FROM r;
\as clerk
CREATE TABLE kinds.theirs (q integer REFERENCES kinds.q);
\as shop
SELECT snowflake_conversion(schema => 'kinds');
--> -- kinds.a.id stays: materialized view kinds.stored_a uses kinds.a.id; view kinds.of_a uses kinds.a.id
--> -- kinds.b.id stays: rule of_b on table kinds.b uses kinds.b.id
--> -- kinds.c.id stays: policy of_c on table kinds.c uses kinds.c.id
--> -- kinds.child_of_o.id stays: it is not in the primary key
--> -- kinds.d.id stays: trigger of_d on table kinds.d uses kinds.d.id
--> -- kinds.e.id stays: default value for column twice of table kinds.e uses kinds.e.id
--> -- kinds.f.id stays: constraint f_id_check on table kinds.f uses kinds.f.id
--> -- kinds.g.id stays: index kinds.of_g uses kinds.g.id
--> -- kinds.h.id stays: index kinds.of_h uses kinds.h.id
--> -- kinds.i.id stays: column i of table kinds.row_of_i has its row type
--> -- kinds.j.id stays: column j of table kinds.rows_of_j has its row type
--> -- kinds.k.id stays: view kinds.of_reference uses kinds.refers_k.k
--> -- kinds.l.id stays: view kinds.of_partition uses kinds.l_1.id
--> -- kinds.m.id stays: kinds.lists is partitioned by it, or by an expression
--> -- kinds.n.id stays: kinds.domains.n is of type public.number
--> -- kinds.o.id stays: kinds.o has a parent or children by INHERITS
--> -- kinds.p.id stays: kinds.p has a parent or children by INHERITS
--> -- kinds.q.id stays: kinds.theirs belongs to clerk
--> -- kinds.r.id stays: statistics object kinds.of_r uses kinds.r.id
