-- What the shop does each day, as whom. It has to work whatever type the keys have.

SET SESSION AUTHORIZATION shop_clerk;
INSERT INTO film_entry (title, director) VALUES ('New ' || clock_timestamp(), 'Ada');
INSERT INTO stock (film_id) SELECT max(film_id) FROM film RETURNING 1 / (store_id = 100)::int;
INSERT INTO review_entry (film_id, stars) SELECT max(film_id), 4 FROM film;
INSERT INTO review (film_id, stars) SELECT max(film_id), 5 FROM film;
UPDATE review SET stars = 4 WHERE author = current_user AND stars = 5;
UPDATE film SET price = price + 1 WHERE film_id = (SELECT max(film_id) FROM film);
-- Each of these divides by zero where there is no row.
SELECT 1 / count(*) FROM films_of('Ada');
SELECT 1 / count(*) FROM list_films();
SELECT 1 / count(*) FROM film_revenue;
SELECT 1 / count(*) FROM open_rental WHERE rental_id = (SELECT max(rental_id) FROM open_rental);
SELECT 1 / count(*) FROM by_ada;
SELECT 1 / count(*) FROM review_entry;

SET SESSION AUTHORIZATION "till-1";
INSERT INTO first_stock (film_id) SELECT max(film_id) FROM film;
INSERT INTO customer (name) VALUES ('Karl');
INSERT INTO rental (rented_on, inventory_id, customer_id)
    SELECT current_date, max(inventory_id), (SELECT max(customer_id) FROM customer) FROM inventory;
INSERT INTO payment (rental_id, rented_on, amount)
    SELECT rental_id, rented_on, 3 FROM rental ORDER BY rental_id DESC LIMIT 1;
SELECT 1 / count(title) FROM film_list;
SELECT 1 / count(director) FROM film_list;
SELECT 1 / count("Film Id") FROM "Long ""List""";
SELECT 1 / count(*) FROM price_list;
SELECT 1 / count(*) FROM review;

SET SESSION AUTHORIZATION shop_reporting;
SELECT 1 / count(*) FROM best_seller;
SELECT 1 / count(*) FROM listed('New');
SELECT 1 / count(*) FROM news;
SELECT 1 / count(*) FROM sequel;

SET SESSION AUTHORIZATION "Shop Owner";
SELECT new_artist('artist ' || clock_timestamp()), new_category('Crime'), new_loan('Jo');
INSERT INTO artist_meta SELECT id FROM artist ORDER BY id DESC LIMIT 1;
INSERT INTO film_artist SELECT (SELECT max(film_id) FROM film), max(id), 'herself' FROM artist;
SELECT 1 / ref_count FROM artist_meta WHERE id = (SELECT max(id) FROM artist_meta);
DELETE FROM film_artist WHERE role = 'herself';
INSERT INTO loan (inventory_id, lender) SELECT max(inventory_id), 'Max' FROM inventory;
INSERT INTO film_category SELECT max(film_id), (SELECT max(id) FROM category) FROM film;
INSERT INTO store (city) VALUES ('Chur');
INSERT INTO staff (store_id, name) SELECT max(store_id), 'Lea' FROM store;
UPDATE store SET manager_id = (SELECT max(staff_id) FROM staff) WHERE manager_id IS NULL;
INSERT INTO note (author_id, body) SELECT max(staff_id), 'new' FROM staff;
INSERT INTO film_note (author_id, body, film_id)
    SELECT max(staff_id), 'new', max(film_id) FROM staff, film;
INSERT INTO artist_note (author_id, body, artist_id)
    SELECT max(staff_id), 'new', max(id) FROM staff, artist;
INSERT INTO "Sound ""Track""" ("Film Id", "Follows")
    SELECT max(film_id), (SELECT max("Track Id") FROM "Sound ""Track""") FROM film;
UPDATE "Sound ""Track""" SET "Film Id" = (SELECT max(film_id) FROM film);
UPDATE film SET director_id = (SELECT max(id) FROM artist)
    WHERE film_id = (SELECT max(film_id) FROM film);
INSERT INTO film (title, sequel_of) SELECT 'last', max(film_id) FROM film;
DELETE FROM film WHERE title = 'last';
SELECT 1 / (first_of('Film 1') > 0)::int;
SELECT 1 / count(*) FROM film_in_stock(7);
CALL give_back(1);
REFRESH MATERIALIZED VIEW film_revenue;
SELECT 1 / count(*) FROM longest;
RESET SESSION AUTHORIZATION;
