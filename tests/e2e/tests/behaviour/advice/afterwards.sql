-- The same, beside the statements of the step functions.

DROP VIEW first_stock;
-- Here, a person executes the statements.
\functions
CREATE VIEW first_stock AS SELECT * FROM film_in_stock(1);
CREATE OR REPLACE FUNCTION last_post() RETURNS bigint LANGUAGE plpgsql AS
    'DECLARE found bigint; BEGIN SELECT max(id) INTO found FROM forum.posts; RETURN found; END';
