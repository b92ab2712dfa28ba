-- What the owner changes before the conversion, where the report names a risk. It works with keys
-- of both types.

SET SESSION AUTHORIZATION "Shop Owner";
DROP FUNCTION inc_ref_count(text, integer, integer);
CREATE FUNCTION inc_ref_count(tbl text, row_id bigint, val integer) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('UPDATE %I SET ref_count = ref_count + $2 WHERE id = $1', tbl || '_meta')
        USING row_id, val;
END $$;
DROP FUNCTION film_in_stock(int);
CREATE FUNCTION film_in_stock(p_film_id bigint) RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
    SELECT inventory_id::bigint FROM inventory
    WHERE film_id = p_film_id
      AND NOT EXISTS (
          SELECT FROM rental WHERE rental.inventory_id = inventory.inventory_id AND NOT returned
      )
$$;
CREATE OR REPLACE FUNCTION first_of(p_title text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_id film.film_id%TYPE;
BEGIN
    SELECT film_id INTO found_id FROM film WHERE title = p_title;
    RETURN found_id;
END $$;
CREATE OR REPLACE FUNCTION new_artist(p_name text) RETURNS bigint LANGUAGE sql AS
    'INSERT INTO artist (name) VALUES (p_name) RETURNING id::bigint';
CREATE OR REPLACE FUNCTION new_category(p_name text) RETURNS bigint LANGUAGE sql AS
    'INSERT INTO category (name) VALUES (p_name) RETURNING id::bigint';
CREATE OR REPLACE FUNCTION new_loan(p_lender text) RETURNS bigint LANGUAGE sql AS
    'INSERT INTO loan (lender) VALUES (p_lender) RETURNING loan_id::bigint';
ALTER TABLE edit_log ALTER film_id TYPE bigint, ALTER artist_id TYPE bigint;
ALTER TABLE loan DROP CONSTRAINT loan_of_old_discs;
RESET SESSION AUTHORIZATION;
ALTER TABLE "Film Shop".loan ENABLE TRIGGER ALL;
