ALTER TABLE posts DROP COLUMN editor_id;
ALTER TABLE posts DROP COLUMN subtitle;
DROP TABLE likes;
