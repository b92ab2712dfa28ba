CREATE TABLE likes (
    id BIGSERIAL PRIMARY KEY,
    post_id BIGINT NOT NULL REFERENCES posts (id),
    user_id BIGINT NOT NULL REFERENCES users (id)
);

ALTER TABLE posts ADD COLUMN subtitle TEXT;
ALTER TABLE posts ADD COLUMN editor_id BIGINT REFERENCES users (id);
